// SPDX-License-Identifier: MIT
// No value that must be freed is live across a call that raises: texts are in boxes, and
// interp_push_json takes trees.
#include "script/kernel/cells/core/formats.h"

#include "base/clock.h"
#include "base/json/csvtext.h"
#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/cells/state.h"
#include "script/kernel/cells/values/luajson.h"
#include "script/kernel/cells/values/template.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

// Finds integers that do not fit into Lua's 64 bits, anywhere in the tree: turns them into texts of
// their digits, or returns the first one.
static const char *big_integers(cJSON *j, bool to_texts)
{
    const char *found = NULL;
    for (; j && !found; j = j->next) {
        int64_t value;
        if (!cJSON_IsRaw(j))
            found = big_integers(j->child, to_texts);
        else if (!str_to_int(j->valuestring, &value) && to_texts)
            j->type = cJSON_String | (j->type & ~0xFF);
        else if (!str_to_int(j->valuestring, &value))
            found = j->valuestring;
    }
    return found;
}

// Pushes a parsed tree, and takes it; NULL: raises.
static int push_read(lua_State *L, cJSON *tree, bool to_texts, bool nulls)
{
    interp *in = interp_of(L);
    const char *big = big_integers(tree, to_texts);
    if (big) {
        err_set(&in->raised, ERR_INVALID,
            "the integer %s does not fit into 64 bits; with big = \"string\", or in quotes, it "
            "keeps its digits",
            str_short(big, 40).text);
        cJSON_Delete(STEAL(tree));
    }
    if (!tree)
        return interp_raise(L, FAILURE_ERROR);
    return nulls ? interp_push_whole(L, tree) : interp_push_json(L, tree);
}

// parse(text, big_to_text, nulls) → the value of JSON.
static int format_parse(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    bool to_texts = lua_toboolean(L, 2);
    return push_read(L, json_parse(text, n, &interp_of(L)->raised), to_texts, lua_toboolean(L, 3));
}

// json(value, indent) → text with sorted keys, so that equal values give equal files.
static int format_json(lua_State *L)
{
    interp *in = interp_of(L);
    luaL_checkany(L, 1);
    int indent = (int)luaL_optinteger(L, 2, 0);
    char **text = luajson_box(L);
    cJSON *tree = luajson_read_strict(L, 1, &in->raised);
    if (!tree)
        return interp_raise(L, FAILURE_ERROR);
    buf out = {0};
    json_print_canonical(&out, tree);
    if (indent > 0) {
        err e = {0};
        cJSON *sorted = json_parse(out.data, out.len, &e);
        buf_clear(&out);
        json_print_pretty(&out, sorted, indent);
        cJSON_Delete(sorted);
    }
    cJSON_Delete(tree);
    *text = mem_strdup(buf_cstr(&out));
    buf_done(&out);
    lua_pushstring(L, *text);
    return 1;
}

// parse_yaml(text, big_to_text, nulls) → a list of its documents.
static int format_parse_yaml(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    bool to_texts = lua_toboolean(L, 2);
    return push_read(L, yaml_parse(text, n, &interp_of(L)->raised), to_texts, lua_toboolean(L, 3));
}

static int format_yaml(lua_State *L)
{
    interp *in = interp_of(L);
    luaL_checkany(L, 1);
    char **text = luajson_box(L);
    cJSON *tree = luajson_read_strict(L, 1, &in->raised);
    if (!tree)
        return interp_raise(L, FAILURE_ERROR);
    buf out = {0};
    yaml_print(&out, tree);
    cJSON_Delete(tree);
    *text = mem_strdup(buf_cstr(&out));
    buf_done(&out);
    lua_pushstring(L, *text);
    return 1;
}

// parse_csv(text, separator) → a list of lists of texts.
static int format_parse_csv(lua_State *L)
{
    interp *in = interp_of(L);
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n), *separator = luaL_checkstring(L, 2);
    cJSON *rows = csvtext_parse(text, n, *separator, &in->raised);
    return rows ? interp_push_json(L, rows) : interp_raise(L, FAILURE_ERROR);
}

// csv_field(text, separator) → the text as a field of a CSV line.
static int format_csv_field(lua_State *L)
{
    size_t n;
    const char *field = luaL_checklstring(L, 1, &n), *separator = luaL_checkstring(L, 2);
    char **text = luajson_box(L);
    buf out = {0};
    csvtext_print_field(&out, field, n, *separator);
    *text = mem_strdup(buf_cstr(&out));
    buf_done(&out);
    lua_pushstring(L, *text);
    return 1;
}

// base64(bytes)
static int format_base64(lua_State *L)
{
    size_t n;
    const char *bytes = luaL_checklstring(L, 1, &n);
    char **text = luajson_box(L);
    buf out = {0};
    base64_encode(&out, bytes, n);
    *text = mem_strdup(buf_cstr(&out));
    buf_done(&out);
    lua_pushstring(L, *text);
    return 1;
}

// fill(text, values, name) → the text of a template, filled in as a template cell is. Its
// expressions see `values`, then the globals. Errors name the template's line.
static int format_fill(lua_State *L)
{
    const char *text = luaL_checkstring(L, 1), *name = luaL_checkstring(L, 3);
    luaL_checktype(L, 2, LUA_TTABLE);
    template_fill_with(L, text, 2, name);
    return 1;
}

// wall() → seconds since 1970.
static int format_wall(lua_State *L)
{
    lua_pushnumber(L, (double)clock_wall() / CLOCK_SEC);
    return 1;
}

// iso(seconds) → "2026-01-02T03:04:05Z", with microseconds when there are any.
static int format_iso(lua_State *L)
{
    int64_t ns = clock_of_seconds(luaL_checknumber(L, 1)); // formats.lua has checked the bounds
    char **text = luajson_box(L);
    buf out = {0};
    int64_t micros = (ns + (ns < 0 ? -500 : 500)) / 1000;
    clock_rfc3339(&out, micros * 1000, micros % 1000000 ? CLOCK_MICROS : CLOCK_SECONDS);
    *text = mem_strdup(buf_cstr(&out));
    buf_done(&out);
    lua_pushstring(L, *text);
    return 1;
}

// parse_time(text) → seconds since 1970, of RFC 3339.
static int format_parse_time(lua_State *L)
{
    interp *in = interp_of(L);
    int64_t ns;
    if (clock_parse_rfc3339(luaL_checkstring(L, 1), &ns, &in->raised) < 0)
        return interp_raise(L, FAILURE_ERROR);
    lua_pushnumber(L, (double)ns / CLOCK_SEC);
    return 1;
}

// span(seconds) → "1m30s".
static int format_span(lua_State *L)
{
    int64_t ns = clock_of_seconds(luaL_checknumber(L, 1));
    char **text = luajson_box(L);
    buf out = {0};
    duration_format(&out, ns);
    *text = mem_strdup(buf_cstr(&out));
    buf_done(&out);
    lua_pushstring(L, *text);
    return 1;
}

const luaL_Reg formats_functions[] = {
    {"parse", format_parse},
    {"json", format_json},
    {"parse_yaml", format_parse_yaml},
    {"yaml", format_yaml},
    {"parse_csv", format_parse_csv},
    {"csv_field", format_csv_field},
    {"base64", format_base64},
    {"fill", format_fill},
    {"wall", format_wall},
    {"iso", format_iso},
    {"parse_time", format_parse_time},
    {"span", format_span},
    {0},
};
