// SPDX-License-Identifier: MIT
// Sets of fields in the form of FieldsV1: {"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {".":
// {}}}}}. "f:" is a field, "k:" an item of a list by its keys, "v:" one by its value, "." the node
// itself; a node without children is a member. Returned trees are new and the caller's; NULL is the
// empty set.
#pragma once
#include "k8s/sandbox/api/objects/schema.h"

// The fields of o that `base` does not have, or has with another value; with base NULL all fields.
cJSON *fieldset_changed(const struct schema *s, const cJSON *base, const cJSON *o);
cJSON *fieldset_union(const cJSON *a, const cJSON *b);
cJSON *fieldset_minus(const cJSON *a, const cJSON *b);
cJSON *fieldset_common(const cJSON *a, const cJSON *b);
// Are all values objects, at every depth? What a client sends as fieldsV1 may be anything.
bool fieldset_is_valid(const cJSON *set);
bool fieldset_is_empty(const cJSON *set);
// Calls fn with ".spec.containers[name=\"a\"].image" for each member.
void fieldset_each(const cJSON *set, void (*fn)(void *arg, const char *path), void *arg);
// Removes the members from o.
void fieldset_remove(const struct schema *s, cJSON *o, const cJSON *set);
// Merges `config` into o, item by item where lists have keys.
void fieldset_merge(const struct schema *s, cJSON *o, const cJSON *config);
