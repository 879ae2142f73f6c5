// SPDX-License-Identifier: MIT
// The place of effects: the cluster that the run talks to, and whether it can be reached. Clients
// get a `cluster` event for each change. For any thread; the effects own it.
#pragma once
#include "base/err.h"
#include "base/json/json.h"
#include "script/kernel/effects/binding.h"
#include "script/kernel/effects/turn.h"

typedef struct place place;
typedef struct effects effects;

place *place_new(effects *fx);
void place_free(place *p);
// On the loop's thread: finds the cluster, without using the network, and reports it. Call it again
// when the cluster was unknown, or may have changed.
void place_find(place *p);
// The cluster has changed: finds it, and forgets how the one before was reached.
void place_moved(place *p);
// Reports whether the server was reached (`why` NULL, or code ERR_NONE) or not. heard_wall: when it
// was last reached, wall ns; 0: as this place knows.
void place_heard(place *p, const err *away, int64_t heard_wall);
// On the loop's thread: the cluster is gone for good; `why` says why. Cancels the wait of the Lua
// thread's turn for the cluster. From now on place_reach fails with this reason.
void place_lost(place *p, const char *why);
// Call it before talking to the cluster: -1 when it is gone. A turn of the Lua thread calls
// place_left afterwards; actions do not wait.
int place_reach(place *p, turn *t, err *e);
bool place_left(place *p, turn *t);      // true: place_lost cancelled the turn's wait
void place_why_lost(place *p, err *why); // sets *why only when the cluster is gone
// What is known about the cluster: {context, namespace, server}, new; NULL: nothing.
cJSON *place_known(place *p);
// The details of a question, as message.def's ask has them; new.
cJSON *place_effect(place *p, effect which, const struct about *about);
// The place of an effect, "context kind, namespace default"; new.
char *place_text(const cJSON *details);
