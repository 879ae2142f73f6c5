// SPDX-License-Identifier: MIT
// The part of kubectl's JSONPath that waiting and scripts use: {.a.b}, ['a.b'], [0], [-1], [*].
// Results are borrowed from the tree.
#pragma once
#include "base/json.h"

// Calls fn for each node at the path. Errors: ERR_USAGE quotes the place in the path.
int jsonpath_each(const cJSON *root, const char *path, void (*fn)(void *arg, const cJSON *node),
    void *arg, err *e);
// Is one of the nodes equal to this text (a number or boolean as printed)? 1, 0, or -1 for an
// error. value NULL: is there any node?
int jsonpath_is(const cJSON *root, const char *path, const char *value, err *e);
