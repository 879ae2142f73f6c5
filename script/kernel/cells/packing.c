// SPDX-License-Identifier: MIT
#include "script/kernel/cells/packing.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/cells/state.h"
#include "script/kernel/cells/values/luajson.h"
#include "script/pack/pack.h"

#include <lualib.h>
#include <string.h>

static bool is_in(const char *const *names, const char *name)
{
    while (*names && !str_eq(*names, name))
        names++;
    return *names != NULL;
}

static const char *const of_worker[] = {"hvd", "nn", "data", "args", NULL};

static bool shares(const char *module)
{
    static const char *const of_lua[] = {LUA_GNAME, LUA_COLIBNAME, LUA_TABLIBNAME, LUA_IOLIBNAME,
        LUA_OSLIBNAME, LUA_STRLIBNAME, LUA_UTF8LIBNAME, LUA_MATHLIBNAME, LUA_DBLIBNAME,
        LUA_LOADLIBNAME, NULL};
    return is_in(of_lua, module) || is_in(of_worker, module);
}

static bool is_library_function(lua_State *L, int index)
{
    lua_Debug ar;
    if (lua_type(L, index) != LUA_TFUNCTION)
        return false;
    lua_pushvalue(L, index);
    lua_getinfo(L, ">S", &ar);
    return *ar.what != 'C' && !interp_is_user_frame(&ar);
}

// Stack: metatable. Is it one of the kernel's own library?
static bool is_library_class(lua_State *L)
{
    int meta = lua_gettop(L);
    bool ours = false;
    for (lua_pushnil(L); !ours && lua_next(L, meta); lua_pop(L, 1))
        ours = is_library_function(L, -1);
    lua_settop(L, meta);
    return ours;
}

static void push_named(lua_State *L, const char *name)
{
    lua_pushfstring(L, strchr("aeiou", *name) ? "an %s" : "a %s", name);
}

static void push_field(lua_State *L, int index, const char *name)
{
    lua_pushstring(L, name);
    lua_rawget(L, index);
}

// Stack: metatable. Pushes what kind of library table it belongs to: a handle of an object, a
// module, a result.
static void push_what(lua_State *L, int index)
{
    push_field(L, lua_gettop(L), "__name");
    const char *name = lua_tostring(L, -1);
    if (!name)
        name = "table of the kernel's library";
    push_field(L, index, "kind");
    const char *kind = lua_tostring(L, -1);
    bool is_module = lua_getglobal(L, name) == LUA_TTABLE && lua_rawequal(L, -1, index);
    if (is_module) {
        lua_pushfstring(L, "the kernel's module '%s'", name);
    } else if (str_eq(name, "Kubernetes object") && kind) {
        push_named(L, kind);
        lua_pushfstring(L, "a handle of %s", lua_tostring(L, -1));
    } else {
        push_named(L, name);
    }
}

static enum pack_verdict judge_table(lua_State *L, int index)
{
    if (!lua_getmetatable(L, index))
        return PACK_TRAVELS;
    if (luajson_is_array(L, index)) {
        lua_pop(L, 1);
        return PACK_PLAIN;
    }
    if (is_library_class(L)) {
        push_what(L, index);
        return PACK_STAYS;
    }
    lua_pop(L, 1);
    return PACK_TRAVELS;
}

static enum pack_verdict judge(lua_State *L, int index)
{
    int type = lua_type(L, index);
    if (type == LUA_TTABLE)
        return judge_table(L, index);
    if (type == LUA_TFUNCTION && (lua_iscfunction(L, index) || is_library_function(L, index))) {
        lua_pushliteral(L, "a function of the kernel's library");
        return PACK_STAYS;
    }
    if (type == LUA_TTHREAD) {
        lua_pushliteral(L, "a coroutine");
        return PACK_STAYS;
    }
    if (type == LUA_TLIGHTUSERDATA) {
        lua_pushliteral(L, "firesteel.null");
        return PACK_STAYS;
    }
    if (type == LUA_TUSERDATA && !luaL_testudata(L, index, LUA_FILEHANDLE)) {
        const char *name =
            luaL_getmetafield(L, index, "__name") == LUA_TSTRING ? lua_tostring(L, -1) : "userdata";
        push_named(L, name);
        return PACK_STAYS;
    }
    return PACK_TRAVELS;
}

// The worker has Lua's own globals. Its modules are loaded when a function names them.
static bool push_global(lua_State *L, const char *name)
{
    if (is_in(of_worker, name)) {
        lua_getglobal(L, "require");
        lua_pushstring(L, name);
        lua_call(L, 1, 1);
        return true;
    }
    if (pack_is_base_global(L, name))
        return false;
    if (lua_getglobal(L, name) != LUA_TNIL)
        return true;
    lua_pop(L, 1);
    return false;
}

void packing_open(lua_State *L)
{
    static const struct pack_ops ops = {.shares = shares, .judge = judge, .global = push_global};
    pack_use(L, &ops);
    pack_remember_globals(L);
}

// What ranks expect: function, arguments, `arg`, names of the globals that are missing.
static int packing_pack(lua_State *L)
{
    static const char *const names[] = {"the function", "args", "arg", "globals"};
    interp *in = interp_of(L);
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 2);
    lua_newtable(L);
    lua_newtable(L);
    char **text = luajson_box(L);
    buf bytes = {0}, base64 = {0};
    int failed = pack_values(L, 1, 4, PACK_FUNCTIONS, names, &bytes, &in->raised);
    base64_encode(&base64, bytes.data, bytes.len);
    *text = mem_strdup(buf_cstr(&base64));
    size_t n = bytes.len;
    buf_done(&base64);
    buf_done(&bytes);
    if (failed)
        return interp_raise(L, FAILURE_ERROR);
    lua_pushstring(L, *text);
    lua_pushinteger(L, (lua_Integer)n);
    return 2;
}

static int packing_unpack(lua_State *L)
{
    interp *in = interp_of(L);
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    buf bytes = {0};
    int values = base64_decode(&bytes, text, n, &in->raised);
    if (values == 0)
        values = unpack_values(L, bytes.data, bytes.len, PACK_DATA, &in->raised);
    buf_done(&bytes);
    return values < 0 ? interp_raise(L, FAILURE_ERROR) : values;
}

const luaL_Reg packing_functions[] = {
    {"pack", packing_pack},
    {"unpack", packing_unpack},
    {0},
};
