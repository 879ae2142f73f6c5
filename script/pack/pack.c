// SPDX-License-Identifier: MIT
#include "script/pack/pack.h"

#include "base/mem.h"
#include "script/pack/errortext.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

static const char base_globals[] = "firesteel.base_globals";
static const char ops_key; // its address

void pack_use(lua_State *L, const struct pack_ops *ops)
{
    lua_pushlightuserdata(L, (void *)ops);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &ops_key);
}

const struct pack_ops *pack_ops_of(lua_State *L)
{
    static const struct pack_ops none;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &ops_key);
    const struct pack_ops *ops = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return ops ? ops : &none;
}

void pack_remember_globals(lua_State *L)
{
    lua_newtable(L);
    lua_pushglobaltable(L);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_pushboolean(L, 1);
        lua_rawset(L, -6);
    }
    lua_pop(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, base_globals);
}

bool pack_is_base_global(lua_State *L, const char *name)
{
    lua_getfield(L, LUA_REGISTRYINDEX, base_globals);
    lua_pushstring(L, name);
    bool is = lua_rawget(L, -2) != LUA_TNIL;
    lua_pop(L, 2);
    return is;
}

void pack_push_own_globals(lua_State *L)
{
    lua_newtable(L);
    lua_getfield(L, LUA_REGISTRYINDEX, base_globals);
    lua_pushglobaltable(L);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        if (lua_type(L, -1) == LUA_TSTRING && lua_rawget(L, -5) == LUA_TNIL) {
            lua_pushvalue(L, -3);
            lua_rawseti(L, -7, (lua_Integer)lua_rawlen(L, -7) + 1);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
}

// Packing runs inside lua_pcall, so it may raise; the caller of lua_pcall owns `out` and `path`.
//   stack   NAMES    C function, module, … → "module\0field"
//           SEEN     table, function, userdata → its number
//           GLOBALS  what functions read: a list of names, and name → true
struct packer {
    const struct pack_ops *ops;
    buf *out;
    buf path; // the place, for errors: "function 'train' (trainer.lua:4), upvalue 'model'"
    const char *const *value_names;
    enum pack_mode mode;
    int names, seen, globals;
    lua_Integer objects, cells;
};

void pack_kind(struct packer *p, char kind)
{
    buf_char(p->out, kind);
}

void pack_number(struct packer *p, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_char(p->out, (char)(value >> (8 * i)));
}

void pack_bytes(lua_State *L, struct packer *p, const void *bytes, size_t n)
{
    if (n > UINT32_MAX)
        luaL_error(L, "a string of %d GiB is too long to travel", (int)(n >> 30));
    pack_number(p, n, 4);
    buf_add(p->out, bytes, n);
}

void pack_raw(struct packer *p, const void *bytes, size_t n)
{
    buf_add(p->out, bytes, n);
}

const char *pack_path(const struct packer *p)
{
    return buf_cstr(&p->path);
}

// Collects the names of everything in the loaded modules, and of the globals that all processes
// have.
static void collect_names(lua_State *L, const struct pack_ops *ops)
{
    lua_newtable(L);
    int names = lua_gettop(L);
    lua_getfield(L, LUA_REGISTRYINDEX, base_globals);
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    for (lua_pushnil(L); lua_next(L, names + 2); lua_settop(L, names + 3)) {
        if (lua_type(L, names + 3) != LUA_TSTRING ||
            (ops->shares && !ops->shares(lua_tostring(L, names + 3))))
            continue;
        bool globals = strcmp(lua_tostring(L, names + 3), LUA_GNAME) == 0;
        if (!globals) {
            lua_pushvalue(L, names + 4);
            lua_pushvalue(L, names + 3);
            lua_rawset(L, names);
        }
        if (!lua_istable(L, names + 4))
            continue;
        for (lua_pushnil(L); lua_next(L, names + 4); lua_settop(L, names + 5)) {
            int type = lua_type(L, names + 6);
            if (lua_type(L, names + 5) != LUA_TSTRING ||
                (type != LUA_TFUNCTION && type != LUA_TTABLE && type != LUA_TUSERDATA))
                continue;
            lua_pushvalue(L, names + 5);
            if (globals && lua_rawget(L, names + 1) == LUA_TNIL)
                continue;
            lua_pushvalue(L, names + 6);
            if (lua_rawget(L, names) != LUA_TNIL)
                continue; // the first name is enough
            lua_pushvalue(L, names + 6);
            lua_pushvalue(L, names + 3);
            lua_pushlstring(L, "", 1);
            lua_pushvalue(L, names + 5);
            lua_concat(L, 3);
            lua_rawset(L, names);
        }
    }
    lua_settop(L, names);
}

static void put_value(lua_State *L, struct packer *p, int index, int depth);

// Adds a part to the path while the caller is inside; returns the length before.
static size_t enter(struct packer *p, const char *fmt, ...)
{
    size_t before = p->path.len;
    if (before)
        buf_str(&p->path, ", ");
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&p->path, fmt, args);
    va_end(args);
    return before;
}

static void leave(struct packer *p, size_t before)
{
    p->path.len = before;
    if (p->path.data)
        p->path.data[before] = 0;
}

static _Noreturn void refuse(lua_State *L, struct packer *p, int index, const char *remedy)
{
    const char *what = luaL_tolstring(L, index, NULL);
    luaL_error(L, "%s: %s cannot travel to another process%s", buf_cstr(&p->path), what, remedy);
    __builtin_unreachable();
}

static const char only_data[] =
    ": only data can (nil, booleans, numbers, strings, tables, tensors, models); functions travel "
    "from the driver to its ranks alone";

// Does the table's metatable say that the table is sent without it?
static bool is_plain(lua_State *L, int index)
{
    bool plain = luaL_getmetafield(L, index, "__plain") != LUA_TNIL;
    if (plain)
        lua_pop(L, 1);
    return plain;
}

// Refuses objects that are more than data, or are known by a name.
static void check_data(lua_State *L, struct packer *p, int index)
{
    int type = lua_type(L, index);
    if (p->mode == PACK_FUNCTIONS)
        return;
    if (type == LUA_TFUNCTION)
        refuse(L, p, index, only_data);
    if (type == LUA_TTABLE && !is_plain(L, index) && lua_getmetatable(L, index)) {
        lua_pop(L, 1);
        luaL_error(L, "%s: a table with a metatable cannot travel to another process%s",
            buf_cstr(&p->path), only_data);
    }
    lua_pushglobaltable(L);
    if (lua_rawequal(L, -1, index))
        luaL_error(L, "%s: the table of globals cannot travel to another process%s",
            buf_cstr(&p->path), only_data);
    lua_pop(L, 1);
}

// Asks the program about a table or userdata. Raises if it cannot be sent; returns whether it is
// packed as a plain table, without its metatable.
static bool judge(lua_State *L, struct packer *p, int index)
{
    if (p->mode != PACK_FUNCTIONS || !p->ops->judge)
        return false;
    enum pack_verdict verdict = p->ops->judge(L, index);
    if (verdict == PACK_STAYS)
        luaL_error(L, "%s is %s, which cannot travel to another process", buf_cstr(&p->path),
            lua_tostring(L, -1));
    return verdict == PACK_PLAIN;
}

static void remember(lua_State *L, struct packer *p, int index)
{
    lua_pushvalue(L, index);
    lua_pushinteger(L, p->objects++);
    lua_rawset(L, p->seen);
}

// Packs a value that was packed before, or that has a known name; false: neither.
static bool put_known(lua_State *L, struct packer *p, int index)
{
    lua_pushglobaltable(L);
    bool globals = lua_rawequal(L, -1, index);
    lua_pop(L, 1);
    if (globals) {
        buf_char(p->out, 'E');
        return true;
    }
    lua_pushvalue(L, index);
    if (lua_rawget(L, p->seen) == LUA_TNUMBER) {
        buf_char(p->out, 'R');
        pack_number(p, (uint64_t)lua_tointeger(L, -1), 4);
        lua_pop(L, 1);
        return true;
    }
    lua_pop(L, 1);
    lua_pushvalue(L, index);
    bool named = p->mode == PACK_FUNCTIONS && lua_rawget(L, p->names) == LUA_TSTRING;
    if (named) {
        size_t n;
        const char *name = lua_tolstring(L, -1, &n);
        buf_char(p->out, 'M');
        pack_bytes(L, p, name, n);
    }
    lua_pop(L, 1);
    return named;
}

struct key {
    int at; // in the list of keys
    int type;
    lua_Number number;
    const char *text;
    size_t n;
};

// Sorts numbers first, then texts, then values without an order.
static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->type != y->type)
        return x->type == LUA_TNUMBER || (x->type == LUA_TSTRING && y->type != LUA_TNUMBER) ? -1
               : y->type == LUA_TNUMBER || y->type == LUA_TSTRING                           ? 1
                                                                  : x->at - y->at;
    if (x->type == LUA_TNUMBER)
        return x->number < y->number ? -1 : x->number > y->number;
    if (x->type != LUA_TSTRING)
        return x->at - y->at;
    int order = memcmp(x->text, y->text, x->n < y->n ? x->n : y->n);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

// Pushes a list of the table's keys, and then their order: a userdata.
static const struct key *push_keys(lua_State *L, int table, int *n)
{
    int count = 0;
    lua_newtable(L);
    int list = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_rawseti(L, list, ++count);
    }
    struct key *keys = lua_newuserdatauv(L, (size_t)count * sizeof *keys, 0);
    for (int i = 0; i < count; i++) {
        keys[i] = (struct key){.at = i + 1, .type = lua_rawgeti(L, list, i + 1)};
        if (keys[i].type == LUA_TNUMBER)
            keys[i].number = lua_tonumber(L, -1);
        else if (keys[i].type == LUA_TSTRING)
            keys[i].text = lua_tolstring(L, -1, &keys[i].n);
        lua_pop(L, 1); // the list keeps it
    }
    if (count)
        qsort(keys, (size_t)count, sizeof *keys, by_key);
    *n = count;
    return keys;
}

// Stack: key, value.
static void put_pair(lua_State *L, struct packer *p, int depth)
{
    int key = lua_gettop(L) - 1;
    size_t before = lua_type(L, key) == LUA_TSTRING ? enter(p, "field '%s'", lua_tostring(L, key))
                    : lua_isinteger(L, key)         ? enter(p, "item %lld", lua_tointeger(L, key))
                                                    : enter(p, "a key");
    put_value(L, p, key, depth);
    put_value(L, p, key + 1, depth);
    leave(p, before);
    lua_pop(L, 2);
}

static void put_table(lua_State *L, struct packer *p, int index, int depth, bool plain)
{
    int n, top = lua_gettop(L);
    remember(L, p, index);
    buf_char(p->out, 'T');
    if (!plain && !is_plain(L, index) && lua_getmetatable(L, index)) {
        size_t before = enter(p, "its metatable");
        put_value(L, p, lua_gettop(L), depth);
        leave(p, before);
        lua_pop(L, 1);
    } else {
        buf_char(p->out, 'n');
    }
    const struct key *keys = push_keys(L, index, &n);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, top + 1, keys[i].at);
        lua_pushvalue(L, -1);
        lua_rawget(L, index);
        put_pair(L, p, depth);
    }
    buf_char(p->out, 'e');
    lua_settop(L, top);
}

static int write_bytecode(lua_State *L, const void *bytes, size_t n, void *out)
{
    buf_add(out, bytes, n);
    return 0;
}

static void put_upvalue(lua_State *L, struct packer *p, int function, int i, int depth)
{
    void *id = lua_upvalueid(L, function, i);
    if (lua_rawgetp(L, p->seen, id) == LUA_TNUMBER) {
        buf_char(p->out, 'V');
        pack_number(p, (uint64_t)lua_tointeger(L, -1), 4);
        lua_pop(L, 1);
        return;
    }
    lua_pushinteger(L, p->cells++);
    lua_rawsetp(L, p->seen, id);
    buf_char(p->out, 'U');
    const char *name = lua_getupvalue(L, function, i);
    size_t before = enter(p, "upvalue '%s'", name && *name ? name : "?");
    put_value(L, p, lua_gettop(L), depth);
    leave(p, before);
    lua_pop(L, 2); // pops the value, and the nil that rawgetp pushed
}

struct reads {
    lua_State *L;
    struct packer *packer;
};

static void add_global(void *arg, const char *name, size_t n)
{
    struct reads *r = arg;
    lua_State *L = r->L;
    int globals = r->packer->globals;
    lua_pushlstring(L, name, n);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, globals) == LUA_TNIL) {
        lua_pushvalue(L, -2);
        lua_pushboolean(L, true);
        lua_rawset(L, globals);
        lua_pushvalue(L, -2);
        lua_rawseti(L, globals, (lua_Integer)lua_rawlen(L, globals) + 1);
    }
    lua_pop(L, 2);
}

// Notes the globals that the bytecode from `at` reads.
static void note_globals(lua_State *L, struct packer *p, size_t at)
{
    err e;
    if (p->ops->global && pack_each_global(p->out->data + at, p->out->len - at, add_global,
                              &(struct reads){L, p}, &e))
        luaL_error(L, "%s: %s", buf_cstr(&p->path), e.text);
}

static void put_function(lua_State *L, struct packer *p, int index, int depth)
{
    lua_Debug info;
    lua_pushvalue(L, index);
    lua_getinfo(L, ">Su", &info);
    if (lua_iscfunction(L, index))
        refuse(L, p, index, "");
    size_t before = enter(p, "function at %s:%d", info.short_src, info.linedefined);
    remember(L, p, index);
    buf_char(p->out, 'F');
    size_t at = p->out->len;
    pack_number(p, 0, 4);
    lua_pushvalue(L, index);
    lua_dump(L, write_bytecode, p->out, 0); // keeps its line numbers, for errors on the rank
    lua_pop(L, 1);
    char length[4];
    for (int i = 0; i < 4; i++)
        length[i] = (char)((p->out->len - at - 4) >> (8 * i));
    memcpy(p->out->data + at, length, 4);
    note_globals(L, p, at + 4);
    buf_char(p->out, (char)info.nups);
    for (int i = 1; i <= info.nups; i++)
        put_upvalue(L, p, index, i, depth);
    leave(p, before);
}

static void put_userdata(lua_State *L, struct packer *p, int index)
{
    size_t before = p->out->len;
    if (p->ops->put && p->ops->put(L, p, index)) {
        remember(L, p, index);
        return;
    }
    p->out->len = before;
    refuse(
        L, p, index, luaL_testudata(L, index, LUA_FILEHANDLE) ? ": open it in the function" : "");
}

static void put_number_value(lua_State *L, struct packer *p, int index)
{
    if (lua_isinteger(L, index)) {
        buf_char(p->out, 'i');
        pack_number(p, (uint64_t)lua_tointeger(L, index), 8);
        return;
    }
    double d = lua_tonumber(L, index);
    uint64_t bits;
    memcpy(&bits, &d, 8);
    buf_char(p->out, 'd');
    pack_number(p, bits, 8);
}

static void put_value(lua_State *L, struct packer *p, int index, int depth)
{
    luaL_checkstack(L, 16, "too many values");
    if (depth >= PACK_DEPTH_MAX)
        luaL_error(L, "values are nested more than %d deep", PACK_DEPTH_MAX);
    switch (lua_type(L, index)) {
    case LUA_TNIL:
        buf_char(p->out, 'n');
        return;
    case LUA_TBOOLEAN:
        buf_char(p->out, lua_toboolean(L, index) ? 't' : 'f');
        return;
    case LUA_TNUMBER:
        put_number_value(L, p, index);
        return;
    case LUA_TSTRING: {
        size_t n;
        const char *s = lua_tolstring(L, index, &n);
        buf_char(p->out, 's');
        pack_bytes(L, p, s, n);
        return;
    }
    default:
        check_data(L, p, index);
        if (put_known(L, p, index))
            return;
    }
    bool plain = judge(L, p, index);
    switch (lua_type(L, index)) {
    case LUA_TTABLE:
        put_table(L, p, index, depth + 1, plain);
        return;
    case LUA_TFUNCTION:
        put_function(L, p, index, depth + 1);
        return;
    case LUA_TUSERDATA:
        put_userdata(L, p, index);
        return;
    default:
        refuse(L, p, index, "");
    }
}

// Functions among the globals may read others, so the list grows in the loop.
static void put_globals(lua_State *L, struct packer *p)
{
    for (lua_Integer i = 1; lua_rawgeti(L, p->globals, i) == LUA_TSTRING; i++) {
        const char *name = lua_tostring(L, -1);
        if (p->ops->global(L, name)) {
            size_t n, before = enter(p, "global '%s'", name);
            const char *bytes = lua_tolstring(L, -2, &n);
            buf_char(p->out, 'G');
            pack_bytes(L, p, bytes, n);
            put_value(L, p, lua_gettop(L), 0);
            leave(p, before);
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static int pack_protected(lua_State *L)
{
    struct packer *p = lua_touserdata(L, 1);
    int values = lua_gettop(L) - 1;
    if (p->mode == PACK_FUNCTIONS)
        collect_names(L, p->ops);
    else
        lua_newtable(L); // data may not refer to names
    p->names = lua_gettop(L);
    lua_newtable(L);
    p->seen = lua_gettop(L);
    lua_newtable(L);
    p->globals = lua_gettop(L);
    pack_number(p, (uint64_t)values, 4);
    for (int i = 0; i < values; i++) {
        size_t before =
            p->value_names ? enter(p, "%s", p->value_names[i]) : enter(p, "value %d", i + 1);
        put_value(L, p, 2 + i, 0);
        leave(p, before);
    }
    if (p->ops->global)
        put_globals(L, p);
    return 0;
}

int pack_values(
    lua_State *L, int first, int n, enum pack_mode mode, const char *const *names, buf *out, err *e)
{
    struct packer p = {.ops = pack_ops_of(L), .out = out, .value_names = names, .mode = mode};
    first = lua_absindex(L, first);
    luaL_checkstack(L, n + 2, "too many values");
    lua_pushcfunction(L, pack_protected);
    lua_pushlightuserdata(L, &p);
    for (int i = 0; i < n; i++)
        lua_pushvalue(L, first + i);
    int status = lua_pcall(L, n + 1, 0, 0);
    buf_done(&p.path);
    if (status == LUA_OK)
        return 0;
    return error_take(L, ERR_USAGE, e);
}
