// SPDX-License-Identifier: MIT
// Between standalone.c, the clusters of a run, and standalone_daemon.c, their processes.
#pragma once
#include "base/buf.h"
#include "base/loop/child.h"
#include "script/api/spark/standalone.h"
#include "script/kernel/port/display.h"

#include <pthread.h>

// One process. The loop's thread has it from its start on; `said` is read when nobody waits,
// `ended` with the lock.
struct daemon {
    struct cluster *of;
    size_t i; // 0: the master
    child *child;
    buf line;          // the one that has not ended
    buf words;         // what it said last
    const char *until; // the line that is waited for has this
    char *said;        // that line
    bool ended;
    loop_pending *pending;
};

struct cluster {
    struct clusters *all;
    char *master, *page, *secret, *folder;
    struct daemon **daemons;
    size_t n;
    display *shown; // of the loop's thread; NULL: not yet, or closed
    bool ending;    // somebody stops it
    struct cluster *next;
};

// All of this run. The lock is for the list, for what is said above, and for what is in the list:
// nothing there is freed while somebody has it.
struct clusters {
    pthread_mutex_t lock;
    pthread_cond_t changed; // one has left the list
    struct cluster *first;
};

// How a process is started, and what comes of it.
struct starting {
    struct daemon *daemon;
    loop *loop;
    const char *const *argv, *const *env;
    const char *cwd;
    err error;
};

// Starts a process of the cluster, which has it from then on, and waits until it says `until`.
// Errors: it ends before, or takes longer than two minutes.
int standalone_daemon(
    call *c, struct cluster *s, struct starting *how, const char *until, const char *what, err *e);
// Ends it; on the loop's thread, or when that has ended.
void standalone_daemon_free(struct daemon *d);
// What is shown of a cluster: how many workers it has, and `more`.
cJSON *standalone_picture(struct cluster *s, const char *more);
