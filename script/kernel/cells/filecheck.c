// SPDX-License-Identifier: MIT
#include "script/kernel/cells/filecheck.h"

#include "base/json/json.h"
#include "base/json/yaml.h"
#include "base/os/path.h"
#include "base/str.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int count_lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

// The cell's line for line `n` of the text; 0: unknown, as a template has moved the lines.
static int cell_line(const execution *x, const char *text, int n)
{
    bool moved = x->plan.kind == PLAN_TEMPLATE && count_lines(text) != count_lines(x->plan.text);
    int last = count_lines(x->plan.text); // a fault at the end is reported one line behind it
    return moved ? 0 : (n > last && last ? last : n) + x->plan.skipped;
}

static void fail(lua_State *L, execution *x, const char *path, int line, const char *why)
{
    x->failure = FAILURE_SYNTAX;
    if (line > 0)
        lua_pushfstring(L, "%s:%d: %s: %s", x->chunk, line, path, why);
    else
        lua_pushfstring(L, "%s: %s", path, why);
    lua_error(L);
}

int filecheck_load(lua_State *L, const char *text, size_t n, const char *chunk)
{
    size_t skipped = *text == '#' ? strcspn(text, "\n") : 0;
    return luaL_loadbufferx(L, text + skipped, n - skipped, chunk, "t");
}

static void check_lua(lua_State *L, execution *x, const char *path, const char *text, size_t n)
{
    if (filecheck_load(L, text, n, "=file") == LUA_OK) {
        lua_pop(L, 1);
        return;
    }
    const char *why = lua_tostring(L, -1);
    int line = 0, length = 0;
    if (sscanf(why, "file:%d: %n", &line, &length) != 1)
        length = 0;
    fail(L, x, path, cell_line(x, text, line), why + length);
}

static bool is_json(const char *path)
{
    return str_ends(path, ".json");
}

static bool is_yaml(const char *path)
{
    return str_ends(path, ".yaml") || str_ends(path, ".yml");
}

// Cuts "line 3, " off the message and returns the line; 0 if the message has none.
static int take_line(err *e)
{
    ERR_GUARD(e);
    const char *why = e->text;
    why += str_starts(why, "not JSON: ") ? strlen("not JSON: ") : 0;
    int line = 0, length = 0;
    if (sscanf(why, "line %d, %n", &line, &length) != 1 || !length)
        return 0;
    err whole = *e;
    err_set(e, whole.code, "%s", whole.text + (why - e->text) + length);
    return line;
}

int filecheck_data(const char *path, const char *text, size_t n, int *line, err *e)
{
    ERR_GUARD(e);
    *line = 0;
    if (strstr(text, "{{") || !(is_json(path) || is_yaml(path)))
        return 0;
    AUTO_JSON *tree = is_json(path) ? json_parse(text, n, e) : yaml_parse(text, n, e);
    // YAML with other tools' tags (!Ref) is well-formed, although we cannot read it
    if (tree || (is_yaml(path) && strstr(e->text, "the tag !")))
        return 0;
    *line = take_line(e);
    return -1;
}

// No cleanup variable is live when the error is raised.
static void check_data(lua_State *L, execution *x, const char *path, const char *text, size_t n)
{
    err e = {0};
    int line;
    if (filecheck_data(path, text, n, &line, &e) == 0)
        return;
    int here = line ? cell_line(x, text, line) : 0;
    if (line && !here) {
        err why = e;
        err_set(&e, why.code, "line %d, %s", line, why.text);
    }
    fail(L, x, path, here, e.text);
}

void filecheck(lua_State *L, execution *x, const char *path, int index)
{
    size_t n;
    const char *text = lua_tolstring(L, index, &n);
    if (!path)
        return;
    if (str_ends(path, ".lua"))
        check_lua(L, x, path, text, n);
    else
        check_data(L, x, path, text, n);
}
