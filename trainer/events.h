// SPDX-License-Identifier: MIT
// The records of TensorBoard's event files: TFRecord frames around messages of the protocol buffers
// tensorflow.Event (tensorflow/core/util/event.proto). Bytes are appended to a buf.
#pragma once
#include "base/buf.h"

#include <stdint.h>

// The first record of a file.
void events_version(buf *out, double wall_time);
typedef struct event_value {
    const char *tag;
    double value;
} event_value;
// Scalars of a step, which the dashboard SCALARS shows.
void events_scalars(buf *out, double wall_time, int64_t step, const event_value *values, size_t n);
// CRC-32C (Castagnoli).
uint32_t events_crc32c(const void *bytes, size_t n);
