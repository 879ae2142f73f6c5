// SPDX-License-Identifier: MIT
// What the files of this folder share: changes of one object that a person sees before they are
// made, and tables that are made once. Nothing else includes it.
#pragma once
#include "script/api/k8s/k8s.h"

// What the object is to become: a changed copy, new; NULL: the reason why it cannot be.
typedef cJSON *desk_become(
    call *c, struct target *t, const cJSON *args, const cJSON *object, err *e);
// What the server would make of it, for a question: {"patch", "diff"}, or {"nothing": why}.
int desk_check(call *c, const cJSON *args, desk_become *become, cJSON **result, err *e);
// Makes the change that was checked ("patch"), else the one that `become` says now. The result is
// {"object", "changed"}, as k8s_changed has it.
int desk_change(call *c, const cJSON *args, desk_become *become, cJSON **result, err *e);

// The part of an object that says which pods it has: `spec` of a Pod, else that of its template;
// NULL: it has none. Of the object, whose fields may then be changed.
cJSON *desk_pod_spec(cJSON *object);
// "nginx:1, side:2": the images of containers.
void desk_add_images(const cJSON *pod_spec, buf *out);
// The row's arguments for an object's own row: what it is, and where.
cJSON *desk_about(const struct target *t, const cJSON *object);
