// SPDX-License-Identifier: MIT
// One container of a pod: its image, its process, its log, its state and its restarts.
// The pod (kubelet.c) owns it and decides when it starts and stops; here is how.
#pragma once
#include "base/loop/child.h"
#include "k8s/sandbox/api/logs.h"
#include "k8s/sandbox/nodes/podimage.h"
#include "k8s/sandbox/nodes/podlog.h"
#include "k8s/sandbox/nodes/podstatus.h"
#include "k8s/sandbox/nodes/runtime.h"
#include "k8s/sandbox/store/event.h"

// What containers share: the kubelet's.
struct container_host {
    loop *loop;
    store *store;
    logs *logs;
    podimages *images;
    const struct runtime *runtime;
    int next_cpu; // where the next CPU limit begins
};

// What a container knows of its pod; borrowed, and current whenever a function is called.
struct container_pod {
    struct container_host *host;
    snapshot *object;
    const char *dir; // of the pod
    // A process has ended, or something else asks for a look at the pod.
    void (*changed)(void *arg);
    void *arg;
};

struct container {
    struct container_pod *pod;
    struct container_state state; // its strings are those below, or literals
    char *name, *image_ref, *image_id, *id, *last_id, *message, *end_message, *last_message;
    char *field; // "spec.containers{main}", for events
    bool init;
    size_t index; // in spec.containers or spec.initContainers

    podimage *image;
    bool image_told; // the outcome of the pull is in the events
    child *child;
    podlog *log;
    char *root_dir; // of this run: what is removed after it
    int inner;      // bwrap's first process in the pid namespace, 0 until it told
    buf info;       // what it told
    int run;        // counts the starts: names of logs and folders
    // Delays in ns before the next try, doubled with each failure: of pulls, of starts, after
    // crashes.
    int64_t pull_backoff, start_backoff, crash_backoff;
    int64_t retry_at;        // mono ns: not before; 0: at once
    const char *why_backoff; // "CrashLoopBackOff", "ImagePullBackOff", … while it waits for that
    bool term_sent, kill_sent;
};

void container_init(struct container *c, struct container_pod *pod, bool init, size_t index);
void container_done(struct container *c); // kills what runs
const cJSON *container_spec(const struct container *c);

// Goes on towards running: pull, unpack, start. Call again when something has changed or retry_at
// is there.
void container_advance(struct container *c);
// After an end, by the pod's policy: waits (CrashLoopBackOff) or is ready to advance again.
void container_restart(struct container *c);
bool container_is_running(const struct container *c);
void container_terminate(struct container *c); // TERM, with the event
void container_kill(struct container *c);      // KILL
// The log of this or the previous run: a path, new; NULL if there is none.
char *container_log(const struct container *c, bool previous);
