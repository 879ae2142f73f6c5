// SPDX-License-Identifier: MIT
// Where effects go: the cluster that the run talks to, and whether it can be heard. It tells
// clients by `cluster` events, one for each change. Any thread; the effects own it.
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "script/kernel/effects/binding.h"
#include "script/kernel/effects/turn.h"

typedef struct place place;
typedef struct effects effects;

place *place_new(effects *fx);
void place_free(place *p);
// The loop's thread: finds out which it is, without a word on the network, and tells. Again when it
// was not known before, or is another one by now.
void place_find(place *p);
// The server was heard (NULL, or code ERR_NONE), or cannot be; and when it was last, wall ns, 0: as
// far as is known here.
void place_heard(place *p, const err *away, int64_t heard_wall);
// The loop's thread: the cluster is gone for good, and why. What the Lua thread's turn waits for is
// cancelled if it is the cluster, and place_reach says the reason from now on.
void place_lost(place *p, const char *why);
// Whoever is about to talk to the cluster asks first: -1 when it is gone. A turn of the Lua thread
// says place_left when that is over; actions do not wait.
int place_reach(place *p, turn *t, err *e);
bool place_left(place *p);               // has place_lost cancelled what the turn waits for?
void place_why_lost(place *p, err *why); // stays as it is when the cluster is not gone
// What a question is about, as message.def's ask has it; new.
cJSON *place_effect(place *p, effect which, const struct about *about);
// "context kind, namespace default", of an effect; new.
char *place_text(const cJSON *details);
