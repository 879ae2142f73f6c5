// SPDX-License-Identifier: MIT
// Field management (metadata.managedFields): who set which field, and server-side apply based on
// it. Sets of fields are FieldsV1 trees: {"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {".":
// {}}}}}. https://kubernetes.io/docs/reference/using-api/server-side-apply/
#pragma once
#include "k8s/sandbox/store/kind.h"

struct managed_writer {
    const char *manager;
    const char *subresource; // "" for the object itself
    int64_t now;
};

// Records in json, as the manager's, the fields that a create (old NULL), update or patch changed.
void managed_update(const struct kind *k, const cJSON *old, cJSON *json, struct managed_writer w);
// The object after applying `config` to `old` (NULL: it is made); new. Fields this manager applied
// before, leaves out now and shares with nobody are removed. Where others own a field that would
// change, and force is not set, *conflicts is a list of causes and NULL is returned.
cJSON *managed_apply(const struct kind *k, const cJSON *old, const cJSON *config,
    struct managed_writer w, bool force, cJSON **conflicts);
// The message for a list of conflicts, as kubectl prints it; new.
char *managed_conflict_text(const cJSON *conflicts);
