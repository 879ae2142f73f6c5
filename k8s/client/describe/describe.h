// SPDX-License-Identifier: MIT
// An object as `kubectl describe` shows it, and before that what one looks for first: its state,
// why it is wrong, the last warning, and its containers' ends. For Secrets only the sizes of values
// are shown. Plain functions on trees.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

#include <stdbool.h>
#include <stdint.h>

// What else belongs to the description of an object; NULL: none, or it may not be read.
struct describe_more {
    const cJSON *events;  // an array, oldest first
    const cJSON *related; // an array of the objects that describe_relations names
    const cJSON *also;    // those of its second kind
    const cJSON *lease;   // of a node
};

// The objects that belong to the description of one: ReplicaSets of a Deployment, pods of a node.
struct describe_relation {
    const char *api_version, *kind;       // NULL: there are none
    const char *also_version, *also_kind; // a second kind, in the same place; NULL: there is none
    char *labels, *fields;                // selectors, of the first kind; new, or NULL
    const char *ns;                       // where they are, borrowed; NULL: where the object is
    bool everywhere;                      // in all namespaces
};
struct describe_relation describe_relations(const cJSON *object);
void describe_relation_done(struct describe_relation *r);

void describe(buf *out, const cJSON *object, const struct describe_more *more, int64_t now_wall);
