// SPDX-License-Identifier: MIT
// The part of kubectl's JSONPath that waits and scripts use: {.a.b}, ['a.b'], [0], [-1], [*].
// Results are borrowed from the tree.
#pragma once
#include "base/json.h"

// Calls fn for each node that the path leads to. Errors: ERR_USAGE with the place in the path.
int jsonpath_each(const cJSON *root, const char *path, void (*fn)(void *arg, const cJSON *node),
    void *arg, err *e);
// Is any of the nodes this text (a number or boolean as it is printed)? 1, 0, or -1 for an error.
// value NULL: is there any node?
int jsonpath_is(const cJSON *root, const char *path, const char *value, err *e);
