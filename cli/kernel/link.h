// SPDX-License-Identifier: MIT
// For parts of firesteel-kernel that talk to a cluster without running a notebook: a loop on a
// thread of its own, and the client of the chosen context. A plain value; link_end frees it.
#pragma once
#include "k8s/client/connect/client.h"
#include "script/kernel/session/kernel.h"

#include <pthread.h>

struct link {
    loop *loop;
    http *http;
    client *client; // NULL until link_client
    pthread_t thread;
    bool runs;
};
int link_start(struct link *l, err *e);
// What chooses the cluster that these options name; borrowed from them.
struct client_options link_options(const struct kernel_options *options);
int link_client(struct link *l, const struct kernel_options *options, err *e);
void link_end(struct link *l);
// Like loop_signal_new (on the loop's thread), but a signal that is ignored now stays ignored, and
// NULL is returned: nohup ignores SIGHUP, and a shell SIGINT for background jobs.
loop_signal *link_signal(struct link *l, int signum, void (*fn)(void *arg, int signum), void *arg);
