// SPDX-License-Identifier: MIT
// The inside of an application that spark.submit runs: its live tables while it runs, and after the
// end the same from its event log, which becomes a log of the run (masked as all logs are). A
// plain value; {0} shows nothing.
#pragma once
#include "k8s/client/connect/client.h"
#include "script/api/sparkui/live.h"
#include "script/kernel/effects/binding.h"

struct spark_inside {
    call *call;
    bool wanted;
    struct spark_limits limits;
    int every_ms;
    char *folder; // of the event log; NULL: the program keeps its own, or its driver is elsewhere
    http *http;
    client *client; // the driver is a pod there; NULL: it is here
    const char *ns, *pod;
    // The loop's thread:
    char *host; // where its web page listens
    spark_live *live;
    // When it has ended:
    cJSON *findings;
    char *file; // the event log, as the run keeps it
};
// args: {"ui": false, or {"skew": 5, …, "every": ms}}. conf: gets the settings of the event log, if
// the driver is here and nobody has set others. defaults: the text of spark-defaults.conf, or NULL.
int spark_inside_open(struct spark_inside *i, call *c, const cJSON *args, cJSON *conf,
    const char *defaults, bool here, err *e);
// The driver is this pod: its page is reached by the API server.
void spark_inside_pod(struct spark_inside *i, client *c, const char *ns, const char *pod);
// A line of Spark's log, on the loop's thread: one of them says where its web page is.
void spark_inside_line(struct spark_inside *i, const char *text, size_t n);
// The application has ended: shows its last state, and keeps its event log. On the call's thread.
void spark_inside_end(struct spark_inside *i);
void spark_inside_done(struct spark_inside *i);
