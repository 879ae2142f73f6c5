// SPDX-License-Identifier: MIT
// The long work that calls of bindings do now (base/work.h). What takes longer than a second is
// told to everybody who looks, five times a second, and once more when it is over. This is no part
// of the run: nothing of it is in the journal, and nothing is read while nobody looks. Who joins
// later learns it from the next message. It lives on the loop's thread; works begin and end on any.
//   call ── works_begin ─> list <── timer (loop) ── work_look ─> port_private ─> tell
#pragma once
#include "base/work.h"
#include "script/kernel/port/port.h"

typedef struct works works;
struct works_ops {
    // On the loop's thread: sends an event, already masked, to all who look; takes it.
    void (*tell)(void *arg, cJSON *event);
};

works *works_new(loop *l, port *p, const struct works_ops *ops, void *arg);
void works_free(works *all);
// On the loop's thread: does anybody look? At the start nobody does.
void works_attend(works *all, bool looked_at);
// The record is read until works_end, which must come before it goes. cell: below which it is
// shown; branch: of the cell that does it, or NULL. all NULL: nobody can look.
void works_begin(works *all, struct work *w, const char *cell, const char *branch);
void works_end(works *all, struct work *w);
