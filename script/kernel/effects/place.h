// SPDX-License-Identifier: MIT
// Where effects go: the cluster that the run talks to, and whether it can be heard. It tells
// clients by `cluster` events, one for each change. Any thread; the effects own it.
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "script/kernel/effects/binding.h"

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
// What a question is about, as message.def's ask has it; new.
cJSON *place_effect(place *p, effect which, const struct about *about);
// "context kind, namespace default", of an effect; new.
char *place_text(const cJSON *details);
