// SPDX-License-Identifier: MIT
// Looks at what cells have made or found elsewhere: objects of a cluster, images. It tells people
// which cells are outdated; it records, changes and decides nothing. It remembers the last calls of
// each cell, until the cell runs again.
//   call with .look ──> kept: arguments, result        look ──> thread: binding's look ──> reply
// Any thread adds calls; the rest is on the loop's thread. The looks have a thread of their own,
// which starts with the first one.
#pragma once
#include "script/kernel/effects/effects.h"
#include "script/kernel/effects/turn.h"
#include "script/protocol/server.h"

glances *glances_new(effects *fx);
// Call it when a call was done, or verified, and its binding has a look. entry NULL: the call was
// pure.
void glances_add(glances *g, const turn *t, const struct binding *b, const cJSON *args,
    const cJSON *result, struct entry *entry);
// The cell runs again: forgets what it made before.
void glances_drop(glances *g, const char *id);
// Handles a client's `look`: returns 0 or 1 as actions_act does. Clients that ask during a look get
// the same answer.
int glances_look(glances *g, server *s, peer *p, const cJSON *message, cJSON **reply, err *e);
// Call it before the loop ends: gives up the look in progress, then calls fn(arg).
void glances_stop(glances *g, void (*fn)(void *arg), void *arg);
void glances_free(glances *g);
