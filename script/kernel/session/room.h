// SPDX-License-Identifier: MIT
// Makes room: unused kernels of this user may together use so much memory (their children count, a
// sandbox's pods among them). Beyond it those that have been unused longest are ended; never one
// that something holds, such as unsaved text, and never the one that became unused last.
#pragma once
#include "script/kernel/session/state.h"

// A little later it asks the other kernels of the run-time folder. Calls that come before are one.
void room_look_soon(kernel *k);
void room_done(kernel *k);
