// SPDX-License-Identifier: MIT
// Questions of clients that a binding answers, such as names in a kernel of Jupyter: calls on a
// thread of their own, one after another, also while a cell runs. Each is a turn. The lookups
// belong to the session, on the loop's thread; their thread starts with the first question.
#pragma once
#include "script/kernel/effects/effects.h"

typedef struct lookups lookups;

// Gets what the binding has found (borrowed; NULL: nothing), or why nobody could answer.
typedef void lookups_reply(void *arg, const cJSON *result, const err *why);

lookups *lookups_new(effects *fx);
// Asks a pure binding. Takes args. An answer that takes more than 5 s is given up.
int lookups_ask(
    lookups *l, const char *binding, cJSON *args, lookups_reply *reply, void *arg, err *e);
// Call it before the loop ends: ends all questions, then calls fn(arg).
void lookups_stop(lookups *l, void (*fn)(void *arg), void *arg);
void lookups_free(lookups *l); // NULL is fine
