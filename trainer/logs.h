// SPDX-License-Identifier: MIT
// Named numbers of a batch or an epoch, in the order in which they are shown, and Keras's format
// for them. A plain value; nothing is owned.
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum { LOGS_MAX = 16, LOG_NAME_SIZE = 32 };

typedef struct logs {
    size_t n;
    struct log_item {
        char name[LOG_NAME_SIZE];
        double value;
    } items[LOGS_MAX];
} logs;

// The value with this name; false when there is none.
bool logs_get(const logs *l, const char *name, double *value);
// Adds or overwrites. A name that is too long is cut; when there is no room, the value is dropped.
void logs_set(logs *l, const char *name, double value);
// " - loss: 0.3325 - accuracy: 0.9046 - lr: 0.0010"; values up to 0.001 as 1.0000e-04, as Keras
// does.
void logs_format(const logs *l, buf *out);
