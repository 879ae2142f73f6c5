// SPDX-License-Identifier: MIT
#include "script/kernel/cells/branches_private.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/data/hashmap.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/cells/values/luajson.h"
#include "script/kernel/effects/call.h"

#include <lauxlib.h>
#include <string.h>

#define BRANCH "firesteel.branch"
#define GROUP  "firesteel.group"

// Raises the branch's error in the code that waits for it.
static int throw(lua_State * L, struct branch *b)
{
    struct interp *in = interp_of(L);
    lua_checkstack(b->co, 1);
    lua_pushvalue(b->co, -1);
    lua_xmove(b->co, L, 1);
    const char *said = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "interrupted";
    bool stopped = str_ends(said, "interrupted"); // otherwise the text is the reason of a wait
    const char *why = b->failure == FAILURE_TIMEOUT && stopped ? "took longer than its timeout"
                      : b->failure == FAILURE_INTERRUPTED      ? "was cancelled"
                      : b->yielded ? "yielded, but is no coroutine (coroutine.wrap makes one)"
                                   : NULL;
    if (why) {
        interp_push_place(L);
        lua_pushfstring(L, "branch %s %s", b->name, why);
        lua_concat(L, 2);
        lua_replace(L, -2);
    } else if (lua_type(L, -1) == LUA_TSTRING) {
        lua_pushfstring(L, " (in branch %s)", b->name);
        lua_concat(L, 2);
    }
    if (lua_type(L, -1) == LUA_TSTRING) {
        interp_throw_trace(in, lua_tostring(L, -1), b->trace, b->line,
            b->failure == FAILURE_INTERRUPTED ? FAILURE_ERROR : b->failure);
        b->trace = NULL;
    }
    return lua_error(L);
}

// The waiter learns the branch's end; nobody else needs to.
static void see(lua_State *L, struct branch *b)
{
    struct interp *in = interp_of(L);
    branch_forget_unseen(L, in->branches, b);
    call_joined(in->options->effects, in->turn, b->resume);
}

static int push_results(lua_State *L, struct branch *b)
{
    int n = lua_gettop(b->co);
    luaL_checkstack(L, n, "too many results");
    lua_checkstack(b->co, n);
    for (int i = 1; i <= n; i++)
        lua_pushvalue(b->co, i);
    lua_xmove(b->co, L, n);
    return n;
}

// Removes a branch that was woken to stop from the lists of branches that wait for others.
static void stop_waiting(struct branch *me)
{
    struct branch **at = me->awaited ? &me->awaited->waiters : NULL;
    while (at && *at && *at != me)
        at = &(*at)->next_waiter;
    if (at && *at)
        *at = me->next_waiter;
    me->awaited = NULL;
    if (me->waits_group && me->waits_group->waiter == me)
        me->waits_group->waiter = NULL;
    me->waits_group = NULL;
}

static int after_await(lua_State *L, int status, lua_KContext ctx)
{
    struct branch *b = (struct branch *)ctx;
    if (interp_of(L)->branch)
        stop_waiting(interp_of(L)->branch);
    if (turn_stopped(interp_of(L)->turn) != FAILURE_NONE)
        return branch_raise_stopped(L);
    see(L, b);
    return b->failure == FAILURE_NONE ? push_results(L, b) : throw(L, b);
}

// Does `b` wait, in whatever steps, for `me`?
static bool waits_for(const struct branch *b, const struct branch *me)
{
    while (b && b != me)
        b = b->awaited;
    return b == me;
}

static bool await_over(void *arg)
{
    struct branch *b = arg;
    return b->state == DONE || turn_stopped(b->all->in->turn) != FAILURE_NONE;
}

static int fail_deadlock(lua_State *L)
{
    return luaL_error(L, "these branches wait for one another, so none of them can go on");
}

// await(branch) → its results
static int core_await(lua_State *L)
{
    struct interp *in = interp_of(L);
    struct branch *b = luaL_checkudata(L, 1, BRANCH), *me = in->branch;
    if (b->state == DONE)
        return after_await(L, LUA_OK, (lua_KContext)b);
    if (!me) {
        if (!branches_pump(L, await_over, b, 0))
            return fail_deadlock(L);
        return after_await(L, LUA_OK, (lua_KContext)b);
    }
    if (!interrupt_can_park(L))
        return luaL_error(L, "await cannot wait here: a function of C (such as table.sort, or a "
                             "metamethod that one calls) is waiting for this one, and cannot be "
                             "suspended");
    if (waits_for(b, me))
        return fail_deadlock(L);
    me->awaited = b;
    me->next_waiter = b->waiters;
    b->waiters = me;
    return branches_park(L, (lua_KContext)b, after_await);
}

// group() → a group of branches
static int core_group(lua_State *L)
{
    struct group *g = lua_newuserdatauv(L, sizeof *g, 0);
    *g = (struct group){.last = &g->first};
    luaL_setmetatable(L, GROUP);
    return 1;
}

struct group_wait {
    struct group *group;
    turn *turn;
};

static bool group_over(void *arg)
{
    const struct group_wait *w = arg;
    return w->group->first || w->group->running == 0 || turn_stopped(w->turn) != FAILURE_NONE;
}

// Pushes the branch, and drops the reference that kept it alive.
static int push_ended(lua_State *L, struct group *g)
{
    struct branch *b = g->first;
    if (!b)
        return 0;
    lua_rawgeti(L, LUA_REGISTRYINDEX, b->ref);
    if (!(g->first = b->next_ended))
        g->last = &g->first;
    luaL_unref(L, LUA_REGISTRYINDEX, b->ref);
    b->ref = LUA_NOREF;
    see(L, b);
    return 1;
}

static int after_next(lua_State *L, int status, lua_KContext ctx)
{
    struct interp *in = interp_of(L);
    if (in->branch)
        stop_waiting(in->branch);
    if (turn_stopped(in->turn) != FAILURE_NONE)
        return branch_raise_stopped(L);
    return push_ended(L, (struct group *)ctx);
}

// next(group) → a branch that has ended (each is returned once), or nothing when all were returned
static int core_next(lua_State *L)
{
    struct interp *in = interp_of(L);
    struct group *g = luaL_checkudata(L, 1, GROUP);
    struct group_wait w = {g, in->turn};
    if (group_over(&w))
        return after_next(L, LUA_OK, (lua_KContext)g);
    if (!in->branch)
        return branches_pump(L, group_over, &w, 0) ? after_next(L, LUA_OK, (lua_KContext)g)
                                                   : fail_deadlock(L);
    if (!interrupt_can_park(L))
        return luaL_error(L, "branches cannot be waited for here: a function of C (such as "
                             "table.sort) is waiting for this one, and cannot be suspended");
    in->branch->waits_group = g;
    g->waiter = in->branch;
    return branches_park(L, (lua_KContext)g, after_next);
}

// The place in the user's code that makes a branch; it is the same in a resumed run.
static void push_site(lua_State *L)
{
    lua_Debug ar;
    for (int level = 1; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (!interp_is_user_frame(&ar))
            continue;
        bool here = interp_is_in_cell(interp_of(L), &ar);
        lua_pushfstring(L, "%s:%d", here ? "" : ar.short_src, ar.currentline);
        return;
    }
    lua_pushliteral(L, "");
}

// Counts one more use of this text.
static size_t count_use(hashmap *used, const char *text)
{
    size_t n = 0;
    hashmap_get(used, text, strlen(text), &n);
    hashmap_set(used, text, strlen(text), n + 1);
    return n + 1;
}

// Identifies a branch, also in a resumed run: its parent, its place in the code and its item.
// Branches with the same three are numbered.
static char *key_of(branches *all, const turn *parent, const char *site, const cJSON *item)
{
    AUTO_BUF text = {0};
    char digest[SHA256_SHORT];
    buf_fmt(&text, "%s %s ", turn_key(parent), site);
    json_print_canonical(&text, item);
    sha256_short(text.data, text.len, digest);
    size_t n = count_use(all->keys, digest);
    const char *above = turn_key(parent);
    return n == 1 ? str_fmt("%s%s%s", above, *above ? "/" : "", digest)
                  : str_fmt("%s%s%s-%zu", above, *above ? "/" : "", digest, n);
}

static char *name_of(branches *all, const turn *parent, const char *wanted)
{
    AUTO_FREE char *whole =
        parent->name ? str_fmt("%s/%s", parent->name, wanted) : mem_strdup(wanted);
    size_t n = count_use(all->names, whole);
    if (n == 1)
        return STEAL(whole);
    for (;; n++) { // another branch already has this name
        AUTO_FREE char *numbered = str_fmt("%s (%zu)", whole, n);
        if (count_use(all->names, numbered) == 1)
            return STEAL(numbered);
    }
}

static int64_t limit_of(double seconds)
{
    return seconds > 0 ? clock_add(clock_mono(), clock_of_seconds(seconds)) : 0;
}

static int64_t sooner(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

// Nothing that may raise comes after this; the userdata is at `index`.
static void enter(lua_State *L, struct branch *b, struct group *g, double seconds)
{
    branches *all = b->all;
    struct branch *parent = all->in->branch;
    b->parent = parent;
    b->limit = limit_of(seconds);
    if (parent)
        parent->children++;
    b->next = all->live;
    if (b->next)
        b->next->prev = b;
    all->live = b;
    all->n_live++;
    b->group = g;
    if (g)
        g->running++;
    call_branch(all->in->options->effects, &b->turn);
    branch_set_timer(b);
    b->state = WAITING;
    branch_make_ready(b);
}

// branch({name =, item =, group =, timeout = seconds}, fn, …) → a branch
static int core_branch(lua_State *L)
{
    struct interp *in = interp_of(L);
    branches *all = in->branches;
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    int last = lua_gettop(L);
    if (!in->running)
        return luaL_error(L, "only cells can have branches");
    lua_getfield(L, 1, "name"); // last + 1 …
    lua_getfield(L, 1, "group");
    lua_getfield(L, 1, "timeout");
    lua_getfield(L, 1, "item");
    push_site(L);
    const char *name = luaL_checkstring(L, last + 1), *site = lua_tostring(L, -1);
    struct group *g = luaL_testudata(L, last + 2, GROUP);
    double seconds = lua_tonumber(L, last + 3);
    struct branch *b = lua_newuserdatauv(L, sizeof *b, 2);
    int at = lua_gettop(L);
    *b = (struct branch){.all = all, .ref = LUA_NOREF, .state = DONE};
    luaL_setmetatable(L, BRANCH);
    b->co = lua_newthread(L);
    lua_setiuservalue(L, at, 1);
    lua_pushvalue(L, last + 2); // the group
    lua_setiuservalue(L, at, 2);
    luaL_checkstack(b->co, last + 4, "too many arguments");
    for (int i = 2; i <= last; i++)
        lua_pushvalue(L, i);
    lua_xmove(L, b->co, last - 1);
    lua_pushvalue(L, at);
    b->ref = luaL_ref(L, LUA_REGISTRYINDEX);
    cJSON *item = luajson_read(L, last + 4, NULL);
    if (!item) // a value that is not JSON is identified by its type and number
        item = cJSON_CreateString(luaL_typename(L, last + 4));
    AUTO_FREE char *key = key_of(all, in->turn, site, item), *full = name_of(all, in->turn, name);
    cJSON_Delete(item);
    int64_t deadline = sooner(in->turn->deadline, limit_of(seconds));
    turn_branch(&b->turn, in->turn, full, key, deadline);
    b->name = mem_strdup(full);
    enter(L, b, g, seconds);
    return 1;
}

// cancel(branch): stops it like an interrupt; whoever waits for it continues.
static int core_cancel(lua_State *L)
{
    struct branch *b = luaL_checkudata(L, 1, BRANCH);
    if (b->state != DONE)
        turn_stop(&b->turn, FAILURE_INTERRUPTED);
    return 0;
}

// outcome(branch) → true, results… or false, message, failure; the branch must have ended
static int core_outcome(lua_State *L)
{
    struct branch *b = luaL_checkudata(L, 1, BRANCH);
    if (b->state != DONE)
        return luaL_error(L, "this branch has not ended");
    lua_pushboolean(L, b->failure == FAILURE_NONE);
    int n = push_results(L, b);
    if (b->failure == FAILURE_NONE)
        return n + 1;
    lua_pushstring(L, failure_name(b->failure));
    return n + 2;
}

static int core_branch_state(lua_State *L)
{
    static const char *const words[] = {"running", "running", "waiting", "ending", "done"};
    struct branch *b = luaL_checkudata(L, 1, BRANCH);
    lua_pushstring(L, b->name);
    lua_pushstring(L, b->state == DONE && b->failure != FAILURE_NONE
                          ? (b->failure == FAILURE_INTERRUPTED ? "cancelled" : "failed")
                          : words[b->state]);
    return 2;
}

// branch_name() → the name of the running branch, or nil
static int core_branch_name(lua_State *L)
{
    const struct interp *in = interp_of(L);
    lua_pushstring(L, in->branch ? in->branch->name : NULL);
    return 1;
}

static bool children_over(void *arg)
{
    branches *all = arg;
    return all->n_live == 0 || turn_stopped(all->in->turn) != FAILURE_NONE;
}

static int after_join(lua_State *L, int status, lua_KContext ctx)
{
    struct interp *in = interp_of(L);
    if (in->branch)
        in->branch->joins = false;
    if (turn_stopped(in->turn) != FAILURE_NONE)
        return branch_raise_stopped(L);
    if (in->branch ? in->branch->anew : in->branches->anew)
        call_joined(in->options->effects, in->turn, RESUME_ENDS);
    for (struct branch *u = in->branches->unseen; u; u = u->next_unseen) {
        if (u->parent != in->branch)
            continue;
        lua_rawgeti(L, LUA_REGISTRYINDEX, u->ref); // keeps it alive
        see(L, u);
        return throw(L, u);
    }
    return 0;
}

// join(): waits for the branches of this branch or cell; raises the error of a branch that nobody
// has waited for.
static int core_join(lua_State *L)
{
    struct interp *in = interp_of(L);
    if (!in->branch)
        return branches_pump(L, children_over, in->branches, 0) ? after_join(L, LUA_OK, 0)
                                                                : fail_deadlock(L);
    if (in->branch->children == 0)
        return after_join(L, LUA_OK, 0);
    in->branch->joins = true;
    return branches_park(L, 0, after_join);
}

void branches_finish(lua_State *L)
{
    lua_pushcfunction(L, core_join);
    lua_call(L, 0, 0);
}

static int branch_gc(lua_State *L)
{
    struct branch *b = luaL_checkudata(L, 1, BRANCH);
    if (b->state != DONE) // the Lua state is closed while it runs
        return 0;
    free(b->name);
    cJSON_Delete(b->trace);
    b->name = NULL;
    b->trace = NULL;
    return 0;
}

void branches_open(lua_State *L)
{
    static const luaL_Reg functions[] = {{"branch", core_branch}, {"await", core_await},
        {"group", core_group}, {"next", core_next}, {"cancel", core_cancel},
        {"outcome", core_outcome}, {"join", core_join}, {"branch_state", core_branch_state},
        {"branch_name", core_branch_name}, {0}};
    luaL_newmetatable(L, GROUP);
    lua_pop(L, 1);
    luaL_newmetatable(L, BRANCH);
    lua_pushcfunction(L, branch_gc);
    lua_setfield(L, -2, "__gc");
    lua_setfield(L, -2, "branch_meta"); // for the Lua code in script/api
    luaL_setfuncs(L, functions, 0);
}
