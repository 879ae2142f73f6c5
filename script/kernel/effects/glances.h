// SPDX-License-Identifier: MIT
// Looks at what cells have made or found elsewhere: objects of a cluster, images. A person learns
// from that which cells do not hold any more; nothing is recorded, changed or decided by it. It
// remembers the last calls of each cell, until the cell runs again.
//
//   call with .look ──> kept: arguments, result        look ──> thread: binding's look ──> reply
//
// Calls are added by any thread; all else is on the loop's thread. The looks have a thread of their
// own, which starts with the first one.
#pragma once
#include "script/kernel/effects/effects.h"
#include "script/kernel/effects/turn.h"
#include "script/protocol/server.h"

glances *glances_new(effects *fx);
// The call has been done, or verified, and its binding has a look. entry NULL: it was pure.
void glances_add(glances *g, const turn *t, const struct binding *b, const cJSON *args,
    const cJSON *result, struct entry *entry);
// The cell runs again: what it made before does not count.
void glances_drop(glances *g, const char *id);
// Handles a client's `look`: 0 or 1 as actions_act. Those who ask meanwhile get the same answer.
int glances_look(glances *g, server *s, peer *p, const cJSON *message, cJSON **reply, err *e);
// Before the loop ends: gives up the look under way, then calls fn(arg).
void glances_stop(glances *g, void (*fn)(void *arg), void *arg);
void glances_free(glances *g);
