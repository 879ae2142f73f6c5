// SPDX-License-Identifier: MIT
#include "script/kernel/cells/filecheck.h"

#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "base/yaml.h"

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

// The cell's line for line `n` of the text; 0: a template has moved it.
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

// Splits "not JSON: line 3, column 7: …": returns the line; *why is the rest.
static int take_line(const char **why)
{
    int line = 0, column, length = 0;
    *why += str_starts(*why, "not JSON: ") ? strlen("not JSON: ") : 0;
    if (sscanf(*why, "line %d, column %d: %n", &line, &column, &length) != 2 || length == 0)
        return 0;
    *why += length;
    return line;
}

// YAML with other tools' tags (!Ref) is well-formed, although we cannot read it.
static bool parses(const char *path, const char *text, size_t n, err *e)
{
    bool json = str_ends(path, ".json");
    AUTO_JSON *tree = json ? json_parse(text, n, e) : yaml_parse(text, n, e);
    return tree || (!json && strstr(e->text, "the tag !"));
}

// No cleanup variable is live when the error is raised.
static void check_data(lua_State *L, execution *x, const char *path, const char *text, size_t n)
{
    err e = {0};
    if (parses(path, text, n, &e))
        return;
    const char *why = e.text;
    int line = take_line(&why);
    int here = line ? cell_line(x, text, line) : 0;
    fail(L, x, path, here, here ? why : e.text);
}

void filecheck(lua_State *L, execution *x, const char *path, int index)
{
    size_t n;
    const char *text = lua_tolstring(L, index, &n);
    if (!path)
        return;
    if (str_ends(path, ".lua"))
        check_lua(L, x, path, text, n);
    else if (strstr(text, "{{"))
        return;
    else if (str_ends(path, ".json") || str_ends(path, ".yaml") || str_ends(path, ".yml"))
        check_data(L, x, path, text, n);
}
