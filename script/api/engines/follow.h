// SPDX-License-Identifier: MIT
// Follows the log of a gang's pods while the call waits: lines come on the loop's thread, looks are
// made on the call's, and an end gives the log some seconds for its last lines.
//
//   follow_run ──> lines … looks … follow_drain ──> last lines ──> it returns
//
// A plain value of the call; follow_leave is called once before its arg goes away.
#pragma once
#include "k8s/client/logs/tail.h"
#include "script/api/engines/gang.h"

struct follow_ops {
    void (*line)(void *arg, enum log_kind kind, const char *text, size_t n); // on the loop's thread
    void (*look)(void *arg);  // on the call's thread, every quarter of a second
    void (*leave)(void *arg); // on the loop's thread, when nothing more comes; may be NULL
};
struct follow {
    struct gang *gang;
    const struct follow_ops *ops;
    void *arg;
    tail *tail;
    loop_pending *waiting;
    int64_t ended; // clock_mono() ns of follow_drain; 0: the job goes on
    err failure;   // the first reason for which the job, or its log, has failed
};

// Follows the logs of the pods that the plan calls `driver`, until they have ended, follow_finish
// or follow_drain, or the call is cancelled (-1). f->failure tells what was wrong with the log.
int follow_run(struct follow *f, err *e);
// On the loop's thread: nothing more is awaited.
void follow_finish(struct follow *f);
// On the call's thread. The first failure counts; nothing more is awaited.
void follow_fail(struct follow *f, const err *why);
// On the call's thread: the job has ended, and `linger` ns are given to the lines that are under
// way. Further calls end the waiting when this time is over.
void follow_drain(struct follow *f, int64_t linger);
// Whatever was posted for this follow has run when it returns.
void follow_leave(struct follow *f);
