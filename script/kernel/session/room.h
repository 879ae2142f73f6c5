// SPDX-License-Identifier: MIT
// Limits the memory of this user's unused kernels. All together, with their children (such as a
// sandbox's pods), may use so much. Above that, those unused longest are ended; never one that
// something holds, such as unsaved text, and never the one that became unused last.
#pragma once
#include "script/kernel/session/state.h"

// Asks the other kernels of the run-time folder a little later. Calls until then count as one.
void room_look_soon(kernel *k);
void room_done(kernel *k);
