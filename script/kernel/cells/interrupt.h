// SPDX-License-Identifier: MIT
// Stops Lua from another thread: a signal to the Lua thread sets a hook on the running coroutine,
// and the hook raises. An interrupt belongs to the interpreter that it stops.
//
// No hook is set otherwise (a permanent one costs 1.8×). We know the running coroutine because
// resume is our own function; and since pcall and xpcall are ours, too, none of them swallows the
// error. An interrupt cannot stop a C function that does not return (a pathological string.find),
// or a loop in a finalizer, where Lua calls no hooks.
#pragma once
#include "script/kernel/effects/turn.h"

#include <lua.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct interrupt {
    _Atomic(lua_State *) running; // the coroutine that runs, NULL outside of turns
    // The Lua thread:
    const turn *turn; // the running turn: once it has to stop, no pcall holds an error back
    bool raised;      // it was told to stop once already
} interrupt;

// Call it before the Lua thread starts: sets the signal's handler for the process. Until the thread
// has called interrupt_install, the signal does nothing.
void interrupt_prepare(void);
// Call it once on the Lua thread: installs the functions that know about the interrupt
// (coroutine.*, pcall, xpcall), and debug without sethook. `i` must outlive L.
void interrupt_install(interrupt *i, lua_State *L);
// Call it on the Lua thread, around everything that may be interrupted. A turn that had to stop
// before it came here stops at its first instruction.
void interrupt_enter(interrupt *i, lua_State *L, const turn *t);
void interrupt_leave(interrupt *i, lua_State *L);
// Call it after turn_stop, from any thread, as often as needed; `thread` is the Lua thread. A turn
// that does not have to stop is not affected.
void interrupt_send(unsigned long thread);
