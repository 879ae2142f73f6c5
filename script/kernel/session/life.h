// SPDX-License-Identifier: MIT
// How a kernel's run begins and ends. All of it belongs to the loop's thread.
#pragma once
#include "script/kernel/session/state.h"

// Queues the cells of a headless run: after its owner's hello, or at once when detached.
void life_begin(kernel *k);
// Call it when a client has come or left, or a cell has begun or ended: an interactive kernel that
// is not used any more ends after its lifetime, unless something holds it.
void life_settle(kernel *k);
// Why an unused kernel does not end, for people; NULL: nothing holds it.
const char *life_held(const kernel *k);
// For how long no client has looked and no cell has run; 0: it is in use.
int64_t life_unused_ns(const kernel *k);
// A client has gone.
void life_client_gone(kernel *k, bool owner);
// Call it after a signal, or a shutdown message: interrupts, then ends.
void life_shutdown(kernel *k);
// Call it after the cells of a headless run: followed logs are read to where they are now, then the
// run ends. If it ends well, logs of the last cell that end by themselves are read to their end, or
// until that cell's time limit.
void life_finish(kernel *k, int exit_code, const char *message);
// Ends the run: live views end, "end" is journaled, the sandbox is stopped, clients get the rest,
// the loop stops. Only the first call counts. message: for people, NULL if all is well.
void life_end(kernel *k, int exit_code, const char *message);
// The same while a cell does not end.
void life_abandon(kernel *k, int exit_code);
// Lets a new kernel with the same document take over.
void life_restart(kernel *k);
