// SPDX-License-Identifier: MIT
// What the run's variables hold, for clients that look at them: Lua's, and those of the kernels of
// Jupyter. All of it belongs to the loop's thread.
#pragma once
#include "script/kernel/session/state.h"

// Remembers which names this execution has set.
void variables_note(kernel *k, const execution *x);
size_t variables_count(const kernel *k); // names that cells have set
void variables_done(kernel *k);
// The message "variables" (protocol/message.def); as a request: 1: the reply follows.
int variables_look(kernel *k, peer *p, const cJSON *m, err *e);
