// SPDX-License-Identifier: MIT
// Turns what cells print into events: masks it, makes it valid UTF-8, cuts it into pieces, and
// captures it. Large output is spooled to disk, and events only refer to it. It belongs to the
// loop's thread.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"
#include "base/loop/loop.h"
#include "script/journal/file/writer.h"
#include "script/journal/mask/mask.h"

#include <stdint.h>

typedef struct outputs outputs;

struct outputs_ops {
    void (*emit)(void *arg, cJSON *event);   // emits a stream event; takes it
    void (*lost)(void *arg, const err *why); // the rest of a stream cannot be kept
};

outputs *outputs_new(loop *l, mask *m, const struct outputs_ops *ops, void *arg);
void outputs_free(outputs *o);
// The journal, whose spools are beside it, and a number that is in no earlier spool's name.
void outputs_place(outputs *o, journal *j, uint64_t first);
// A cell's execution begins: its streams count from 0. Captured output is kept instead of shown.
void outputs_begin(outputs *o, const char *cell, bool captured);
void outputs_text(outputs *o, const char *cell, const char *branch, const char *name,
    const char *bytes, size_t n);
// No more text of this branch will come.
void outputs_end_branch(outputs *o, const char *cell, const char *branch);
// Emits references to everything spooled so far. Call it before another event, to keep the order.
void outputs_settle(outputs *o);
// The execution has ended: emits the bytes that were held back. Captured output is appended to
// `captured` (may be NULL).
void outputs_end(outputs *o, const char *cell, buf *captured);
