// SPDX-License-Identifier: MIT
// Checks cells for clients while nobody runs them: what keeps them from running, and what is wrong
// with their texts in other languages. On a thread of its own, on a copy of the document, so that
// neither a running cell nor typing waits for it; it starts with the first check. It belongs to the
// session, on the loop's thread.
#pragma once
#include "script/kernel/effects/effects.h"
#include "script/notebook/notebook.h"
#include "script/protocol/server.h"

typedef struct checks checks;

checks *checks_new(effects *fx, server *s);
// Handles a client's `check`: 1, its reply follows; -1 on an error.
int checks_check(checks *c, const notebook *nb, peer *p, const cJSON *message, err *e);
// The same for `complete` and `inspect` in a cell whose text is YAML; 0: it is another one's.
int checks_look_up(checks *c, const notebook *nb, peer *p, const cJSON *message, err *e);
// Call it before the loop ends: gives up the check in progress, then calls fn(arg).
void checks_stop(checks *c, void (*fn)(void *arg), void *arg);
void checks_free(checks *c); // NULL is fine
