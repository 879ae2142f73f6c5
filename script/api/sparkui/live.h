// SPDX-License-Identifier: MIT
// Live tables below a cell that show an application of Spark while it runs: stages, what is wrong,
// executors, jobs, queries. One request every some seconds goes to the driver, and none
// while nobody looks. Functions are for the loop's thread.
//
//   timer ──> looked at? ──> GET …/api/v1/… ──> spark_rest ──> spark_state ──> displays
//                            direct, or by the API server's proxy of the driver's pod
#pragma once
#include "k8s/client/connect/client.h"
#include "script/api/sparkui/findings.h"
#include "script/kernel/port/display.h"

enum { SPARK_UI_PORT = 4040, SPARK_UI_EVERY_MS = 2000 };

// Where a driver's REST API is; strings are copied.
struct spark_source {
    http *http;
    const char *url; // "http://127.0.0.1:4040"; NULL: by the API server
    client *client;
    const char *ns, *pod;
    int port;
};
// Is the pod that of a driver, by Spark's label?
bool spark_is_driver(const cJSON *pod);
// The port that the driver's container names "spark-ui", as Spark does; else SPARK_UI_PORT.
int spark_ui_port(const cJSON *pod);
// "…/api/v1" + path for that source; new.
char *spark_source_path(const struct spark_source *from, const char *path);

struct spark_live_spec {
    struct spark_source source;
    struct spark_limits limits;
    int every_ms; // between two requests; 0: SPARK_UI_EVERY_MS
    // Makes the first display when there is something to show. It may return NULL: the run ends.
    display *(*show)(void *arg, cJSON *data);
    // Why there is nothing to show, once: a refusal. May be NULL.
    void (*refused)(void *arg, const err *why);
    void *arg;
    bool own; // nobody holds it: it frees itself when the application, or the run, has ended
};
typedef struct spark_live spark_live;
spark_live *spark_live_open(loop *l, const struct spark_live_spec *spec);
// Shows the last state, and closes the displays. final: of an event log, borrowed; NULL: what was
// seen last. note: why it may be incomplete; NULL: it is not.
void spark_live_end(spark_live *l, const struct spark_state *final, const char *note);
// The state as it was seen last; borrowed.
const struct spark_state *spark_live_state(const spark_live *l);
void spark_live_free(spark_live *l); // ends it; NULL is fine
