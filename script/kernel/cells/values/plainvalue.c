// SPDX-License-Identifier: MIT
#include "script/kernel/cells/values/plainvalue.h"

#include "base/json/secret.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/cells/values/luajson.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MOST = 16, SLOTS = 4 };

// A table's fields are texts one after another, until they are sorted.
struct field {
    size_t at, n;
    const buf *all;
};

static int by_text(const void *a, const void *b)
{
    const struct field *x = a, *y = b;
    int order = memcmp(x->all->data + x->at, y->all->data + y->at, x->n < y->n ? x->n : y->n);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

static bool add_value(lua_State *L, int index, size_t most, int depth, buf *out);

// A field whose name is a secret's gets no text: a short secret could be guessed from a digest.
static bool is_secret(lua_State *L, int key)
{
    return lua_type(L, key) == LUA_TSTRING && secret_name(lua_tostring(L, key));
}

static bool add_fields(
    lua_State *L, size_t most, int depth, buf *all, struct field **fields, size_t *n)
{
    int table = lua_gettop(L);
    lua_pushnil(L);
    while (lua_next(L, table)) {
        size_t at = all->len;
        bool plain = lua_type(L, -2) != LUA_TTABLE && !is_secret(L, -2) &&
                     add_value(L, lua_gettop(L) - 1, most, depth, all) &&
                     add_value(L, lua_gettop(L), most, depth, all);
        lua_pop(L, 1);
        if (!plain) {
            lua_pop(L, 1);
            return false;
        }
        if (*n % 64 == 0)
            *fields = mem_resize(*fields, *n + 64, sizeof **fields);
        (*fields)[(*n)++] = (struct field){at, all->len - at, all};
    }
    return true;
}

// Is the metatable on top that of a result that consists of its fields alone? A handle of a
// cluster's object is not one: the object changes by itself.
static bool is_result(lua_State *L)
{
    static const char *const names[] = {"shell result", "image", "answer"};
    lua_pushliteral(L, "__name");
    const char *name = lua_rawget(L, -2) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        known |= str_eq(name, names[i]);
    lua_pop(L, 1);
    return known;
}

// Stack: table, its metatable. For rows of csv.decode: adds the names of the columns, which are in
// the metatable.
static bool add_columns(lua_State *L, size_t most, int depth, buf *out)
{
    if (!luajson_is_rows(L, -2))
        return false;
    lua_pushliteral(L, "__index");
    bool plain = lua_rawget(L, -2) == LUA_TTABLE && add_value(L, lua_gettop(L), most, depth, out);
    lua_pop(L, 1);
    return plain;
}

static bool add_table(lua_State *L, size_t most, int depth, buf *out)
{
    AUTO_BUF all = {0};
    AUTO_FREE struct field *fields = NULL;
    size_t n = 0;
    if (depth == DEPTH_MOST || !lua_checkstack(L, SLOTS))
        return false;
    if (lua_getmetatable(L, -1)) {
        bool known = is_result(L) || add_columns(L, most, depth + 1, out);
        lua_pop(L, 1);
        if (!known)
            return false;
    }
    if (!add_fields(L, most, depth + 1, &all, &fields, &n))
        return false;
    if (n)
        qsort(fields, n, sizeof *fields, by_text);
    buf_str(out, "{");
    for (size_t i = 0; i < n; i++)
        buf_add(out, all.data + fields[i].at, fields[i].n);
    buf_str(out, "}");
    return true;
}

static bool add_value(lua_State *L, int index, size_t most, int depth, buf *out)
{
    size_t n;
    const char *text;
    bool plain = true;
    switch (lua_type(L, index)) {
    case LUA_TBOOLEAN:
        buf_str(out, lua_toboolean(L, index) ? "t" : "f");
        break;
    case LUA_TNUMBER:
        if (lua_isinteger(L, index))
            buf_fmt(out, "i%lld ", (long long)lua_tointeger(L, index));
        else
            buf_fmt(out, "d%.17g ", lua_tonumber(L, index));
        break;
    case LUA_TSTRING:
        text = lua_tolstring(L, index, &n);
        buf_fmt(out, "s%zu:", n);
        if (n <= most)
            buf_add(out, text, n);
        plain = n <= most;
        break;
    case LUA_TTABLE:
        lua_pushvalue(L, index);
        plain = add_table(L, most, depth, out);
        lua_pop(L, 1);
        break;
    default:
        plain = false;
    }
    return plain && out->len <= most;
}

bool plainvalue_add(lua_State *L, int index, size_t most, buf *out)
{
    return lua_checkstack(L, SLOTS) && add_value(L, lua_absindex(L, index), most, 0, out);
}
