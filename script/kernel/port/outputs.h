// SPDX-License-Identifier: MIT
// What cells print, on its way into events: masked, made valid UTF-8, cut into pieces, captured,
// or, when it gets much, spooled to disk with events that only refer to it. It belongs to the
// loop's thread.
#pragma once
#include "base/buf.h"
#include "base/json.h"
#include "base/loop/loop.h"
#include "script/journal/mask.h"
#include "script/journal/writer.h"

#include <stdint.h>

typedef struct outputs outputs;

struct outputs_ops {
    void (*emit)(void *arg, cJSON *event);   // a stream event, which it takes
    void (*lost)(void *arg, const err *why); // the rest of a stream cannot be kept
};

outputs *outputs_new(loop *l, mask *m, const struct outputs_ops *ops, void *arg);
void outputs_free(outputs *o);
// The journal, beside which spools are, and a number that no earlier one has in its name.
void outputs_place(outputs *o, journal *j, uint64_t first);
// A cell's execution begins: its streams count anew; captured ones are kept instead of shown.
void outputs_begin(outputs *o, const char *cell, bool captured);
void outputs_text(outputs *o, const char *cell, const char *name, const char *bytes, size_t n);
// Emits references to what was spooled by now; before another event, so that the order is right.
void outputs_settle(outputs *o);
// The execution is over: emits what was held back. What was captured is appended to `captured` (may
// be NULL).
void outputs_end(outputs *o, const char *cell, buf *captured);
