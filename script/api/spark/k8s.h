// SPDX-License-Identifier: MIT
// What spark-submit needs of Kubernetes when its master is k8s://: the settings that lead it to the
// chosen cluster and mark its pods, the driver's log, why pods wait, how the driver ended, and the
// removal of what is left.
#pragma once
#include "k8s/client/logs/tail.h"
#include "script/api/k8s/k8s.h"

// One application's pods, known by the labels of the call's mark. A plain value; done frees.
struct spark_k8s {
    call *call;
    struct target pods;
    bool has_driver; // cluster mode: the driver is a pod
    char *ns, *labels, *driver_labels, *server;
    char *driver; // its pod's name
    buf why;      // why it does not go on, as it was said last
    // On the loop's thread: the driver's log goes to `line`, without line ends.
    void (*line)(void *arg, const char *text, size_t n);
    void *arg;
    tail *tail;
    err tail_error;
    bool log_ended;
    loop_pending *waiting;
};
// master: "k8s", "k8s://" or "k8s://URL", which must be the chosen cluster's; conf: the settings
// that the cell gave.
int spark_k8s_open(struct spark_k8s *k, call *c, const char *master, const cJSON *conf,
    const char *stem, bool has_driver, err *e);
// Asks the server who it is, and announces to the ledger what spark-submit is about to make there.
int spark_k8s_announce(struct spark_k8s *k, err *e);
void spark_k8s_done(struct spark_k8s *k); // its log is not followed any more
// "k8s://https://…", for --master.
char *spark_k8s_master(const struct spark_k8s *k);
// Adds the settings that conf does not have.
void spark_k8s_settings(const struct spark_k8s *k, cJSON *conf);
// The driver's log goes to k->line from now on; wait: until it has ended.
void spark_k8s_follow(struct spark_k8s *k);
int spark_k8s_wait(struct spark_k8s *k, err *e);
void spark_k8s_leave(struct spark_k8s *k); // stops following
// Says why pods wait, when that is new. On the call's thread.
void spark_k8s_look(struct spark_k8s *k);
// The driver's pod; NULL: it cannot be read.
cJSON *spark_k8s_driver(struct spark_k8s *k);
// Removes all that is marked, whatever the call's canceller says; returns how many pods there were,
// or -1.
int spark_k8s_kill(struct spark_k8s *k, err *e);
// Waits some seconds for pods that end with their driver here; false: some stay, or nobody knows.
bool spark_k8s_is_gone(struct spark_k8s *k);

// find and undo of the binding.
int spark_k8s_find(call *c, const cJSON *recorded, struct remains *out, err *e);
int spark_k8s_undo(call *c, const cJSON *found, err *e);
