// SPDX-License-Identifier: MIT
// Schedules of learning rates from their objects in Lua.
#include "script/worker/core/fields.h"
#include "script/worker/core/options.h"
#include "script/worker/nn/attributes.h"

static size_t read_numbers(lua_State *L, int table, const char *field, double *out, size_t room)
{
    if (lua_getfield(L, table, field) != LUA_TTABLE)
        luaL_error(L, "PiecewiseConstantDecay: which %s?", field);
    size_t n = (size_t)luaL_len(L, -1);
    if (n > room)
        luaL_error(L, "PiecewiseConstantDecay: more than %d %s", (int)room, field);
    for (size_t i = 0; i < n; i++) {
        if (lua_geti(L, -1, (lua_Integer)i + 1) != LUA_TNUMBER)
            luaL_error(L, "PiecewiseConstantDecay: %s must be numbers", field);
        out[i] = lua_tonumber(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return n;
}

// A schedule such as nn.CosineDecay{ 0.1, 1000 }.
schedule read_schedule(lua_State *L, int table)
{
    err e;
    schedule_kind kind = SCHEDULE_PIECEWISE;
    const char *class = opt_string_field(L, table, "learning_rate", "class");
    if (!class || schedule_parse(class, &kind, &e))
        luaL_error(
            L, "learning_rate must be a number or a schedule, as nn.CosineDecay { 0.1, 1000 }");
    schedule s = schedule_default(kind);
    read_attributes(L, table, schedule_declaration(kind), 0, &s);
    s.kind = kind;
    if (kind == SCHEDULE_PIECEWISE) {
        s.pieces = read_numbers(L, table, "values", s.value, SCHEDULE_PIECES);
        if (read_numbers(L, table, "boundaries", s.boundary, SCHEDULE_PIECES) + 1 != s.pieces)
            luaL_error(L, "PiecewiseConstantDecay: there must be a value more than boundaries");
    }
    return s;
}
