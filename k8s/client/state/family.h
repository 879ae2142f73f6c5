// SPDX-License-Identifier: MIT
// Which pods descend from an object, by their ownerReferences: a pod of a Job of a CronJob. The
// owners between them are asked for once each. Lives on the loop's thread; belongs to its opener.
#pragma once
#include "k8s/client/connect/client.h"

typedef struct family family;
// answer: does the pod descend from the object? It must not close the family.
family *family_open(client *c, const char *ns, const char *root_uid,
    void (*answer)(void *arg, const cJSON *pod, bool is), void *arg);
void family_close(family *f); // NULL is fine
// Tells now, or when the owners are known.
void family_ask(family *f, const cJSON *pod);
bool family_is_asking(const family *f);
