// SPDX-License-Identifier: MIT
// Named numbers of a batch or an epoch, in the order in which they are shown, and Keras's format
// for them. Starts as {0}; free it with logs_done.
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

// Room for "val_", a layer's name and a metric's; code that takes names from elsewhere checks their
// length.
enum { LOG_NAME_SIZE = 128 };

typedef struct logs {
    size_t n;
    struct log_item {
        char name[LOG_NAME_SIZE];
        double value;
    } * items;
} logs;

// The value with this name; false when there is none.
bool logs_get(const logs *l, const char *name, double *value);
// Adds or overwrites. The name must be shorter than LOG_NAME_SIZE.
void logs_set(logs *l, const char *name, double value);
// " - loss: 0.3325 - accuracy: 0.9046 - lr: 0.0010"; values up to 0.001 as 1.0000e-04, as Keras
// does.
void logs_format(const logs *l, buf *out);
void logs_done(logs *l);

#define AUTO_LOGS __attribute__((cleanup(logs_done))) logs
