// SPDX-License-Identifier: MIT
// One container of a pod: its image, its process, its log, its state and its restarts.
// The pod (kubelet.c) owns it and decides when it starts and stops; this file does it.
#pragma once
#include "base/loop/child.h"
#include "k8s/sandbox/api/logs.h"
#include "k8s/sandbox/nodes/podimage.h"
#include "k8s/sandbox/nodes/podlog.h"
#include "k8s/sandbox/nodes/podstatus.h"
#include "k8s/sandbox/nodes/runtime.h"
#include "k8s/sandbox/store/event.h"

// What containers share; the kubelet owns it.
struct container_host {
    loop *loop;
    store *store;
    logs *logs;
    podimages *images;
    const struct runtime *runtime;
    int next_cpu; // the next container with a CPU limit begins with this CPU
};

// What a container knows about its pod; borrowed, and up to date whenever a function is called.
struct container_pod {
    struct container_host *host;
    snapshot *object;
    const char *dir; // of the pod
    // Called when a process has ended, or the pod must be looked at for another reason.
    void (*changed)(void *arg);
    void *arg;
};

struct container {
    struct container_pod *pod;
    struct container_state state; // its strings are the ones below, or literals
    char *name, *image_ref, *image_id, *id, *last_id, *message, *end_message, *last_message;
    char *field; // "spec.containers{main}", for events
    bool init;
    size_t index; // in spec.containers or spec.initContainers

    podimage *image;
    bool image_reported; // an event has reported how the pull ended
    child *child;
    podlog *log;
    char *root_dir; // for this run, and removed after it
    int inner;      // first process in bwrap's pid namespace, 0 until known
    buf info;       // bwrap's report
    int run;        // number of starts: used in names of logs and folders
    // Delays in ns before the next try, doubled with each failure: after pulls, starts, and
    // crashes.
    int64_t pull_backoff, start_backoff, crash_backoff;
    int64_t retry_at;        // mono ns: do not try before; 0: at once
    const char *why_backoff; // the reason for that wait: "CrashLoopBackOff", "ImagePullBackOff", …
    bool term_sent, kill_sent;
};

void container_init(struct container *c, struct container_pod *pod, bool init, size_t index);
void container_done(struct container *c); // also kills a running process

// Takes the next steps towards running: pull, unpack, start. Call it again when something has
// changed, or at retry_at.
void container_advance(struct container *c);
// After the end of a run, by the pod's policy: waits (CrashLoopBackOff), or is ready to advance
// again.
void container_restart(struct container *c);
bool container_is_running(const struct container *c);
void container_terminate(struct container *c); // sends TERM, and writes the event
void container_kill(struct container *c);      // sends KILL
// The path of the log of this or the previous run, new; NULL if there is none.
char *container_log(const struct container *c, bool previous);
