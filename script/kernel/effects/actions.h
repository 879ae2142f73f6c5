// SPDX-License-Identifier: MIT
// Runs actions of clients on rows of displays, without Lua and while a cell may run: calls of
// bindings on a thread of their own, one after another. Each is a turn.
//   act ──> rows: which object is it? ──> gate, question ──> thread: binding ──> reply
// A display that it opens is a peek of the client that asked (displays.h). The actions belong to
// the session, on the loop's thread; their thread starts with the first action.
#pragma once
#include "script/kernel/effects/effects.h"
#include "script/protocol/server.h"

typedef struct actions actions;

actions *actions_new(effects *fx, server *s);
// Call it before the loop ends: replies to those who still wait, then calls fn(arg).
void actions_stop(actions *a, void (*fn)(void *arg), void *arg);
void actions_free(actions *a);
// Reads an event that is about to be journaled, or sent to the client of a peek.
void actions_event(actions *a, const cJSON *event);
// Handles a client's `act`: 0 when done, 1 when its reply follows, -1 on an error.
int actions_act(actions *a, peer *p, const cJSON *message, err *e);
// A peek is dropped.
void actions_dropped(actions *a, int64_t id);
// Call it when a client has left: withdraws the questions that only this client waited for.
void actions_client_gone(actions *a);
