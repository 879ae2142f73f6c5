// SPDX-License-Identifier: MIT
#include "script/kernel/cells/wait/interrupt.h"

#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

// Global, because the signal handler, which runs on the Lua thread, cannot find the interrupt in
// any other way.
static _Thread_local interrupt *mine;

static interrupt *interrupt_of(lua_State *L)
{
    return *(interrupt **)lua_getextraspace(L); // new coroutines get a copy of the main one's
}

static bool has_to_stop(lua_State *L)
{
    const turn *t = interrupt_of(L)->turn;
    return t && turn_stopped(t) != FAILURE_NONE;
}

// The first time it raises once, so that to-be-closed variables can still be closed. If the code
// catches that error and continues, the hook stays, and every instruction raises.
static void stop_hook(lua_State *L, lua_Debug *ar)
{
    interrupt *i = interrupt_of(L);
    bool stops = has_to_stop(L); // otherwise the signal came too late: that turn is over
    if (stops && i->held)
        return;
    if (!stops || !i->raised)
        lua_sethook(L, NULL, 0, 0);
    if (!stops)
        return;
    i->raised = true;
    luaL_error(L, "interrupted");
}

static void set_hook(lua_State *L)
{
    lua_sethook(L, stop_hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

// Calling lua_sethook in a signal handler is allowed: Lua's own program does so in its SIGINT
// handler.
static void on_signal(int signum)
{
    lua_State *L = mine ? atomic_load(&mine->running) : NULL;
    if (L)
        set_hook(L);
}

void interrupt_enter(interrupt *i, lua_State *L, const turn *t)
{
    i->turn = t;
    i->raised = false;
    atomic_store(&i->running, L);
    if (has_to_stop(L))
        set_hook(L);
}

void interrupt_leave(interrupt *i, lua_State *L)
{
    atomic_store(&i->running, NULL);
    i->turn = NULL;
    lua_sethook(L, NULL, 0, 0);
}

void interrupt_send(unsigned long thread)
{
    pthread_kill((pthread_t)thread, SIGUSR1);
}

// Raises the error of an interrupt again if somebody has caught it.
static void pass_interrupt(lua_State *L, bool failed)
{
    if (failed && has_to_stop(L))
        lua_error(L);
}

static int finish_pcall(lua_State *L, int status, lua_KContext extra)
{
    if (status != LUA_OK && status != LUA_YIELD) {
        pass_interrupt(L, true);
        lua_pushboolean(L, 0);
        lua_pushvalue(L, -2);
        return 2;
    }
    return lua_gettop(L) - (int)extra;
}

static int our_pcall(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_pushboolean(L, 1);
    lua_insert(L, 1);
    int status = lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, finish_pcall);
    return finish_pcall(L, status, 0);
}

// The message handler of xpcall. It runs inside the hook that raised, where Lua calls no hooks. A
// user's handler could not be stopped there, so it is not called for an interrupt.
static int handle_message(lua_State *L)
{
    if (has_to_stop(L))
        return 1;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
}

// Stack: f, handler, true, f, arguments…; the first two stay below the results.
static int our_xpcall(lua_State *L)
{
    int n = lua_gettop(L);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, handle_message, 1);
    lua_replace(L, 2);
    lua_pushboolean(L, 1);
    lua_pushvalue(L, 1);
    lua_rotate(L, 3, 2);
    int status = lua_pcallk(L, n - 2, LUA_MULTRET, 2, 2, finish_pcall);
    return finish_pcall(L, status, 2);
}

static lua_State *check_coroutine(lua_State *L)
{
    lua_State *co = lua_tothread(L, 1);
    luaL_argexpected(L, co, 1, "coroutine");
    return co;
}

// Marks a coroutine that is parked in a branch. The mark is bit 0 of the coroutine's extra space,
// which holds the interrupt's address, an even number. A parked coroutine does not run, so nobody
// needs the address, and new coroutines copy the main one's.
static bool is_parked(lua_State *co)
{
    return *(uintptr_t *)lua_getextraspace(co) & 1;
}

static void mark_parked(lua_State *co, bool is)
{
    uintptr_t *mark = lua_getextraspace(co);
    *mark = (*mark & ~(uintptr_t)1) | is;
}

enum { PARKED = -2 };

// Resumes with n arguments from the top of L, with `running` set to the coroutine. Returns the
// number of results on L's top; or -1, with the error there; or PARKED: L must yield, too.
static int resume(lua_State *L, lua_State *co, int n)
{
    if (is_parked(co)) {
        lua_pushliteral(L, "cannot resume a coroutine that another branch waits in");
        return -1;
    }
    if (!lua_checkstack(co, n)) {
        lua_pushliteral(L, "too many arguments to resume");
        return -1;
    }
    lua_xmove(L, co, n);
    interrupt *i = interrupt_of(L);
    int results = 0;
    bool passable = i->passable;
    i->passable = passable && lua_isyieldable(L);
    atomic_store(&i->running, co);
    int status = lua_resume(co, L, n, &results);
    atomic_store(&i->running, L);
    i->passable = passable;
    if (status == LUA_YIELD && i->parking) {
        mark_parked(co, true);
        return PARKED;
    }
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_xmove(co, L, 1);
        return -1;
    }
    if (!lua_checkstack(L, results + 1)) {
        lua_pop(co, results);
        lua_pushliteral(L, "too many results to resume");
        return -1;
    }
    lua_xmove(co, L, results);
    return results;
}

static int resume_again(lua_State *L, int status, lua_KContext ctx);

static int finish_resume(lua_State *L, int n)
{
    if (n == PARKED)
        return lua_yieldk(L, 0, 0, resume_again);
    pass_interrupt(L, n < 0);
    lua_pushboolean(L, n >= 0);
    int values = n < 0 ? 1 : n;
    lua_insert(L, -(values + 1));
    return values + 1;
}

static int resume_again(lua_State *L, int status, lua_KContext ctx)
{
    lua_State *co = check_coroutine(L);
    mark_parked(co, false);
    return finish_resume(L, resume(L, co, 0));
}

static int our_resume(lua_State *L)
{
    lua_State *co = check_coroutine(L);
    return finish_resume(L, resume(L, co, lua_gettop(L) - 1));
}

// Closes a coroutine, which runs the code of its to-be-closed variables.
static int close_coroutine(lua_State *L, lua_State *co)
{
    interrupt *i = interrupt_of(L);
    atomic_store(&i->running, co);
    int status = lua_resetthread(co);
    atomic_store(&i->running, L);
    return status;
}

static int wrapped_again(lua_State *L, int status, lua_KContext ctx);

static int finish_wrapped(lua_State *L, lua_State *co, int n)
{
    if (n == PARKED)
        return lua_yieldk(L, 0, 0, wrapped_again);
    if (n >= 0)
        return n;
    int status = lua_status(co);
    if (status != LUA_OK && status != LUA_YIELD) {
        close_coroutine(L, co); // keeps the first error object
        if (lua_gettop(co) > 0)
            lua_settop(co, 0);
    }
    if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int wrapped_again(lua_State *L, int status, lua_KContext ctx)
{
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));
    mark_parked(co, false);
    return finish_wrapped(L, co, resume(L, co, 0));
}

static int wrapped(lua_State *L)
{
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));
    return finish_wrapped(L, co, resume(L, co, lua_gettop(L)));
}

static int our_create(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_State *co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    return 1;
}

static int our_wrap(lua_State *L)
{
    our_create(L);
    lua_pushcclosure(L, wrapped, 1);
    return 1;
}

static int our_close(lua_State *L)
{
    lua_State *co = check_coroutine(L);
    lua_Debug ar;
    bool suspended =
        lua_status(co) == LUA_YIELD || (lua_status(co) == LUA_OK && !lua_getstack(co, 0, &ar));
    bool dead = lua_status(co) != LUA_OK && lua_status(co) != LUA_YIELD;
    if (co == L || is_parked(co) || (!suspended && !dead))
        return luaL_error(L, "cannot close a running coroutine");
    int status = close_coroutine(L, co);
    if (status == LUA_OK) {
        lua_pushboolean(L, 1);
        return 1;
    }
    lua_pushboolean(L, 0);
    lua_xmove(co, L, 1);
    pass_interrupt(L, true);
    return 2;
}

// Upvalue: Lua's own.
static int our_status(lua_State *L)
{
    if (is_parked(check_coroutine(L))) {
        lua_pushliteral(L, "normal");
        return 1;
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
}

int interrupt_step(interrupt *i, lua_State *L, lua_State *co, int n, const turn *t, bool *raised,
    bool *parked, int *results)
{
    const interrupt outer = {.turn = i->turn, .raised = i->raised, .passable = i->passable};
    i->turn = t;
    i->raised = *raised;
    i->passable = true;
    atomic_store(&i->running, co);
    if (has_to_stop(co))
        set_hook(co);
    int status = lua_resume(co, L, n, results);
    atomic_store(&i->running, L);
    *parked = i->parking;
    *raised = i->raised;
    i->parking = false;
    i->turn = outer.turn;
    i->raised = outer.raised;
    i->passable = outer.passable;
    return status;
}

void interrupt_told(lua_State *L, lua_State *co)
{
    interrupt_of(L)->raised = true;
    lua_sethook(co, NULL, 0, 0);
    lua_sethook(L, NULL, 0, 0);
}

void interrupt_close(interrupt *i, lua_State *co, const turn *t)
{
    const turn *outer = i->turn;
    lua_State *running = atomic_load(&i->running);
    i->turn = t;
    atomic_store(&i->running, co);
    lua_resetthread(co);
    atomic_store(&i->running, running);
    i->turn = outer;
}

bool interrupt_can_park(lua_State *L)
{
    return interrupt_of(L)->passable && lua_isyieldable(L);
}

int interrupt_park(lua_State *L, lua_KContext ctx, lua_KFunction k)
{
    interrupt_of(L)->parking = true;
    return lua_yieldk(L, 0, ctx, k);
}

static const luaL_Reg coroutine_functions[] = {
    {"create", our_create}, {"resume", our_resume}, {"wrap", our_wrap}, {"close", our_close}, {0}};

void interrupt_prepare(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
}

void interrupt_install(interrupt *i, lua_State *L)
{
    *(interrupt **)lua_getextraspace(L) = mine = i;
    lua_getglobal(L, LUA_COLIBNAME);
    luaL_setfuncs(L, coroutine_functions, 0);
    lua_getfield(L, -1, "status");
    lua_pushcclosure(L, our_status, 1);
    lua_setfield(L, -2, "status");
    lua_pop(L, 1);
    lua_register(L, "pcall", our_pcall);
    lua_register(L, "xpcall", our_xpcall);
    lua_getglobal(L, LUA_DBLIBNAME);
    lua_pushnil(L);
    lua_setfield(L, -2, "sethook");
    lua_pop(L, 1);
}
