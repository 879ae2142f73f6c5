// SPDX-License-Identifier: MIT
// Waits until an object has a given state, by watching it, even while its server is away, until the
// deadline. It blocks a thread that is not the loop's.
#pragma once
#include "k8s/client/connect/client.h"

struct wait_spec {
    const struct resource *resource;
    const char *ns, *name;
    const char *uid; // this very object; NULL: any object with the name
    // 1: the wait is over; 0: go on; -1 with *e: it can never succeed. object NULL: it is missing.
    // Called on the loop's thread.
    int (*judge)(void *arg, const cJSON *object, err *e);
    // The server is away, or (the reason's code is ERR_NONE) back. On the loop's thread; may be
    // NULL.
    void (*away)(void *arg, const err *reason);
    // Called on the caller's own thread after each `every` ns of waiting, while the watch goes on:
    // for looking why it takes so long. May be NULL.
    void (*look)(void *arg);
    int64_t every;
    void *arg;
};
// Returns 0 when judge returned 1. *last (new, may be NULL) is the object as last seen, in any
// case. ERR_TIMEOUT describes the object's state.
int wait_for(
    client *c, const struct patience *p, const struct wait_spec *spec, cJSON **last, err *e);

// A judge for the words of kubectl wait: "delete", "create", "condition=Ready",
// "condition=Ready=false", "jsonpath={.status.phase}=Running", "jsonpath={.status.x}". Pass the
// words as arg.
int wait_judge(void *words, const cJSON *object, err *e);
// Will words that are not true of the object stay so, because it has ended? A condition never comes
// then, nor a field of the status of what has failed: a Job that is Failed will not be Complete.
// Nothing is said of kinds whose conditions we do not know.
bool wait_is_in_vain(const char *words, const cJSON *object);
