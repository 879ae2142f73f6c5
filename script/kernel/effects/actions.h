// SPDX-License-Identifier: MIT
// What clients have done to rows of displays, without Lua and while a cell runs: calls of bindings
// on a thread of their own, one after another, each a turn.
//
//   act ──> rows: what does the row stand for? ──> gate, question ──> thread: binding ──> reply
//
// What one opens to look at is a peek of who asked (displays.h).
//
// They belong to the session, on the loop's thread; the thread starts with the first action.
#pragma once
#include "script/kernel/effects/effects.h"
#include "script/protocol/server.h"

typedef struct actions actions;

actions *actions_new(effects *fx, server *s);
// Before the loop ends: answers who still waits, then calls fn(arg).
void actions_stop(actions *a, void (*fn)(void *arg), void *arg);
void actions_free(actions *a);
// An event on its way into the journal.
void actions_event(actions *a, const cJSON *event);
// A client's act: 0, 1 when its reply follows, -1.
int actions_act(actions *a, peer *p, const cJSON *message, err *e);
// A client has gone: what only it asked for is not asked any more.
void actions_client_gone(actions *a);
