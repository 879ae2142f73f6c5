// SPDX-License-Identifier: MIT
// Tables as kube-apiserver prints them (k8s.io/kubernetes/pkg/printers/internalversion), and by the
// printer columns of CustomResourceDefinitions.
#pragma once
#include "k8s/sandbox/store/kind.h"

// The columnDefinitions; new.
cJSON *table_columns(const struct kind *k);
// The cells of an object as a table row; new.
cJSON *table_cells(const struct kind *k, const cJSON *object, int64_t now);
// Writes the age of a time in RFC 3339 (or NULL) at `now`: "5m", "<unknown>".
void table_duration(buf *out, const char *time, int64_t now);
// The value at a JSONPath of printer columns (".a.b[0].c", "['x/y']", "[?(@.type==\"T\")]"); NULL
// if none.
const cJSON *table_jsonpath(const cJSON *object, const char *path);
