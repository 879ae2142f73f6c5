// SPDX-License-Identifier: MIT
// The columns and cells of the built-in kinds, one printer for each kind. Static; nothing is owned.
#pragma once
#include "k8s/sandbox/store/kind.h"

struct column {
    const char *name, *type, *format;
    int priority;     // 1: only with -o wide
    const char *path; // JSONPath, where that is enough for a cell
};
struct printer {
    enum kind_id kind;
    const struct column *columns;
    size_t n;
    // Appends one cell for each column; NULL: the columns' paths are used.
    void (*cells)(cJSON *row, const cJSON *object, int64_t now);
};
// NULL for kinds without a printer.
const struct printer *printer_of(const struct kind *k);
