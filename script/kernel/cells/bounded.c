// SPDX-License-Identifier: MIT
#include "script/kernel/cells/bounded.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/cells/values/luajson.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>

enum { STEPS_MAX = 1000000 };
static const size_t MEMORY_MAX = 64 << 20;

struct bounded {
    lua_State *L;
    size_t used;
};

static void *allocate(void *arg, void *old, size_t was, size_t n)
{
    size_t *used = &((bounded *)arg)->used, before = old ? was : 0;
    if (n == 0) {
        *used -= before;
        free(old);
        return NULL;
    }
    if (n > before && n - before > MEMORY_MAX - *used)
        return NULL;
    void *new = realloc(old, n);
    if (new)
        *used = *used - before + n;
    return new;
}

// From now on every instruction raises, so a loop with a pcall ends, too.
static void stop(lua_State *L, lua_Debug *ar)
{
    lua_sethook(L, stop, LUA_MASKCOUNT, 1);
    luaL_error(L, "it takes too long");
}

// __index of the globals; upvalue 1: the names of parameters that are nil.
static int unknown(lua_State *L)
{
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(1));
    if (lua_toboolean(L, -1))
        return 0;
    return luaL_error(L, "it is not known yet");
}

// Stack: the parameters' values as JSON. Makes the globals: functions that only compute, and one
// variable for each parameter.
static int set_up(lua_State *L)
{
    static const luaL_Reg libraries[] = {{LUA_GNAME, luaopen_base},
        {LUA_STRLIBNAME, luaopen_string}, {LUA_TABLIBNAME, luaopen_table},
        {LUA_MATHLIBNAME, luaopen_math}, {LUA_UTF8LIBNAME, luaopen_utf8}};
    static const char *const others[] = {"collectgarbage", "dofile", "getmetatable", "load",
        "loadfile", "print", "setmetatable", "warn"};
    for (size_t i = 0; i < ARRAY_LEN(libraries); i++)
        luaL_requiref(L, libraries[i].name, libraries[i].func, 1);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        lua_pushnil(L);
        lua_setglobal(L, others[i]);
    }
    lua_settop(L, 1);
    lua_newtable(L); // 2: the names that are nil
    const cJSON *values = lua_touserdata(L, 1);
    for (const cJSON *v = values ? values->child : NULL; v; v = v->next) {
        if (cJSON_IsNull(v)) {
            lua_pushboolean(L, 1);
            lua_setfield(L, 2, v->string);
            continue;
        }
        luajson_push(L, v);
        lua_setglobal(L, v->string);
    }
    lua_pushglobaltable(L);
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, unknown, 1);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    return 0;
}

bounded *bounded_new(const cJSON *values)
{
    bounded *b = mem_alloc(sizeof *b);
    b->L = lua_newstate(allocate, b);
    if (b->L) {
        lua_pushcfunction(b->L, set_up);
        lua_pushlightuserdata(b->L, (void *)values);
    }
    if (b->L && lua_pcall(b->L, 1, 0, 0) == LUA_OK)
        return b;
    bounded_free(b);
    return NULL;
}

void bounded_free(bounded *b)
{
    if (b && b->L)
        lua_close(b->L);
    free(b);
}

// Leaves one result on the stack; false: the function failed or ran too long.
static bool compute(bounded *b, lua_CFunction f, void *arg)
{
    lua_settop(b->L, 0);
    lua_sethook(b->L, stop, LUA_MASKCOUNT, STEPS_MAX);
    lua_pushcfunction(b->L, f);
    lua_pushlightuserdata(b->L, arg);
    return lua_pcall(b->L, 1, 1, 0) == LUA_OK;
}

struct sketching {
    const char *text;
    enum template_blank blank;
    int blanks;
};

static int sketch(lua_State *L)
{
    struct sketching *s = lua_touserdata(L, 1);
    s->blanks = template_sketch(L, s->text, s->blank);
    return 1;
}

char *bounded_sketch(bounded *b, const char *text, enum template_blank blank, int *blanks)
{
    struct sketching s = {text, blank, 0};
    if (!b || !compute(b, sketch, &s))
        return NULL;
    *blanks = s.blanks;
    char *filled = mem_strdup(lua_tostring(b->L, -1));
    lua_settop(b->L, 0);
    return filled;
}

static int evaluate(lua_State *L)
{
    const char *text = lua_touserdata(L, 1);
    lua_pushfstring(L, "return %s", text);
    if (luaL_loadbufferx(L, lua_tostring(L, -1), lua_rawlen(L, -1), "=expression", "t") != LUA_OK)
        return lua_error(L);
    lua_call(L, 0, 1);
    return 1;
}

cJSON *bounded_value(bounded *b, const char *expression)
{
    err e = {0};
    if (!b || !compute(b, evaluate, (void *)expression))
        return NULL;
    cJSON *value = lua_isnil(b->L, -1) ? NULL : luajson_read(b->L, -1, &e);
    lua_settop(b->L, 0);
    return value;
}
