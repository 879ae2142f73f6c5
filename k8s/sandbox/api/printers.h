// SPDX-License-Identifier: MIT
// The built-in kinds' columns and cells, one printer each. Static; nothing is owned.
#pragma once
#include "k8s/sandbox/store/kind.h"

struct column {
    const char *name, *type, *format;
    int priority;     // 1: only with -o wide
    const char *path; // JSONPath, where a cell is no more than that
};
struct printer {
    enum kind_id kind;
    const struct column *columns;
    size_t n;
    // Appends one cell for each column; NULL: by the columns' paths.
    void (*cells)(cJSON *row, const cJSON *object, int64_t now);
};
// NULL for kinds without one.
const struct printer *printer_of(const struct kind *k);
