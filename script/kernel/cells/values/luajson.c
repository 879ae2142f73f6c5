// SPDX-License-Identifier: MIT
#include "script/kernel/cells/values/luajson.h"

#include "base/str.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 200, PATH_MAX_LEN = 200 };
#define NAMED "json.array marks it as a list, and it has other keys than 1, 2, …"
#define HOLES "it is a list with holes; write json.null where it has nothing, or texts as keys"
static const char array_mark[] = "firesteel.array"; // its address is also the key in the registry

// The place in the value, for messages: "args.spec[2]".
struct walk {
    lua_State *L;
    char path[PATH_MAX_LEN];
    int depth;
    const void *inside[DEPTH_MAX]; // the tables around the value
    bool strict;
    err *e;
};

static cJSON *refuse(struct walk *w, const char *why)
{
    err_set(w->e, ERR_USAGE, "%s: %s", w->path[0] ? w->path : "the value", why);
    return NULL;
}

static cJSON *read_value(struct walk *w, int index);

// cJSON and the journal hold only text, but Lua's strings are bytes. The error names the string
// that is not text.
static bool is_text(const char *s, size_t n)
{
    return utf8_valid(s, n) && strlen(s) == n;
}

void luajson_mark_array(lua_State *L)
{
    if (luaL_newmetatable(L, array_mark)) {
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, array_mark);
    }
    lua_setmetatable(L, -2);
}

bool luajson_is_array(lua_State *L, int index)
{
    if (!lua_getmetatable(L, index))
        return false;
    lua_rawgetp(L, LUA_REGISTRYINDEX, array_mark); // by address: a name as key might need memory
    bool same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return same;
}

bool luajson_is_rows(lua_State *L, int index)
{
    if (!lua_getmetatable(L, index))
        return false;
    lua_pushliteral(L, "__name");
    bool rows = lua_rawget(L, -2) == LUA_TSTRING && str_eq(lua_tostring(L, -1), "rows");
    lua_pop(L, 2);
    return rows;
}

// An array has exactly the keys 1..n. An empty table is an object unless it is marked as an array.
// A table with integer keys from 1 on, but gaps, has holes. A table that is marked as an array and
// has other keys is an error that names it.
enum shape { SHAPE_OBJECT, SHAPE_ARRAY, SHAPE_HOLES, SHAPE_NAMED };

static bool has_keys(lua_State *L, int index)
{
    lua_pushnil(L);
    bool any = lua_next(L, index);
    lua_pop(L, any ? 2 : 0);
    return any;
}

static enum shape shape_of(lua_State *L, int index, lua_Integer *n)
{
    *n = (lua_Integer)lua_rawlen(L, index);
    bool marked = luajson_is_array(L, index);
    if (*n == 0 && marked && has_keys(L, index))
        return SHAPE_NAMED;
    if (*n == 0)
        return marked || luajson_is_rows(L, index) ? SHAPE_ARRAY : SHAPE_OBJECT;
    lua_Integer keys = 0;
    bool positive = true;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        if (!lua_isinteger(L, -2)) {
            lua_pop(L, 2);
            return marked ? SHAPE_NAMED : SHAPE_OBJECT;
        }
        positive = positive && lua_tointeger(L, -2) > 0;
        keys++;
    }
    return keys == *n ? SHAPE_ARRAY : positive ? SHAPE_HOLES : SHAPE_OBJECT;
}

static cJSON *read_array(struct walk *w, int index, lua_Integer n)
{
    cJSON *array = cJSON_CreateArray();
    size_t length = strlen(w->path);
    for (lua_Integer i = 1; i <= n; i++) {
        snprintf(w->path + length, sizeof w->path - length, "[%lld]", (long long)i);
        lua_rawgeti(w->L, index, i);
        cJSON *item = read_value(w, lua_gettop(w->L));
        lua_pop(w->L, 1);
        if (!item) {
            cJSON_Delete(array);
            return NULL;
        }
        cJSON_AddItemToArray(array, item);
    }
    w->path[length] = '\0';
    return array;
}

// The text of a key; NULL: it cannot be a key of an object. The key is copied: lua_tolstring would
// change it in place, which confuses lua_next.
static const char *key_text(lua_State *L, int at, char *number, size_t size, size_t *n)
{
    if (lua_type(L, at) == LUA_TSTRING)
        return lua_tolstring(L, at, n);
    if (!lua_isinteger(L, at))
        return NULL;
    *n = (size_t)snprintf(number, size, "%lld", (long long)lua_tointeger(L, at));
    return number;
}

static cJSON *refuse_key(struct walk *w, int at)
{
    char text[96];
    if (lua_type(w->L, at) == LUA_TNUMBER)
        snprintf(text, sizeof text, "the key %.14g must be a string", lua_tonumber(w->L, at));
    else
        snprintf(text, sizeof text, "a key must be a string, not a %s", luaL_typename(w->L, at));
    return refuse(w, text);
}

// Stack: … the table, key, value. The member's value; `key` is its key, or NULL if that is not
// text.
static cJSON *read_member(struct walk *w, int index, const char *key, size_t n)
{
    lua_State *L = w->L;
    if (!key)
        return refuse_key(w, -2);
    if (!is_text(key, n))
        return refuse(w, "a key is not UTF-8 text");
    if (lua_isinteger(L, -2)) { // the same key may also be there as a string
        lua_pushlstring(L, key, n);
        bool twice = lua_rawget(L, index) != LUA_TNIL;
        lua_pop(L, 1);
        if (twice)
            return refuse(w, "the key is there twice, as a number and as a string");
    }
    return read_value(w, lua_gettop(L));
}

// The path of a member, for errors.
static void enter(struct walk *w, size_t length, const char *key)
{
    size_t room = sizeof w->path - length;
    if (length && room > 2 * sizeof STR_CUT)
        w->path[length++] = '.';
    if (room > 2 * sizeof STR_CUT)
        str_fit(w->path + length, sizeof w->path - length, key);
}

// Sorts: the keys come in Lua's order, which differs each time.
static cJSON *read_object(struct walk *w, int index)
{
    lua_State *L = w->L;
    cJSON *object = cJSON_CreateObject();
    size_t length = strlen(w->path);
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        char number[32];
        size_t n = 0;
        const char *key = key_text(L, -2, number, sizeof number, &n);
        if (key)
            enter(w, length, key);
        cJSON *item = read_member(w, index, key, n);
        if (!item) {
            lua_pop(L, 2);
            cJSON_Delete(object);
            return NULL;
        }
        cJSON_AddItemToObject(object, key, item);
        w->path[length] = '\0';
    }
    return object;
}

static cJSON *read_table(struct walk *w, int index)
{
    const void *self = lua_topointer(w->L, index);
    for (int i = 0; i < w->depth; i++)
        if (w->inside[i] == self)
            return refuse(w, "it contains itself");
    if (w->depth == DEPTH_MAX || !lua_checkstack(w->L, 6))
        return refuse(w, "it is nested too deeply");
    w->inside[w->depth++] = self;
    lua_Integer n;
    enum shape shape = shape_of(w->L, index, &n);
    cJSON *table = shape == SHAPE_ARRAY                ? read_array(w, index, n)
                   : shape == SHAPE_HOLES && w->strict ? refuse(w, HOLES)
                   : shape == SHAPE_NAMED && w->strict ? refuse(w, NAMED)
                   : shape == SHAPE_NAMED && n == 0    ? cJSON_CreateArray()
                                                       : read_object(w, index);
    w->depth--;
    return table;
}

static cJSON *read_number(struct walk *w, int index)
{
    if (lua_isinteger(w->L, index))
        return json_new_int(lua_tointeger(w->L, index));
    double number = lua_tonumber(w->L, index);
    return isfinite(number) ? cJSON_CreateNumber(number)
                            : refuse(w, "JSON has no NaN and no infinity");
}

static cJSON *read_string(struct walk *w, int index)
{
    size_t n;
    const char *s = lua_tolstring(w->L, index, &n);
    if (!is_text(s, n))
        return refuse(w, "it is not UTF-8 text");
    return cJSON_CreateString(s);
}

static cJSON *read_value(struct walk *w, int index)
{
    switch (lua_type(w->L, index)) {
    case LUA_TNIL:
        return cJSON_CreateNull();
    case LUA_TBOOLEAN:
        return cJSON_CreateBool(lua_toboolean(w->L, index));
    case LUA_TNUMBER:
        return read_number(w, index);
    case LUA_TSTRING:
        return read_string(w, index);
    case LUA_TTABLE:
        return read_table(w, index);
    case LUA_TLIGHTUSERDATA:
        if (!lua_touserdata(w->L, index))
            return cJSON_CreateNull();
        break;
    }
    char why[64];
    snprintf(why, sizeof why, "a %s is not JSON", luaL_typename(w->L, index));
    return refuse(w, why);
}

cJSON *luajson_read(lua_State *L, int index, err *e)
{
    struct walk w = {.L = L, .e = e};
    return read_value(&w, lua_absindex(L, index));
}

cJSON *luajson_read_strict(lua_State *L, int index, err *e)
{
    struct walk w = {.L = L, .strict = true, .e = e};
    return read_value(&w, lua_absindex(L, index));
}

static void push_value(lua_State *L, const cJSON *j, bool nulls);

static void push_nested(lua_State *L, const cJSON *j, bool nulls)
{
    if (cJSON_IsNull(j))
        lua_pushlightuserdata(L, NULL);
    else
        push_value(L, j, nulls);
}

static void push_array(lua_State *L, const cJSON *j, bool nulls)
{
    lua_newtable(L);
    lua_Integer n = 0;
    for (const cJSON *item = j->child; item; item = item->next) {
        push_nested(L, item, nulls);
        lua_rawseti(L, -2, ++n);
    }
    luajson_mark_array(L);
}

static void push_object(lua_State *L, const cJSON *j, bool nulls)
{
    lua_newtable(L);
    for (const cJSON *item = j->child; item; item = item->next) {
        if (cJSON_IsNull(item) && !nulls)
            continue;
        push_nested(L, item, nulls);
        lua_setfield(L, -2, item->string);
    }
}

static void push_value(lua_State *L, const cJSON *j, bool nulls)
{
    int64_t integer;
    luaL_checkstack(L, 6, "JSON is nested too deeply");
    if (!j || cJSON_IsNull(j))
        lua_pushnil(L);
    else if (cJSON_IsBool(j))
        lua_pushboolean(L, cJSON_IsTrue(j));
    else if (json_int(j, &integer))
        lua_pushinteger(L, integer);
    else if (cJSON_IsNumber(j))
        lua_pushnumber(L, j->valuedouble);
    else if (cJSON_IsRaw(j)) // an integer of more than 64 bits: read it as Lua reads such a number
        lua_pushnumber(L, strtod(j->valuestring, NULL));
    else if (cJSON_IsString(j))
        lua_pushstring(L, j->valuestring);
    else if (cJSON_IsArray(j))
        push_array(L, j, nulls);
    else
        push_object(L, j, nulls);
}

void luajson_push(lua_State *L, const cJSON *j)
{
    push_value(L, j, false);
}

void luajson_push_whole(lua_State *L, const cJSON *j)
{
    push_value(L, j, true);
}

static int free_box(lua_State *L)
{
    free(*(char **)lua_touserdata(L, 1));
    return 0;
}

char **luajson_box(lua_State *L)
{
    char **box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = NULL;
    if (luaL_newmetatable(L, "firesteel.box")) {
        lua_pushcfunction(L, free_box);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return box;
}
