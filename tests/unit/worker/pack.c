// SPDX-License-Identifier: MIT
// Lua values that are sent: each case runs a chunk, packs its results, and checks them in another
// worker.
#include "script/pack/pack.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "script/worker/core/state.h"
#include "tests/support/tap.h"

static const char *const no_folders[] = {NULL};
static atomic_bool never;

static worker *new_worker(void)
{
    err e;
    struct worker_options options = {.data_folders = no_folders, .stop = &never};
    worker *w = worker_new(&options, &e);
    CHECK_OK(w != NULL, e);
    return w;
}

// Runs a chunk; its results are on the stack.
static int run_chunk(worker *w, const char *text)
{
    lua_settop(w->L, 0);
    if (luaL_loadbuffer(w->L, text, strlen(text), "=chunk") || lua_pcall(w->L, 0, LUA_MULTRET, 0))
        tap_fail(__FILE__, __LINE__, "%s", lua_tostring(w->L, -1));
    return lua_gettop(w->L);
}

// Packs the results of `from` in one worker; the function `check` must return true for them in
// another.
static void travels_as(enum pack_mode mode, const char *from, const char *check)
{
    err e;
    buf bytes = {0};
    worker *here = new_worker(), *there = new_worker();
    int n = run_chunk(here, from);
    CHECK_OK(pack_values(here->L, 1, n, mode, NULL, &bytes, &e) == 0, e);
    worker_free(here);
    CHECK_INT(run_chunk(there, check), 1);
    int got = unpack_values(there->L, bytes.data, bytes.len, mode, &e);
    buf_done(&bytes);
    CHECK_OK(got == n, e);
    if (lua_pcall(there->L, n, 1, 0))
        tap_fail(__FILE__, __LINE__, "%s", lua_tostring(there->L, -1));
    CHECK(lua_toboolean(there->L, -1));
    worker_free(there);
}

static void travels(const char *from, const char *check)
{
    travels_as(PACK_FUNCTIONS, from, check);
}

static void stays_as(enum pack_mode mode, const char *from, const char *why)
{
    err e;
    buf bytes = {0};
    worker *w = new_worker();
    int n = run_chunk(w, from);
    int result = pack_values(w->L, 1, n, mode, NULL, &bytes, &e);
    buf_done(&bytes);
    worker_free(w);
    CHECK_INT(result, -1);
    CHECK_HAS(e.text, why);
}

static void stays(const char *from, const char *why)
{
    stays_as(PACK_FUNCTIONS, from, why);
}

TEST(plain_values_travel)
{
    travels("return nil, true, false, 42, -1.5, 'a\\0b', math.mininteger, 1/0",
        "return function(a, b, c, d, e, f, g, h) return a == nil and b == true and c == false and "
        "math.type(d) == 'integer' and d == 42 and e == -1.5 and f == 'a\\0b' and "
        "g == math.mininteger and h == math.huge end");
}

TEST(tables_keep_cycles_and_shared_parts)
{
    travels("local s = {1} local t = {a = s, b = s} t.self = t return t",
        "return function(t) return t.a == t.b and t.self == t and t.a[1] == 1 end");
}

TEST(metatables_travel)
{
    travels("local C = {} C.__index = C function C:get() return self.x end "
            "return setmetatable({x = 7}, C)",
        "return function(o) return o:get() == 7 end");
}

TEST(functions_travel_with_upvalues)
{
    travels(
        "local k = 10 local function add(x) return x + k end return function(x) return add(x) end",
        "return function(f) return f(5) == 15 end");
}

TEST(upvalues_stay_shared)
{
    travels("local n = 0 return function() n = n + 1 end, function() return n end",
        "return function(bump, get) bump() bump() return get() == 2 end");
}

TEST(a_recursive_function_travels)
{
    travels("local function f(n) return n == 0 and 1 or n * f(n - 1) end return f",
        "return function(f) return f(5) == 120 end");
}

TEST(globals_are_the_receivers)
{
    travels("return function() return math.floor(2.5), _G, print end",
        "return function(f) local a, g, p = f() return a == 2 and g == _G and p == print end");
}

TEST(modules_and_their_functions_travel_by_name)
{
    travels("local hvd, insert = require 'hvd', table.insert "
            "return function() local t = {} insert(t, hvd) return t[1] end, hvd.init, require "
            "'nn'.Dense",
        "return function(f, init, dense) return f() == require 'hvd' and init == require "
        "'hvd'.init "
        "and dense == require 'nn'.Dense end");
}

TEST(objects_of_nn_keep_their_class)
{
    travels("return require 'nn'.Dense { 3 }",
        "return function(d) return getmetatable(d) == require 'nn'.Dense and d.units == 3 end");
}

TEST(tensors_and_models_travel)
{
    travels("local data, nn = require 'data', require 'nn' "
            "local m = nn.Sequential { nn.Dense { 2, input_dim = 3 } } m:compile { loss = 'mse' } "
            "local x = data.tensor({{1, 2, 3}}) return x, data.tensor({7}, {dtype = 'i64'}), m, "
            "m:predict(x)",
        "return function(x, i, m, y) return x[0][2] == 3 and math.type(i[0]) == 'integer' and "
        "tostring(m:predict(x)) == tostring(y) end");
}

TEST(what_cannot_travel_is_named)
{
    stays("local fh = io.open('/dev/null') return function() return fh end",
        "function at chunk:1, upvalue 'fh': file (");
    stays("return {list = {1, {co = coroutine.create(print)}}}",
        "field 'list', item 2, field 'co': thread");
    stays("return string.gmatch('a', 'b')", "cannot travel to another process");
}

TEST(depth_is_bounded)
{
    stays("local t = {} for i = 1, 1000 do t = {t} end return t", "nested more than");
}

TEST(own_globals_are_told)
{
    worker *w = new_worker();
    run_chunk(w, "mine = 1 function helper() end");
    pack_push_own_globals(w->L);
    lua_setglobal(w->L, "names");
    run_chunk(w, "table.sort(names) return table.concat(names, ' ')");
    CHECK_STR(lua_tostring(w->L, -1), "helper mine");
    worker_free(w);
}

static const char data_chunk[] =
    "local t = {1, 2.5, 'three', {x = require 'data'.tensor({1, 2})}} t.t = t return t, t";
static const char functions_chunk[] =
    "local C = setmetatable({}, {__index = {}}) return function() return C end, print, _G";

// Good bytes that are cut anywhere, or have flipped bits, give an error or values, and nothing
// else. Damaged bytecode is never run, so it is not tried.
static void damage(const char *chunk, enum pack_mode packed, enum pack_mode mode, bool flips)
{
    err e;
    buf bytes = {0};
    worker *w = new_worker();
    int n = run_chunk(w, chunk);
    CHECK_OK(pack_values(w->L, 1, n, packed, NULL, &bytes, &e) == 0, e);
    for (size_t cut = 0; cut < bytes.len; cut++)
        CHECK_INT(unpack_values(w->L, bytes.data, cut, mode, &e), -1);
    for (size_t at = 0; flips && at < bytes.len; at++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes.data[at] ^= (char)(1 << bit);
            int got = unpack_values(w->L, bytes.data, bytes.len, mode, &e);
            CHECK(got >= -1);
            lua_settop(w->L, 0);
            bytes.data[at] ^= (char)(1 << bit);
        }
    }
    buf_done(&bytes);
    worker_free(w);
}

TEST(damaged_bytes_are_errors)
{
    damage(data_chunk, PACK_DATA, PACK_DATA, true);
    damage(data_chunk, PACK_DATA, PACK_FUNCTIONS, true);
    damage(functions_chunk, PACK_FUNCTIONS, PACK_DATA, true);
    damage(functions_chunk, PACK_FUNCTIONS, PACK_FUNCTIONS, false);
}

TEST(data_travels)
{
    travels_as(PACK_DATA,
        "local s = {1} local t = {a = s, b = s, f = 1.5, ok = true} t.self = t "
        "local x = require 'data'.tensor({{1, 2}}) return t, 'a\\0b', nil, x",
        "return function(t, s, n, x) return t.a == t.b and t.self == t and s == 'a\\0b' and n == "
        "nil "
        "and x[0][1] == 2 end");
}

TEST(what_is_not_data_is_named)
{
    static const char *const cases[][2] = {
        {"return {f = function() end}", "value 1, field 'f': function"},
        {"return 1, print", "value 2: function: "},
        {"return {{setmetatable({}, {})}}", "item 1, item 1: a table with a metatable cannot"},
        {"return {g = _G}", "field 'g': the table of globals cannot"},
        {"return require 'nn'.Dense { 3 }", "value 1: a table with a metatable cannot"},
        {"return require 'hvd'", "function"},
        {"return io.stdout", "value 1: file ("},
        {"return {[print] = 1}", "a key: function: "},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        stays_as(PACK_DATA, cases[i][0], cases[i][1]);
}

// A malicious rank's result: nothing of it is made, let alone run.
static void is_refused(const char *from, const char *why)
{
    err e;
    buf bytes = {0};
    worker *here = new_worker(), *there = new_worker();
    int n = run_chunk(here, from);
    CHECK_OK(pack_values(here->L, 1, n, PACK_FUNCTIONS, NULL, &bytes, &e) == 0, e);
    worker_free(here);
    run_chunk(there, "ran = false");
    CHECK_INT(unpack_values(there->L, bytes.data, bytes.len, PACK_DATA, &e), -1);
    CHECK_INT(lua_gettop(there->L), 0);
    CHECK_HAS(e.text, why);
    run_chunk(there, "collectgarbage() return ran");
    CHECK(!lua_toboolean(there->L, -1));
    buf_done(&bytes);
    worker_free(there);
}

TEST(crafted_results_are_refused)
{
    is_refused("return function() ran = true end", "a function, which is not accepted here");
    is_refused("return setmetatable({}, {__gc = function() ran = true end})", "a function");
    is_refused("return setmetatable({}, {__gc = type})", "a module");
    is_refused(
        "return setmetatable({}, {__index = {}})", "a metatable, which is not accepted here");
    is_refused("return setmetatable({}, {})", "a metatable, which is not accepted here");
    is_refused("return {1, 2, {x = print}}", "a module, which is not accepted here");
    is_refused("return {_G}", "the globals, which is not accepted here");
}

// tests/old/README.md: what an elastic job's driver kept then.
TEST(a_commit_of_an_earlier_version_is_read)
{
    err e;
    worker *w = new_worker();
    CHECK_INT(run_chunk(w,
                  "return function(kept) "
                  "local nn, v, m = require 'nn', kept.values, kept.models.model "
                  "local model = nn.load(m.bytes) local w = model:get_weights() "
                  "return v.step == 3 and v.best == 0.1 and v.name == 'old' and v.seen[0] == true "
                  "and v.seen[1] == 0.5 and #v.seen.list == 3 and v.rows[1][0] == 3 "
                  "and m.epochs == 0 and m.learning_rate == 0.0625 and m.momentum == 0.5 "
                  "and w[1][0][0] == 0x1.2p-2 and w[1][0][1] == -0x1.608p-1 "
                  "and w[1][1][0] == 0x1.428p-1 and w[1][1][1] == 0x1.767p+0 "
                  "and w[2][0] == -0x1.36p-3 and w[2][1] == 0x1.acp-6 end"),
        1);
    buf bytes = {0};
    const char *path = tap_source("tests/old/0.1.0/elastic/commit.bin");
    CHECK_OK(path_read(path, &bytes, 1 << 20, &e) == 0, e);
    CHECK_INT(unpack_values(w->L, bytes.data, bytes.len, PACK_DATA, &e), 1);
    buf_done(&bytes);
    if (lua_pcall(w->L, 1, 1, 0))
        tap_fail(__FILE__, __LINE__, "%s", lua_tostring(w->L, -1));
    CHECK(lua_toboolean(w->L, -1));
    worker_free(w);
}

int main(void)
{
    return tap_run();
}
