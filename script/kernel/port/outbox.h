// SPDX-License-Identifier: MIT
// The one way out of the kernel: text and events of all threads in one order, delivered on the
// loop's thread. It owns what is queued; a thread that writes faster than the disk takes it is made
// to wait.
//
//   Lua thread  ─ print ──┐
//   Lua thread  ─ ledger ─┼─> queue ──(loop)──> deliver: journal, then clients
//   loop thread ─ child ──┘
#pragma once
#include "base/json.h"
#include "base/loop/loop.h"

#include <stddef.h>

typedef struct outbox outbox;
struct outbox_ops {
    // Output of a cell; name is "stdout" or "stderr". Neighbours of one stream come joined.
    void (*text)(void *arg, const char *cell, const char *name, const char *bytes, size_t n);
    void (*event)(void *arg, cJSON *event); // takes it
};

outbox *outbox_new(loop *l, const struct outbox_ops *ops, void *arg);
void outbox_free(outbox *o);
// From any thread. Text is delivered within 20 ms, and at once before an event.
void outbox_text(outbox *o, const char *cell, const char *name, const char *bytes, size_t n);
void outbox_event(outbox *o, cJSON *event); // takes it
// On the loop's thread: delivers all that is queued now.
void outbox_flush(outbox *o);
