// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "script/api/sources.h"
#include "script/kernel/cells/values/lastvalue.h"
#include "script/kernel/cells/values/luajson.h"
#include "script/kernel/cells/values/plainvalue.h"
#include "script/kernel/cells/values/template.h"
#include "tests/support/tap.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>

static lua_State *fresh(void)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    return L;
}

static int call(lua_State *L)
{
    return lastvalue_call(L);
}

// The values of a cell's last expression as text; "(nothing)" for nil; the message if it does not
// compile.
static char *value(const char *source, int skipped)
{
    lua_State *L = fresh();
    lua_pushcfunction(L, call);
    if (lastvalue_load(L, source, skipped, "=cell") == LUA_OK)
        lua_pcall(L, 1, LUA_MULTRET, 0);
    else
        lua_remove(L, -2);
    AUTO_BUF text = {0};
    int n = lua_gettop(L);
    for (int i = 1; i <= n; i++)
        buf_fmt(&text, "%s%s", i > 1 ? ", " : "", luaL_tolstring(L, i, NULL));
    lua_close(L);
    return str_eq(buf_cstr(&text), "nil") || !n ? mem_strdup("(nothing)") : buf_take(&text);
}

static void check_value(const char *source, const char *want)
{
    AUTO_FREE char *got = value(source, 0);
    CHECK_STR(got, want);
}

TEST(last_expressions)
{
    check_value("1 + 2", "3");
    check_value("x = 4\nx", "4");
    check_value("x = 4\n\n\nx * 2 -- a comment\n\n-- another\n", "8");
    check_value("tostring(5)", "5");
    check_value("local t = {1,\n2}\n#t", "2");
    check_value("(\"a\"):rep(3)", "aaa");
    check_value("local s = \"a\"\ns:rep(\n  2\n)", "aa");
    check_value("not true", "false");
    check_value(
        "function f() return 6 end f()", "(nothing)"); // one line, one statement after another
    check_value("", "(nothing)");
    check_value("-- only a comment", "(nothing)");
}

TEST(several_last_values)
{
    check_value("1, \"two\", nil, 4", "1, two, nil, 4");
    check_value("x = 1\nx,\n  x + 1", "1, 2");
    check_value("(\"aa\"):gsub(\"a\", \"b\")", "bb, 2");
    check_value("nil, \"why\"", "nil, why");
    check_value("5, nil", "5");
    check_value("return 1, 2;", "1, 2");
    check_value("x = 3\n  return x -- the end\n", "3");
    check_value("return", "(nothing)");
    check_value("returns = 4\nreturns", "4");
    check_value("if x then return 1 end\nreturn 2", "2");
    check_value("if not x then return 1, 3 end\nreturn 2", "1, 3");
}

static int ask_shown(lua_State *L)
{
    bool is = lastvalue_is_shown(L, 1);
    lua_pushstring(L, is ? "shown" : "kept");
    return 1;
}

// What f() sees: is its value only shown?
static void check_shown(const char *source, const char *want)
{
    lua_State *L = fresh();
    lua_register(L, "f", ask_shown);
    CHECK(!luaL_dostring(L, "t = {f = f}"));
    lua_pushcfunction(L, call);
    CHECK_INT(lastvalue_load(L, source, 0, "=cell"), LUA_OK);
    CHECK_INT(lua_pcall(L, 1, LUA_MULTRET, 0), LUA_OK);
    CHECK(lua_gettop(L) > 0);
    AUTO_FREE char *got = mem_strdup(luaL_tolstring(L, -1, NULL));
    lua_close(L);
    CHECK_STR(got, want);
}

TEST(what_only_a_display_gets)
{
    check_shown("f()", "shown");
    check_shown(
        "x = 1\nt.f(x, { selector = \"a)\" .. x, wide = true }) -- (all)\n-- of it", "shown");
    check_shown("return f 'a';\n", "shown");
    check_shown("f { 'a', b = 2 }", "shown");
    check_shown("t.f \"a \\\" (b\"", "shown");
    check_shown("x = f()\nx", "kept");
    check_shown("f() .. ''", "kept");
    check_shown("({f()})[1]", "kept");
    check_shown("f():upper():lower()", "kept");
    check_shown("#f() and f()", "kept");
    check_shown("1, f()", "kept");
    check_shown("f(1), f(2)", "kept");
    check_shown("tostring(f())", "kept");
    check_shown("tostring(f 'a')", "kept");
    check_shown("tostring(f { 1 })", "kept");
    check_shown("(f())", "kept");
    check_shown("function g() local x = f() return x end\ng()", "kept");
    check_shown("function g() return f() end\nlocal x = g()\nx", "kept");
    check_shown("x = { f() }\nx[1]", "kept");
}

TEST(what_is_no_last_expression)
{
    check_value("x = 5", "(nothing)");
    check_value("if true then\n  x = 1\nend", "(nothing)");
    check_value("for i = 1, 3 do\n  tostring(i)\nend", "(nothing)");
    check_value("return 7", "7");
    check_value("x = 3\n-1\nassert(x == 2)", "true"); // assert returns its arguments
    check_value(
        "f = tostring\n(\"x\"):rep(2)", "(nothing)"); // a call over two lines, as Lua reads it
    check_value("goto done\nx = 1\n::done::", "(nothing)");
    check_value("do return 1 end", "1");
}

// The last line is an expression, and what is before it is not complete.
TEST(what_is_before_a_last_expression_is_complete)
{
    check_value("local\nx", "(nothing)");
    check_value("x = {\n1,\n2 }", "(nothing)");
    check_value("x = {}\nx.\ny = 1", "(nothing)");
    check_value("x = 4 +\ntonumber('1')", "(nothing)");
    check_value("x =\ntostring(1)", "(nothing)");
    check_value("local function\nprint() end", "(nothing)");
    check_value("x = [[\ntostring(1)\n]]", "(nothing)");
    check_value("--[[\ntostring(1)\n]]", "(nothing)");
    check_value("if nil then\ntostring(1) end", "(nothing)");
    check_value(
        "if nil then\ntostring(1)", "cell:2: 'end' expected (to close 'if' at line 1) near <eof>");
    check_value("return 1\ntostring(1)", "cell:2: <eof> expected near 'tostring'");
    check_value("x = 5;\ntostring(x);", "5");
    check_value("goto on\n::on::\ntostring(1)", "1");
}

TEST(errors_keep_their_lines)
{
    check_value("x = 1\nx = = 2", "cell:2: unexpected symbol near '='");
    check_value("x = 1\nnil .. 'a'", "cell:2: attempt to concatenate a nil value");
    AUTO_FREE char *skipped = value("error('here')", 2);
    CHECK_STR(skipped, "cell:3: here");
    check_value("error('tail')", "cell:1: tail"); // no tail call that would lose the frame
    check_value("x = 1\nreturn error('tail')", "cell:2: tail");
}

static int fill(lua_State *L)
{
    template_fill(L, lua_tostring(L, 1), 0, "t");
    return 1;
}

static void check_template(const char *text, const char *want)
{
    lua_State *L = fresh();
    (void)luaL_dostring(L, "x = 3 f = 0.5 s = 'text' t = {a = {1, 2}} b = false\n"
                           "o = setmetatable({}, {__tostring = function() return 'object' end})");
    lua_pushcfunction(L, fill);
    lua_pushstring(L, text);
    lua_pcall(L, 1, 1, 0);
    AUTO_FREE char *got = mem_strdup(lua_tostring(L, -1));
    lua_close(L);
    CHECK_STR(got, want);
}

TEST(plain_values_have_one_text)
{
    lua_State *L = fresh();
    static const struct {
        const char *value, *text;
    } cases[] = {{"{ b = { 1, 'x' }, a = true }", "{ a = true, b = { 1, 'x' } }"},
        {"{ object = setmetatable({}, {}) }", NULL}, {"setmetatable({}, {})", NULL},
        {"{ print }", NULL}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *one = str_fmt("return %s", cases[i].value);
        AUTO_FREE char *other = str_fmt("return %s", cases[i].text ? cases[i].text : "nil");
        AUTO_BUF a = {0}, b = {0};
        CHECK_INT(luaL_dostring(L, one), LUA_OK);
        CHECK_INT(luaL_dostring(L, other), LUA_OK);
        CHECK_INT(plainvalue_add(L, -2, 1000, &a), cases[i].text != NULL);
        if (cases[i].text) {
            CHECK(plainvalue_add(L, -1, 1000, &b));
            CHECK_STR(buf_cstr(&a), buf_cstr(&b));
        }
        lua_settop(L, 0);
    }
    lua_close(L);
}

TEST(templates)
{
    check_template("", "");
    check_template("no $ at { all }", "no $ at { all }");
    check_template("${x}${s}", "3text");
    check_template("a ${x + 1} b ${f} c ${b} ${s:upper()} ${o}", "a 4 b 0.5 c false TEXT object");
    check_template("$${x} $$${x}", "${x} $${x}");
    check_template("${ {a = '}'} } ${'}'} ${({1, 2})[2]}", "{\"a\":\"}\"} } 2");
    check_template("${t}", "{\"a\":[1,2]}");
    check_template("1\n2 ${nope}", "t:2: ${nope} is nil");
    check_template("1\n${s\n..s}\n${nope}", "t:4: ${nope} is nil");
    check_template("${x", "t:1: ${x has no closing brace");
    check_template("${1 +}", "t:1: ${1 +} is not a Lua expression");
    check_template("${}", "t:1: ${} is not a Lua expression");
    check_template("\n${x.y.z}", "t:2: attempt to index a number value (global 'x')");
    check_template("${print}", "t:1: ${print} is a function");
}

static void check_json(const char *expression, const char *want)
{
    lua_State *L = fresh();
    err e = {0};
    AUTO_BUF source = {0};
    buf_fmt(&source, "return %s", expression);
    CHECK_INT(luaL_dostring(L, source.data), LUA_OK);
    AUTO_JSON *tree = luajson_read(L, -1, &e);
    AUTO_FREE char *got = tree ? json_to_str(tree) : mem_strdup(e.text);
    lua_close(L);
    CHECK_STR(got, want);
}

TEST(lua_to_json)
{
    check_json("nil", "null");
    check_json("true", "true");
    check_json("42", "42");
    check_json("math.maxinteger", "9223372036854775807");
    check_json("math.mininteger", "-9223372036854775808");
    check_json("0.5", "0.5");
    check_json("'a\"ü'", "\"a\\\"ü\"");
    check_json("{}", "{}");
    check_json("{1, {2}, 'x'}", "[1,[2],\"x\"]");
    check_json("{a = {b = {1}}}", "{\"a\":{\"b\":[1]}}");
    check_json("{[10] = 1}", "{\"10\":1}");
    check_json("{a = {1, print}}", "a[2]: a function is not JSON");
    check_json("0/0", "the value: JSON has no NaN and no infinity");
    check_json("{x = 1/0}", "x: JSON has no NaN and no infinity");
    check_json("'\\xff'", "the value: it is not UTF-8 text");
    check_json("{[true] = 1}", "the value: a key must be a string, not a boolean");
    check_json("{a = {b = {[1.5] = 1}}}", "a.b: the key 1.5 must be a string");
    check_json("{a = {[{}] = 1}}", "a: a key must be a string, not a table");
    check_json(
        "{[1] = \"x\", [\"1\"] = \"y\"}", "1: the key is there twice, as a number and as a string");
}

static void check_round_trip(const char *text)
{
    lua_State *L = fresh();
    err e = {0};
    AUTO_JSON *tree = json_parse(text, strlen(text), &e);
    CHECK_OK(tree, e);
    luajson_push(L, tree);
    AUTO_JSON *again = luajson_read(L, -1, &e);
    CHECK_OK(again, e);
    AUTO_BUF got = {0};
    json_print_canonical(&got, again);
    lua_close(L);
    CHECK_STR(buf_cstr(&got), text);
}

TEST(a_table_in_itself_is_refused)
{
    lua_State *L = fresh();
    err e = {0};
    CHECK_INT(luaL_dostring(L, "t = {} t.t = t return t"), LUA_OK);
    CHECK(!luajson_read(L, -1, &e));
    CHECK_STR(e.text, "t: it contains itself");
    lua_close(L);
}

TEST(json_to_lua_and_back)
{
    check_round_trip("[]");
    check_round_trip("{}");
    check_round_trip("{\"a\":[],\"b\":{},\"c\":[null,1]}");
    check_round_trip("9007199254740993");
    check_round_trip("[1,2.5,\"x\",true,false]");
    check_round_trip("[[[[1]]]]");
}

// deeds.lua with a `core` whose owing raises while `stops`, as an interrupt does.
static void run_with_deeds(const char *source)
{
    const struct lua_source *deeds = lib_sources;
    while (deeds->name && !strstr(deeds->name, "deeds"))
        deeds++;
    CHECK(deeds->name);
    lua_State *L = fresh();
    CHECK_INT(luaL_dostring(L,
                  "core, did = {hooks = {}}, ''\n"
                  "function core.owing(n) owing = n if stops then error 'interrupted' end end\n"
                  "function deed(name) return function() did = did .. name end end"),
        LUA_OK);
    CHECK_INT(luaL_loadbuffer(L, deeds->text, deeds->n, "=deeds"), LUA_OK);
    lua_getglobal(L, "core");
    lua_call(L, 1, 0);
    if (luaL_dostring(L, source) != LUA_OK)
        tap_fail(__FILE__, __LINE__, "%s", lua_tostring(L, -1));
    lua_close(L);
}

TEST(a_deed_that_was_interrupted_is_not_of_a_later_cell)
{
    run_with_deeds("stops = true assert(not pcall(core.owe, 1, deed 'a'))\n"
                   "stops = false core.owe(2, deed 'b') assert(owing == 2, owing)\n"
                   "core.hooks.deeds() assert(did == 'b', did)");
    run_with_deeds("core.owe(1, deed 'a') core.hooks.forget_deeds()\n"
                   "core.owe(2, deed 'b') assert(owing == 2, owing)\n"
                   "core.hooks.deeds() assert(did == 'b', did)");
    run_with_deeds("local a, b = core.owe(1, deed 'a'), core.owe(2, deed 'b')\n"
                   "assert(owing == 3) core.settle(a) assert(owing == 2)\n"
                   "core.hooks.deeds() assert(did == 'b', did)");
}

int main(void)
{
    return tap_run();
}
