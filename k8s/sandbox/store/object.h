// SPDX-License-Identifier: MIT
// Objects of the API as JSON trees: getters for metadata, and the few edits that are needed
// everywhere. Everything borrows from the tree. Nothing here depends on the store.
#pragma once
#include "base/json/json.h"

const char *object_name(const cJSON *o);                   // "" if none
const char *object_namespace(const cJSON *o);              // "" if none
const char *object_uid(const cJSON *o);                    // "" if none
int64_t object_version(const cJSON *o);                    // resourceVersion as a number, 0 if none
bool object_is_deleting(const cJSON *o);                   // has a deletionTimestamp
const char *object_label(const cJSON *o, const char *key); // NULL if none
const char *object_annotation(const cJSON *o, const char *key); // NULL if none
void object_set_label(cJSON *o, const char *key, const char *value);
void object_set_annotation(cJSON *o, const char *key, const char *value);
bool object_has_finalizer(const cJSON *o, const char *name);
void object_add_finalizer(cJSON *o, const char *name);
void object_remove_finalizer(cJSON *o, const char *name);
// Appends an ownerReference to `owner` with controller and blockOwnerDeletion true.
void object_set_controller(cJSON *o, const cJSON *owner);
// The uid of the owner with controller=true; NULL if none.
const char *object_controller_uid(const cJSON *o);

// The entry of .status.conditions with this type; NULL if none.
const cJSON *object_condition(const cJSON *o, const char *type);
// Sets a condition (status "True", "False", "Unknown"; reason and message may be NULL).
// lastTransitionTime changes only when the status does. Returns whether anything changed.
bool object_set_condition(cJSON *o, const char *type, const char *status, const char *reason,
    const char *message, int64_t now);
// Sets o[key] to a time as Kubernetes writes it: RFC 3339 in whole seconds.
void object_set_time(cJSON *o, const char *key, int64_t wall_ns);
int64_t object_time(const cJSON *o, const char *key); // wall ns, 0 if none
