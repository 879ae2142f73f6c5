// SPDX-License-Identifier: MIT
// All objects of one resource, in all its versions, sorted by namespace and name. It holds a
// reference to each. For functions that only read, a NULL shelf is an empty one.
#pragma once
#include "k8s/sandbox/store/store.h"

struct shelf {
    const struct kind *kind;
    snapshot **items;
    size_t n, cap;
};

void shelf_done(struct shelf *sh);
// The first index whose object does not come before (ns, name).
size_t shelf_find(const struct shelf *sh, const char *ns, const char *name);
// The slot of an object; NULL if it is missing.
snapshot **shelf_slot(const struct shelf *sh, const char *ns, const char *name);
// Takes the reference. It replaces the earlier snapshot of the object, or gets a new slot.
void shelf_put(struct shelf *sh, snapshot *snap);
void shelf_take_out(struct shelf *sh, snapshot **at);
