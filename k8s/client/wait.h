// SPDX-License-Identifier: MIT
// Waiting for an object to be as one wants it: by watching it, through any absence of its server,
// until the deadline. Blocks a thread that is not the loop's.
#pragma once
#include "k8s/client/client.h"

struct wait_spec {
    const struct resource *resource;
    const char *ns, *name;
    const char *uid; // this very object; NULL: whoever has the name
    // 1: it is so; 0: go on; -1 with *e: it will never be. object NULL: it is not there (any more).
    // On the loop's thread.
    int (*judge)(void *arg, const cJSON *object, err *e);
    // The server is away, or (reason's code ERR_NONE) back. On the loop's thread; may be NULL.
    void (*away)(void *arg, const err *reason);
    void *arg;
};
// 0 when judge said so; *last (new, may be NULL) is the object as last seen in any case.
// ERR_TIMEOUT says how it was.
int wait_for(
    client *c, const struct patience *p, const struct wait_spec *spec, cJSON **last, err *e);

// The judge's words of kubectl: "delete", "create", "condition=Ready", "condition=Ready=false",
// "jsonpath={.status.phase}=Running", "jsonpath={.status.x}". As judge, with the words as its arg.
int wait_judge(void *words, const cJSON *object, err *e);
