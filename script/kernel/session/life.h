// SPDX-License-Identifier: MIT
// How a kernel's run begins and ends. All of it belongs to the loop's thread.
#pragma once
#include "script/kernel/session/state.h"

// A headless run queues its cells: when its owner has said hello, or at once when detached.
void life_begin(kernel *k);
// Nothing runs and nothing is queued: a kernel without clients may go.
void life_idle(kernel *k);
// A client has gone.
void life_client_gone(kernel *k, bool owner);
// A signal, or shutdown: interrupts, then ends.
void life_shutdown(kernel *k);
// The run is over: live views end, "end" is journaled, the sandbox goes, clients get the rest, the
// loop stops. Only the first call counts. message: for people, NULL when all is well.
void life_end(kernel *k, int exit_code, const char *message);
// The same while a cell does not come back.
void life_abandon(kernel *k, int exit_code);
// A new kernel with the same document takes over.
void life_restart(kernel *k);
