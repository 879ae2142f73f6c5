// SPDX-License-Identifier: MIT
#include "script/kernel/cells/reads.h"

#include "base/data/digest.h"
#include "base/json/secret.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/cells/parts.h"
#include "script/kernel/cells/state.h"
#include "script/kernel/cells/values/plainvalue.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

// The most bytes of a text, and of a table, that get a digest.
enum { TEXT_MAX = 1 << 20, TABLE_MAX = 16 << 10 };

// Tables in the registry, by their addresses.
static const char SHELF, // name → value of the globals that this cell has not used yet
    LIBRARY, // name → value of our globals and Lua's own; a value that a notebook puts in their
             // place is removed
    FETCHED, // name → value at the time it was fetched; &FETCHED: there was none
    UNREAD, // name → true: had a value that the notebook has not read: the library's, or it was set
            // to nil without being fetched
    CONTENT, // name → digest of a table at the end of the last cell that used it
    FIELDS,  // name → copy of a library table at the end of the last cell that used it
    META;    // the metatable of the globals while a cell runs

static void push(lua_State *L, const char *key)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, key);
}

static void put_table(lua_State *L, const char *key)
{
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

// table[name] = value for a table and a name at these indices; pops the value.
static void set(lua_State *L, int table, int name)
{
    lua_pushvalue(L, name);
    lua_insert(L, -2);
    lua_rawset(L, table);
}

// Moves everything from the shelf to the table of globals.
static void take_all_back(lua_State *L)
{
    int top = lua_gettop(L);
    lua_pushglobaltable(L);
    push(L, &SHELF);
    lua_pushnil(L);
    while (lua_next(L, top + 2)) {
        int name = top + 3;
        lua_pushvalue(L, name);
        if (lua_rawget(L, top + 1) == LUA_TNIL) {
            lua_pushvalue(L, name + 1);
            set(L, top + 1, name);
        }
        lua_settop(L, name);
    }
    lua_settop(L, top);
    put_table(L, &SHELF);
}

int reads_library(lua_State *L)
{
    push(L, &LIBRARY);
    return 1;
}

// Are they the same value? NaN (0/0) counts as equal to itself.
static bool is_same(lua_State *L, int a, int b)
{
    return lua_rawequal(L, a, b) || (!lua_rawequal(L, a, a) && !lua_rawequal(L, b, b));
}

static bool has_name(lua_State *L, const char *key, int name)
{
    push(L, key);
    lua_pushvalue(L, name);
    bool has = lua_rawget(L, -2) != LUA_TNIL;
    lua_pop(L, 2);
    return has;
}

// Is the value of this name the library's?
static bool is_library(lua_State *L, int name, int value)
{
    push(L, &LIBRARY);
    lua_pushvalue(L, name);
    bool is = lua_rawget(L, -2) != LUA_TNIL && is_same(L, -1, value);
    lua_pop(L, 2);
    return is;
}

// The notebook set a metatable of its own: it has the table of globals itself.
static bool has_own_metatable(lua_State *L)
{
    int top = lua_gettop(L);
    lua_pushglobaltable(L);
    push(L, &META);
    bool own = lua_getmetatable(L, top + 1) && !lua_rawequal(L, -1, top + 2);
    lua_settop(L, top);
    return own;
}

static void take_meta_off(lua_State *L)
{
    lua_pushglobaltable(L);
    if (lua_getmetatable(L, -1)) {
        push(L, &META);
        bool ours = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
        if (ours) {
            lua_pushnil(L);
            lua_setmetatable(L, -2);
        }
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, LUA_GNAME);
    lua_pop(L, 1);
}

// The cell has the table of globals itself, and may keep it: entries on the shelf would be missing
// there.
static void give_up(lua_State *L)
{
    interp_of(L)->reads_unknown = interp_of(L)->globals_known = true;
    reads_stop(L);
}

static bool is_user(lua_State *L)
{
    lua_Debug ar;
    return lua_getstack(L, 1, &ar) && lua_getinfo(L, "S", &ar) && interp_is_user_frame(&ar);
}

// Notes that a name has a value which the notebook does not read.
static void note_unread(lua_State *L, int name)
{
    push(L, &UNREAD);
    lua_pushboolean(L, true);
    set(L, lua_gettop(L) - 1, name);
    lua_pop(L, 1);
}

// Only the first use of a name counts: a nil that the cell itself has set is no read.
static void note_fetch(lua_State *L, int name, int value)
{
    if (has_name(L, &FETCHED, name) || has_name(L, &UNREAD, name))
        return;
    if (is_library(L, name, value)) {
        note_unread(L, name);
        return;
    }
    push(L, &FETCHED);
    lua_isnil(L, value) ? lua_pushlightuserdata(L, (void *)&FETCHED) : lua_pushvalue(L, value);
    set(L, lua_gettop(L) - 1, name);
    lua_pop(L, 1);
}

// __index(globals, name)
static int fetch(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING)
        return 0;
    if (str_eq(lua_tostring(L, 2), LUA_GNAME)) {
        if (is_user(L))
            give_up(L);
        lua_settop(L, 1);
        return 1;
    }
    push(L, &SHELF);
    lua_pushvalue(L, 2);
    bool is = lua_rawget(L, 3) != LUA_TNIL; // 4: the value
    if (!is && parts_find(L, lua_tostring(L, 2))) {
        lua_pushvalue(L, 2);
        lua_rawget(L, 1);
        lua_replace(L, 4);
    }
    note_fetch(L, 2, 4);
    if (is) {
        lua_pushvalue(L, 4);
        set(L, 1, 2);
        lua_pushnil(L);
        set(L, 3, 2);
    }
    lua_settop(L, 4);
    return 1;
}

// __newindex(globals, name, value): of a name that is not there now.
static int drop_or_set(lua_State *L)
{
    bool named = lua_type(L, 2) == LUA_TSTRING;
    bool made = named && parts_find(L, lua_tostring(L, 2)); // from now on it is there
    if (lua_isnil(L, 3) && named) {
        push(L, &SHELF);
        lua_pushvalue(L, 2);
        if (lua_rawget(L, 4) != LUA_TNIL || made) {
            lua_pushnil(L);
            set(L, made ? 1 : 4, 2);
            note_unread(L, 2);
        }
        return 0;
    }
    lua_settop(L, 3);
    lua_rawset(L, 1);
    return 0;
}

// __pairs(globals): iterates over all of them.
static int each(lua_State *L)
{
    interp_of(L)->reads_unknown = true;
    parts_find_all(L);
    take_all_back(L);
    lua_getglobal(L, "next");
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

// math.random, which also notes that it was used. The upvalue is Lua's own function.
static int noting_random(lua_State *L)
{
    interp *in = interp_of(L);
    in->reads_random = true;
    return in->lua_random(L);
}

static void note_random(lua_State *L)
{
    lua_getglobal(L, LUA_MATHLIBNAME);
    lua_getfield(L, -1, "random");
    lua_CFunction random = lua_tocfunction(L, -1);
    if (random && lua_getupvalue(L, -1, 1)) {
        interp_of(L)->lua_random = random;
        lua_pushcclosure(L, noting_random, 1);
        lua_setfield(L, -3, "random");
    }
    lua_pop(L, 2);
}

// Stack: a table at an index. Pushes a copy of it.
static void push_copy(lua_State *L, int table)
{
    lua_newtable(L);
    int copy = lua_gettop(L);
    lua_pushnil(L);
    while (lua_next(L, table)) {
        set(L, copy, copy + 1);
    }
}

// Copies the library's tables, so that fields that a cell sets are noticed.
static void keep_fields(lua_State *L)
{
    int top = lua_gettop(L);
    put_table(L, &FIELDS);
    push(L, &FIELDS);
    push(L, &LIBRARY);
    lua_pushnil(L);
    while (lua_next(L, top + 2)) {
        if (lua_istable(L, top + 4)) {
            push_copy(L, top + 4);
            set(L, top + 1, top + 3);
        }
        lua_settop(L, top + 3);
    }
    lua_settop(L, top);
}

void reads_learn(lua_State *L)
{
    int value = lua_gettop(L), name = value - 1;
    push(L, &LIBRARY);
    lua_pushvalue(L, value);
    set(L, value + 1, name);
    if (lua_istable(L, value)) {
        push(L, &FIELDS);
        push_copy(L, value);
        set(L, value + 2, name);
    }
    lua_pushglobaltable(L);
    lua_pushvalue(L, value);
    set(L, lua_gettop(L) - 1, name);
    lua_settop(L, name - 1);
}

void reads_learn_field(lua_State *L)
{
    int value = lua_gettop(L), name = value - 2;
    push(L, &FIELDS);
    lua_pushvalue(L, name);
    if (lua_rawget(L, value + 1) == LUA_TTABLE) {
        lua_pushvalue(L, value);
        set(L, value + 2, value - 1);
    }
    lua_settop(L, name - 1);
}

void reads_open(lua_State *L)
{
    static const luaL_Reg meta[] = {
        {"__index", fetch}, {"__newindex", drop_or_set}, {"__pairs", each}, {0}};
    note_random(L);
    luaL_newlib(L, meta);
    lua_pushliteral(L, "the notebook's globals");
    lua_setfield(L, -2, "__metatable");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &META);
    put_table(L, &SHELF);
    put_table(L, &FETCHED);
    put_table(L, &UNREAD);
    put_table(L, &CONTENT);
    put_table(L, &LIBRARY);
    int top = lua_gettop(L);
    lua_pushglobaltable(L);
    push(L, &LIBRARY);
    lua_pushnil(L);
    while (lua_next(L, top + 1)) {
        set(L, top + 2, top + 3);
    }
    lua_pushnil(L);
    lua_setfield(L, top + 2, LUA_GNAME);
    lua_settop(L, top);
    keep_fields(L);
}

// Moves all globals to the shelf, from which they are fetched.
static void shelve(lua_State *L)
{
    int top = lua_gettop(L);
    lua_pushglobaltable(L);
    push(L, &SHELF);
    lua_pushnil(L);
    while (lua_next(L, top + 1)) {
        int name = top + 3;
        if (lua_type(L, name) == LUA_TSTRING) {
            if (!str_eq(lua_tostring(L, name), LUA_GNAME))
                set(L, top + 2, name);
            else
                lua_pop(L, 1);
            lua_pushnil(L);
            set(L, top + 1, name); // clearing a field during a traversal is allowed
        }
        lua_settop(L, name);
    }
    push(L, &META);
    lua_setmetatable(L, top + 1);
    lua_settop(L, top);
}

void reads_stop(lua_State *L)
{
    parts_find_all(L);
    take_all_back(L);
    take_meta_off(L);
}

void reads_begin(lua_State *L, bool whole)
{
    interp *in = interp_of(L);
    in->globals_known |= whole;
    in->reads_unknown = whole = in->globals_known;
    in->reads_random = false;
    put_table(L, &FETCHED);
    put_table(L, &UNREAD);
    if (whole)
        reads_stop(L);
    else if (has_own_metatable(L))
        in->reads_unknown = true;
    else
        shelve(L);
}

// The digest of the value on top, or "" if it has none or contains a secret.
static void digest(lua_State *L, mask *m, char out[SHA256_SHORT])
{
    int type = lua_type(L, -1);
    AUTO_BUF text = {0}, masked = {0};
    *out = '\0';
    size_t n = 0, most = type == LUA_TTABLE ? TABLE_MAX : TEXT_MAX;
    const char *words = type == LUA_TSTRING ? lua_tolstring(L, -1, &n) : "";
    if (n > most || !plainvalue_add(L, -1, most + SHA256_SHORT, &text))
        return;
    if (mask_text(m, words, n, &masked) || mask_text(m, text.data, text.len, &masked))
        return;
    sha256_short(text.data, text.len, out);
}

// Is the content of the table on top the same as when a cell last left it?
static bool is_as_left(lua_State *L, int name, const char *hex)
{
    int top = lua_gettop(L);
    push(L, &CONTENT);
    lua_pushvalue(L, name);
    bool same = *hex && lua_rawget(L, top + 1) == LUA_TSTRING && str_eq(lua_tostring(L, -1), hex);
    lua_settop(L, top);
    return same;
}

static bool was_left(lua_State *L, int name)
{
    int top = lua_gettop(L);
    push(L, &CONTENT);
    lua_pushvalue(L, name);
    bool known = lua_rawget(L, top + 1) == LUA_TSTRING;
    lua_settop(L, top);
    return known;
}

static void leave(lua_State *L, int name, const char *hex)
{
    push(L, &CONTENT);
    *hex ? (void)lua_pushstring(L, hex) : lua_pushnil(L);
    set(L, lua_gettop(L) - 1, name);
    lua_pop(L, 1);
}

static void add_name(cJSON *out, const char *list, const char *name)
{
    cJSON_AddItemToArray(json_array_at(out, list), cJSON_CreateString(name));
}

// Stack: name, value of a global that the cell has used. Notes whether its table was changed in
// place: not if the digest is the same; unknown if the content has no digest.
static void note(lua_State *L, int fetched, cJSON *out, mask *m)
{
    int name = lua_gettop(L) - 1;
    const char *text = lua_tostring(L, name);
    lua_pushvalue(L, name);
    lua_rawget(L, fetched);
    bool same = !lua_isnil(L, -1) && is_same(L, -1, name + 1);
    lua_pop(L, 1);
    int type = lua_type(L, name + 1);
    if (same && type != LUA_TTABLE && type != LUA_TUSERDATA)
        return;
    char hex[SHA256_SHORT] = "";
    if (!secret_name(text)) // a short secret could be guessed
        digest(L, m, hex);
    if (same && is_as_left(L, name, hex))
        return;
    if (same && (!*hex || !was_left(L, name)))
        add_name(out, "touched", text);
    else
        json_set_str(json_object_at(out, "writes"), text, hex);
    leave(L, name, type == LUA_TTABLE ? hex : "");
}

// Notes fields of a table that another one lacks, or has with other values: "string.trim". true:
// there are some.
static bool note_others(lua_State *L, int name, int table, int other, cJSON *out)
{
    int top = lua_gettop(L);
    bool any = false;
    lua_pushnil(L);
    while (lua_next(L, table)) {
        lua_pushvalue(L, top + 1);
        lua_rawget(L, other);
        if (lua_type(L, top + 1) == LUA_TSTRING && !is_same(L, top + 2, top + 3)) {
            any = true;
            lua_pushfstring(L, "%s.%s", lua_tostring(L, name), lua_tostring(L, top + 1));
            json_set_str(json_object_at(out, "writes"), lua_tostring(L, -1), "");
        }
        lua_settop(L, top + 1);
    }
    return any;
}

// Stack: name, value. A table of the library: notes which of its fields the cell has set.
static void note_fields(lua_State *L, cJSON *out)
{
    int name = lua_gettop(L) - 1, table = name + 1;
    if (!lua_istable(L, table))
        return;
    push(L, &FIELDS);
    lua_pushvalue(L, name);
    lua_rawget(L, table + 1);
    bool set_some = note_others(L, name, table, table + 2, out);
    if (note_others(L, name, table + 2, table, out) || set_some) {
        push_copy(L, table);
        set(L, table + 1, name);
    }
    lua_settop(L, table);
}

// May the cell have got a table of the library without naming it? Through one of these functions,
// or through a global that may contain it: any value but a plain one.
static bool had_others(lua_State *L)
{
    static const char *const ways[] = {"getmetatable", "require", "package", "debug"};
    int top = lua_gettop(L);
    bool had = false;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && !had; i++) {
        lua_pushstring(L, ways[i]);
        had = has_name(L, &UNREAD, top + 1);
        lua_settop(L, top);
    }
    push(L, &FETCHED);
    lua_pushnil(L);
    while (!had && lua_next(L, top + 1)) {
        int type = lua_type(L, top + 3);
        had = type == LUA_TTABLE || type == LUA_TFUNCTION || type == LUA_TUSERDATA ||
              type == LUA_TTHREAD;
        lua_settop(L, top + 2);
    }
    lua_settop(L, top);
    return had;
}

static void note_all_fields(lua_State *L, cJSON *out)
{
    int top = lua_gettop(L);
    push(L, &LIBRARY);
    lua_pushnil(L);
    while (lua_next(L, top + 1)) {
        note_fields(L, out);
        lua_settop(L, top + 2);
    }
    lua_settop(L, top);
}

// From now on the name is the notebook's.
static void take_from_library(lua_State *L, int name)
{
    push(L, &LIBRARY);
    lua_pushnil(L);
    set(L, lua_gettop(L) - 1, name);
    lua_pop(L, 1);
}

static void note_present(lua_State *L, cJSON *out, mask *m)
{
    int top = lua_gettop(L);
    lua_pushglobaltable(L);
    push(L, &FETCHED);
    lua_pushnil(L);
    while (lua_next(L, top + 1)) {
        int name = top + 3;
        bool is_name = lua_type(L, name) == LUA_TSTRING;
        bool ours = is_name && is_library(L, name, name + 1);
        if (ours)
            note_fields(L, out);
        if (is_name && !ours && !str_eq(lua_tostring(L, name), LUA_GNAME)) {
            note(L, top + 2, out, m);
            take_from_library(L, name);
        }
        lua_settop(L, name);
    }
    lua_settop(L, top);
}

// A name that had a value and has none now was set to nil.
static void note_gone(lua_State *L, int name, cJSON *out)
{
    int top = lua_gettop(L);
    lua_pushglobaltable(L);
    lua_pushvalue(L, name);
    if (lua_rawget(L, top + 1) == LUA_TNIL) {
        json_set_str(json_object_at(out, "writes"), lua_tostring(L, name), "");
        take_from_library(L, name);
    }
    lua_settop(L, top);
}

// Globals that were fetched count as read.
static void note_used(lua_State *L, cJSON *out)
{
    int top = lua_gettop(L), name = top + 2;
    push(L, &FETCHED);
    lua_pushnil(L);
    while (lua_next(L, top + 1)) {
        add_name(out, "reads", lua_tostring(L, name));
        if (lua_touserdata(L, name + 1) != &FETCHED)
            note_gone(L, name, out);
        lua_settop(L, name);
    }
    lua_settop(L, top);
    push(L, &UNREAD);
    lua_pushnil(L);
    while (lua_next(L, top + 1)) {
        note_gone(L, name, out);
        lua_settop(L, name);
    }
    lua_settop(L, top);
}

cJSON *reads_end(lua_State *L, mask *m)
{
    interp *in = interp_of(L);
    cJSON_Delete(in->held);
    cJSON *out = in->held = cJSON_CreateObject(); // freed later if Lua has no memory
    if (!in->reads_unknown) {
        if (had_others(L))
            note_all_fields(L, out);
        note_present(L, out, m);
        note_used(L, out);
    }
    if (in->reads_unknown) {
        json_set_bool(out, "unknown", true);
        keep_fields(L);
    } else {
        shelve(L);
    }
    if (in->reads_random)
        json_set_bool(out, "random", true);
    in->held = NULL;
    return out;
}
