// SPDX-License-Identifier: MIT
#include "script/kernel/cells/parts.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/api/sources.h"
#include "script/kernel/cells/reads.h"
#include "script/kernel/cells/state.h"

#include <lauxlib.h>
#include <string.h>

// Tables in the registry, by their addresses.
static const char CORE, // `core`, the library's own functions
    GLOBALS,            // of the library's code
    OWNERS;             // name → 1 + the number of its part

static void push(lua_State *L, const char *key)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, key);
}

// Compiled chunks work only with the release of Lua they were compiled for; the loaded library may
// be another one.
static const struct lua_source *usable_sources(void)
{
    return strstr(lua_ident, LUA_RELEASE " ") ? lib_chunks : lib_sources;
}

// The length of the next line of a text, and moves the text to it; 0: no more lines.
static size_t line(const char **text)
{
    *text += strspn(*text, "\n");
    return strcspn(*text, "\n");
}

// Runs a file. core.place is its index, by which the library's descriptions are sorted.
static void run_file(lua_State *L, const char *name, size_t n)
{
    const struct lua_source *all = usable_sources(), *s = all;
    while (s->name && !(strlen(s->name) == n && memcmp(s->name, name, n) == 0))
        s++;
    if (!s->name)
        luaL_error(L, "the library has no file %s", name);
    int core = lua_gettop(L) + 1;
    push(L, &CORE);
    lua_getfield(L, core, "place");
    lua_pushinteger(L, s - all);
    lua_setfield(L, core, "place");
    lua_pushfstring(L, "@firesteel/%s.lua", s->name);
    if (luaL_loadbufferx(L, s->text, s->n, lua_tostring(L, -1), "bt") != LUA_OK)
        lua_error(L);
    push(L, &GLOBALS);
    lua_setupvalue(L, -2, 1);
    lua_pushvalue(L, core);
    lua_call(L, 1, 0);
    lua_settop(L, core + 1);
    lua_setfield(L, core, "place");
    lua_settop(L, core - 1);
}

// Notes a name that a part has made: a global of cells, or a field of a module.
static void tell_name(lua_State *L, const char *name, size_t n)
{
    int top = lua_gettop(L);
    const char *dot = memchr(name, '.', n);
    push(L, &GLOBALS);
    lua_pushlstring(L, name, dot ? (size_t)(dot - name) : n);
    lua_pushvalue(L, -1);
    lua_rawget(L, top + 1);
    if (!dot)
        reads_learn(L);
    else if (lua_istable(L, -1)) { // not of `core`
        lua_pushlstring(L, dot + 1, (size_t)(name + n - dot - 1));
        lua_pushvalue(L, -1);
        lua_rawget(L, top + 3);
        lua_remove(L, top + 3);
        reads_learn_field(L);
    }
    lua_settop(L, top);
}

static int run_part(lua_State *L)
{
    const struct lua_part *p = lua_touserdata(L, 1);
    for (const char *at = p->files; line(&at); at += line(&at))
        run_file(L, at, line(&at));
    for (const char *at = p->names; line(&at); at += line(&at))
        tell_name(L, at, line(&at));
    return 0;
}

// Interrupts wait until the part is loaded. A part that could not be loaded is tried again at the
// next use.
static void load(lua_State *L, size_t i)
{
    interp *in = interp_of(L);
    in->parts |= 1u << i;
    in->interrupt.held++;
    lua_pushcfunction(L, run_part);
    lua_pushlightuserdata(L, (void *)&lib_parts[i]);
    int status = lua_pcall(L, 1, 0, 0);
    in->interrupt.held--;
    if (status == LUA_OK)
        return;
    in->parts &= ~(1u << i);
    lua_error(L);
}

bool parts_find(lua_State *L, const char *name)
{
    push(L, &OWNERS);
    lua_getfield(L, -1, name);
    size_t number = (size_t)lua_tointeger(L, -1);
    lua_pop(L, 2);
    if (number == 0 || interp_of(L)->parts & 1u << (number - 1))
        return false;
    load(L, number - 1);
    return true;
}

void parts_find_all(lua_State *L)
{
    for (size_t i = 0; lib_parts[i].files; i++)
        if (!(interp_of(L)->parts & 1u << i))
            load(L, i);
}

int parts_more(lua_State *L)
{
    lua_pushboolean(L, parts_find(L, luaL_checkstring(L, 1)));
    return 1;
}

int parts_everything(lua_State *L)
{
    parts_find_all(L);
    return 0;
}

// __index of a table whose fields' names begin with the upvalue.
static int index_more(lua_State *L)
{
    lua_settop(L, 2);
    if (lua_type(L, 2) != LUA_TSTRING)
        return 0;
    lua_pushfstring(L, "%s%s", lua_tostring(L, lua_upvalueindex(1)), lua_tostring(L, 2));
    if (!parts_find(L, lua_tostring(L, 3)))
        return 0;
    lua_pushvalue(L, 2);
    lua_rawget(L, 1);
    return 1;
}

// Sets __index of the table on top: it loads the part that has the missing name.
static void index_by(lua_State *L, const char *prefix)
{
    lua_newtable(L);
    lua_pushstring(L, prefix);
    lua_pushcclosure(L, index_more, 1);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}

static void note_owners(lua_State *L)
{
    lua_newtable(L);
    for (size_t i = 0; lib_parts[i].files; i++)
        for (const char *at = lib_parts[i].names; line(&at); at += line(&at)) {
            lua_pushlstring(L, at, line(&at));
            lua_pushinteger(L, (lua_Integer)i + 1);
            lua_rawset(L, -3);
        }
    lua_rawsetp(L, LUA_REGISTRYINDEX, &OWNERS);
}

// Tables at two indices: copies all entries of the first into the second.
static void copy_all(lua_State *L, int from, int to)
{
    lua_pushnil(L);
    while (lua_next(L, from)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, to);
    }
}

void parts_open(lua_State *L)
{
    note_owners(L);
    lua_pushvalue(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &CORE);
    lua_pushglobaltable(L);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &GLOBALS);
    int globals = lua_gettop(L) - 1, ours = globals + 1;
    copy_all(L, globals, ours);
    index_by(L, "");
    lua_pushvalue(L, 1);
    index_by(L, "core.");
    lua_getfield(L, 1, "hooks");
    index_by(L, "core.hooks.");
    lua_settop(L, ours);
    load(L, 0);
    copy_all(L, ours, globals);
    lua_getfield(L, 1, "types");
    index_by(L, "core.types.");
    lua_settop(L, 1);
}
