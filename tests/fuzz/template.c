// SPDX-License-Identifier: MIT
// The text of a file cell with ${expressions}: it is filled in, or refused with a place.
#include "script/kernel/cells/values/template.h"
#include "base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

enum { INSTRUCTIONS = 20000, MEMORY = 8 << 20 };

static void enough(lua_State *L, lua_Debug *at)
{
    luaL_error(L, "it takes too long");
}

// A state with little memory: an expression may ask for any amount.
static void *limited(void *arg, void *at, size_t before, size_t wanted)
{
    size_t *used = arg;
    before = at ? before : 0;
    if (!wanted) {
        *used -= before;
        free(at);
        return NULL;
    }
    if (*used - before + wanted > MEMORY)
        return NULL;
    void *moved = realloc(at, wanted);
    if (moved)
        *used += wanted - before;
    return moved;
}

static int fill(lua_State *L)
{
    template_fill(L, lua_touserdata(L, 1), 3, "fuzz");
    return 1;
}

static int sketch(lua_State *L)
{
    for (int blank = 0; blank < BLANKS; blank++) {
        template_sketch(L, lua_touserdata(L, 1), (enum template_blank)blank);
        lua_settop(L, 1);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t used = 0;
    AUTO_FREE char *text = mem_strndup((const char *)data, n);
    lua_State *L = lua_newstate(limited, &used);
    if (!L)
        abort();
    lua_sethook(L, enough, LUA_MASKCOUNT, INSTRUCTIONS);
    lua_pushliteral(L, "v");
    lua_setglobal(L, "name");
    lua_newtable(L);
    lua_setglobal(L, "t");
    lua_pushcfunction(L, fill);
    lua_pushlightuserdata(L, text);
    int status = lua_pcall(L, 1, 1, 0);
    if (status == LUA_OK && !strstr(text, "${") && strcmp(lua_tostring(L, -1), text) != 0)
        abort();
    lua_pushcfunction(L, sketch);
    lua_pushlightuserdata(L, text);
    lua_pcall(L, 1, 0, 0);
    lua_close(L);
    return 0;
}
