// SPDX-License-Identifier: MIT
// kubectl's JSONPath, for waiting and scripts: {.a.b}, ['a.b'], [0], [-1], [1:3], [*], ['a','b'],
// ..name, [?(@.type=="Ready")]; no {range}. Results are borrowed from the tree.
#pragma once
#include "base/json/json.h"

// Calls fn for each node at the path. Errors: ERR_USAGE quotes the place in the path.
int jsonpath_each(const cJSON *root, const char *path, void (*fn)(void *arg, const cJSON *node),
    void *arg, err *e);
// Is one of the nodes equal to this text (a number or boolean as printed)? 1, 0, or -1 for an
// error. value NULL: is there any node?
int jsonpath_is(const cJSON *root, const char *path, const char *value, err *e);
// The end of a path at the start of a text such as "{.a[?(@.b==c)]}=value": its "=", or the text's
// end.
const char *jsonpath_end(const char *text);
