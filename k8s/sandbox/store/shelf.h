// SPDX-License-Identifier: MIT
// All objects of one resource, whatever version of it was asked for, sorted by namespace and name.
// Holds a reference to each. A NULL shelf is an empty one to the functions that only look.
#pragma once
#include "k8s/sandbox/store/store.h"

struct shelf {
    const struct kind *kind;
    snapshot **items;
    size_t n, cap;
};

void shelf_done(struct shelf *sh);
// The first index that is not before (ns, name).
size_t shelf_find(const struct shelf *sh, const char *ns, const char *name);
// Where an object is; NULL if it is not there.
snapshot **shelf_slot(const struct shelf *sh, const char *ns, const char *name);
// Takes the reference, and the place of the snapshot before, or a new place.
void shelf_put(struct shelf *sh, snapshot *snap);
void shelf_take_out(struct shelf *sh, snapshot **at);
