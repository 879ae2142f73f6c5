// SPDX-License-Identifier: MIT
// What the callback TensorBoard is made of (callbacks.lua): records, time, folders.
#include "trainer/events.h"

#include "base/clock.h"
#include "base/os/path.h"
#include "script/worker/core/options.h"

#include <unistd.h>

// event_record(wall_time, step, {tag, value, …}) → a record of an event file; without a step its
// first one.
static int event_record(lua_State *L)
{
    double wall_time = luaL_checknumber(L, 1);
    size_t n = 0;
    buf out = {0};
    if (lua_isnoneornil(L, 2))
        events_version(&out, wall_time);
    else {
        int64_t step = luaL_checkinteger(L, 2);
        luaL_checktype(L, 3, LUA_TTABLE);
        size_t most = (size_t)lua_rawlen(L, 3) / 2;
        event_value *values = lua_newuserdatauv(L, (most + 1) * sizeof *values, 0);
        for (lua_Integer i = 1; n < most && lua_rawgeti(L, 3, i) == LUA_TSTRING; i += 2, n++) {
            lua_rawgeti(L, 3, i + 1);
            values[n] = (event_value){lua_tostring(L, -2), lua_tonumber(L, -1)};
            lua_pop(L, 2); // the list holds the text
        }
        events_scalars(&out, wall_time, step, values, n);
    }
    lua_pushlstring(L, out.data, out.len);
    buf_done(&out);
    return 1;
}

static int wall_time(lua_State *L)
{
    lua_pushnumber(L, (double)clock_wall() / (double)CLOCK_SEC);
    return 1;
}

static int make_folder(lua_State *L)
{
    err e;
    if (path_make_dirs(luaL_checkstring(L, 1), 0777, &e) < 0)
        raise_err(L, &e);
    return 0;
}

static int host_name(lua_State *L)
{
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    lua_pushstring(L, name);
    lua_pushinteger(L, getpid());
    return 2;
}

void push_event_functions(lua_State *L)
{
    static const luaL_Reg functions[] = {{"event_record", event_record}, {"wall_time", wall_time},
        {"host_name", host_name}, {"make_folder", make_folder}, {NULL, NULL}};
    luaL_newlib(L, functions);
}
