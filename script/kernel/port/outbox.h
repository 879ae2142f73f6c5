// SPDX-License-Identifier: MIT
// The one way out of the kernel: puts text and events of all threads into one order, and delivers
// them on the loop's thread. It owns its queue. A thread that writes faster than the disk must
// wait.
//   Lua thread  ─ print ──┐
//   Lua thread  ─ ledger ─┼─> queue ──(loop)──> deliver: journal, then clients
//   loop thread ─ child ──┘
#pragma once
#include "base/json/json.h"
#include "base/loop/loop.h"

#include <stddef.h>

typedef struct outbox outbox;
struct outbox_ops {
    // Output of a cell; name is "stdout" or "stderr". Neighbouring pieces of one stream are joined.
    void (*text)(void *arg, const char *cell, const char *branch, const char *name,
        const char *bytes, size_t n);
    void (*event)(void *arg, cJSON *event);                         // takes it
    void (*ended)(void *arg, const char *cell, const char *branch); // no more of its text comes
    void (*passed)(void *arg, void *what);                          // outbox_passed
    void (*begin)(void *arg); // before and after everything that one flush delivers; may be NULL
    void (*end)(void *arg);
};

outbox *outbox_new(loop *l, const struct outbox_ops *ops, void *arg);
void outbox_free(outbox *o);
// From any thread. Text is delivered within 20 ms; an event is delivered at once, after the text
// before it.
void outbox_text(
    outbox *o, const char *cell, const char *branch, const char *name, const char *bytes, size_t n);
void outbox_event(outbox *o, cJSON *event); // takes it
void outbox_ended(outbox *o, const char *cell, const char *branch);
// Adds a mark between earlier and later entries; delivered at once. Never waits for room.
void outbox_passed(outbox *o, void *what);
// On the loop's thread: delivers everything that is queued now.
void outbox_flush(outbox *o);
// On the loop's thread: while it is held, what this thread adds waits for a flush.
void outbox_hold(outbox *o, bool held);
// On the loop's thread: text is likely to come. Checks for it in 20 ms; until then text wakes
// nobody.
void outbox_expect(outbox *o);
