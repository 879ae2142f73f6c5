// SPDX-License-Identifier: MIT
// Stops Lua from another thread: a signal to the Lua thread sets a hook on the running coroutine,
// and the hook raises. An interrupt belongs to the interpreter that it stops.
// Between interrupts no hook is set (a permanent one costs 1.8×). We know the running coroutine
// because resume is our own function. pcall and xpcall are also ours, so that none of them swallows
// the error. An interrupt cannot stop a C function that does not return (a pathological
// string.find), or a loop in a finalizer, where Lua calls no hooks.
#pragma once
#include "script/kernel/effects/turn.h"

#include <lua.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct interrupt {
    _Atomic(lua_State *) running; // the coroutine that runs, NULL outside of turns
    // The Lua thread:
    const turn *turn; // the running turn: when it has to stop, pcall raises the error again
    bool raised;      // the hook has raised once already
    int held;         // above 0 interrupts wait: the running code must not be left half done
    // For branches (branches.h). A branch is suspended with all coroutines inside it: each resume
    // on the way yields, too, and the user's code that called it does not notice.
    bool parking;  // a yield is on its way to the scheduler
    bool passable; // every resume between the branch and the running coroutine can yield
} interrupt;

// Call it before the Lua thread starts: sets the signal's handler for the process. Until the thread
// has called interrupt_install, the signal does nothing.
void interrupt_prepare(void);
// Call it once on the Lua thread: installs the functions that know about the interrupt
// (coroutine.*, pcall, xpcall), and debug without sethook. `i` must outlive L.
void interrupt_install(interrupt *i, lua_State *L);
// Call it on the Lua thread, around everything that may be interrupted. A turn that had to stop
// before stops at its first instruction.
void interrupt_enter(interrupt *i, lua_State *L, const turn *t);
void interrupt_leave(interrupt *i, lua_State *L);
// Resumes a branch with n arguments, or continues one that has parked. Returns lua_resume's status.
// parked: it waits for something, and will be resumed without arguments. `raised` is the branch's
// own flag.
int interrupt_step(interrupt *i, lua_State *L, lua_State *co, int n, const turn *t, bool *raised,
    bool *parked, int *results);
// The running branch is about to raise because it has to stop, so the hook must not: to-be-closed
// variables are still closed.
void interrupt_told(lua_State *L, lua_State *co);
// Closes the coroutine of a branch that failed; its error stays on top.
void interrupt_close(interrupt *i, lua_State *co, const turn *t);
// Can the running function of a branch be suspended? If so, `return interrupt_park(L, ctx, k)` does
// it, and k continues.
bool interrupt_can_park(lua_State *L);
int interrupt_park(lua_State *L, lua_KContext ctx, lua_KFunction k);

// Call it after turn_stop, from any thread, as often as needed; `thread` is the Lua thread. Does
// nothing to a turn that need not stop.
void interrupt_send(unsigned long thread);
