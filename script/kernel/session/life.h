// SPDX-License-Identifier: MIT
// How a kernel's run begins and ends. All of it belongs to the loop's thread.
#pragma once
#include "script/kernel/session/state.h"

// Queues the cells of a headless run: when its owner has said hello, or at once when detached.
void life_begin(kernel *k);
// Somebody has come or gone, or a cell has begun or ended: an interactive kernel that is not used
// any more ends after its lifetime, unless it is held.
void life_settle(kernel *k);
// Why a kernel that is not used does not end, for people; NULL: nothing holds it.
const char *life_held(const kernel *k);
// How long nobody has looked and no cell has run; 0: it is in use.
int64_t life_unused_ns(const kernel *k);
// A client has gone.
void life_client_gone(kernel *k, bool owner);
// After a signal, or a shutdown message: interrupts, then ends.
void life_shutdown(kernel *k);
// The cells of a headless run are done: logs that are followed are read to where they are now, then
// the run ends. If it ends well, those of the last cell that end by themselves are read to their
// end, or until that cell's time is over.
void life_finish(kernel *k, int exit_code, const char *message);
// Ends the run: live views end, "end" is journaled, the sandbox is stopped, clients get the rest,
// the loop stops. Only the first call counts. message: for people, NULL when all is well.
void life_end(kernel *k, int exit_code, const char *message);
// The same while a cell does not end.
void life_abandon(kernel *k, int exit_code);
// Lets a new kernel with the same document take over.
void life_restart(kernel *k);
