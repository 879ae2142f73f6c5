// SPDX-License-Identifier: MIT
// The session's private sandbox: started with the kernel, or later by a person, and stopped with
// it. Everything runs on the loop's thread; the session owns the sandbox.
#pragma once
#include "script/kernel/session/state.h"

// Starts the one that the options ask for; cells wait until it is ready.
int sandboxing_open(kernel *k, err *e);
// Carries out a client's `sandbox`: 0 with *reply when there is one already; 1 when the reply
// follows; -1: nothing has changed, and the error says why not.
int sandboxing_ask(kernel *k, peer *p, const cJSON *message, cJSON **reply, err *e);
// Was it asked for by a client, and does it not answer yet?
bool sandboxing_starts(const kernel *k);
// Stops it when the kernel is freed.
void sandboxing_close(kernel *k);
