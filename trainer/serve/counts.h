// SPDX-License-Identifier: MIT
// What a server has done, in Prometheus's text format 0.0.4: answers by code, how long they took,
// and how many rows and requests each prediction had. Its owner frees it; any thread may count.
#pragma once
#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

typedef struct counts counts;
// The names of n models, borrowed.
counts *counts_new(const char *const *models, size_t n);
void counts_free(counts *c);

// Model i answered a prediction with this HTTP status after this time.
void counts_answer(counts *c, size_t i, unsigned code, int64_t ns);
// One prediction of model i had so many requests and rows.
void counts_batch(counts *c, size_t i, size_t requests, size_t rows);
void counts_lost_record(counts *c); // a request that could not be recorded
// Present values, beside the totals.
struct counts_now {
    int waiting;              // requests that wait or are predicted
    size_t held;              // bytes
    size_t connections, most; // open connections, and the limit
    uint64_t shown_out;       // connections that were closed for being slow, or to make room
};
void counts_print(counts *c, const struct counts_now *now, buf *out);
// Models [from, to) in the form of Triton's statistics extension: {"model_stats": […]}.
void counts_stats(counts *c, size_t from, size_t to, buf *out);
