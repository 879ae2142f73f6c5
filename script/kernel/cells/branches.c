// SPDX-License-Identifier: MIT
#include "script/kernel/cells/branches.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/hashmap.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/cells/luajson.h"
#include "script/kernel/cells/state.h"
#include "script/kernel/cells/timers.h"
#include "script/kernel/cells/workers.h"
#include "script/kernel/effects/call.h"

#include <lauxlib.h>
#include <string.h>

enum {
    THREADS_MAX = 1024, // calls that are under way; others wait for one to end
    KEY_DIGITS = 16,
    TRACE_MAX = 30,
};

#define BRANCH "firesteel.branch"
#define GROUP  "firesteel.group"

// A call on a worker's thread. The worker has it until it is in `finished`.
struct job {
    branches *all;
    struct branch *branch; // that waits for it; NULL: the cell
    turn *turn;
    void (*work)(struct job *j);
    char *name; // of the binding; or the question
    cJSON *args;
    char **env;
    bool secret;
    cJSON *result;
    char *answer;
    err error;
    bool done, failed; // done: for the Lua thread
    struct job *next;
};

// Branches of one parallel.map: those that have ended, in that order, until somebody takes them.
struct group {
    size_t running;
    struct branch *first, **last;
    struct branch *waiter; // a branch; a cell that waits looks by itself
};

enum branch_state { READY, RUNNING, WAITING, ENDING, DONE };

// WAITING: exactly one of job, timer, awaited, group and join will make it READY, or its turn's
// stop. ENDING: its code is through, but it has branches that were stopped.
struct branch {
    turn turn;
    struct timer timer; // of a sleep or of its time-out, whichever is first
    branches *all;
    struct branch *parent; // NULL: the cell
    lua_State *co;         // the userdata's value keeps it
    int ref;               // the userdata, while it is live or its error unseen
    char *name;
    enum branch_state state;
    bool started, raised, joins;
    bool yielded; // it failed: it yielded, and no coroutine of its own was there to take that
    int64_t asleep, limit; // mono ns: sleeps until; has to end by; 0: not
    size_t children;       // live ones
    struct job *job;
    struct branch *awaited;               // the one that it waits for
    struct branch *waiters, *next_waiter; // those that wait for it
    struct group *group, *waits_group;
    struct branch *next_ready, *next_ended, *next_unseen;
    struct branch *next, *prev; // the live ones
    // When it is DONE: its results are on co's stack, or its error is.
    enum failure failure;
    err error; // of ours that was raised; its text ends the message
    cJSON *trace;
    int line;
    enum resume resume;
};

struct branches {
    struct interp *in;
    workers *workers;
    pthread_mutex_t lock; // for the next three
    pthread_cond_t changed;
    struct job *finished;
    bool stopped; // a turn has to stop: look which
    // The Lua thread:
    struct branch *live, *ready, **last_ready;
    struct branch *unseen; // failed, and nobody has waited for it yet
    size_t n_live, jobs;   // jobs: under way
    struct timers timers;
    hashmap *names, *keys; // how often the cell has used each
};

static void free_job(struct job *j)
{
    cJSON_Delete(j->args);
    cJSON_Delete(j->result);
    strv_free(j->env);
    free(j->name);
    free(j->answer);
    free(j);
}

static void on_work(void *arg)
{
    struct job *j = arg;
    branches *all = j->all;
    j->work(j);
    pthread_mutex_lock(&all->lock);
    j->next = all->finished;
    all->finished = j;
    pthread_cond_signal(&all->changed);
    pthread_mutex_unlock(&all->lock);
}

void branches_wake(void *arg)
{
    branches *all = arg;
    pthread_mutex_lock(&all->lock);
    all->stopped = true;
    pthread_cond_signal(&all->changed);
    pthread_mutex_unlock(&all->lock);
}

branches *branches_new(struct interp *in)
{
    branches *all = mem_alloc(sizeof *all);
    pthread_condattr_t clock;
    *all = (branches){.in = in,
        .workers = workers_new(THREADS_MAX, on_work),
        .last_ready = &all->ready,
        .names = hashmap_new(),
        .keys = hashmap_new()};
    pthread_mutex_init(&all->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&all->changed, &clock);
    pthread_condattr_destroy(&clock);
    return all;
}

void branches_free(branches *all)
{
    if (!all)
        return;
    workers_free(all->workers);
    hashmap_free(all->names);
    hashmap_free(all->keys);
    timers_done(&all->timers);
    pthread_cond_destroy(&all->changed);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

void branches_begin(branches *all)
{
    hashmap_clear(all->names);
    hashmap_clear(all->keys);
}

static void make_ready(struct branch *b)
{
    if (b->state != WAITING)
        return;
    b->state = READY;
    b->next_ready = NULL;
    *b->all->last_ready = b;
    b->all->last_ready = &b->next_ready;
}

static struct branch *next_ready(branches *all)
{
    struct branch *b = all->ready;
    if (b && !(all->ready = b->next_ready))
        all->last_ready = &all->ready;
    return b;
}

// Its next time: the end of its sleep, or its time-out.
static void set_timer(struct branch *b)
{
    int64_t at = !b->asleep || (b->limit && b->limit < b->asleep) ? b->limit : b->asleep;
    timers_set(&b->all->timers, &b->timer, at);
}

static struct branch *of_timer(struct timer *t)
{
    return (struct branch *)((char *)t - offsetof(struct branch, timer));
}

// Wakes those whose sleep is over, and stops those whose time is.
static void on_time(branches *all)
{
    int64_t now = clock_mono();
    for (struct timer *t; (t = timers_due(&all->timers, now));) {
        struct branch *b = of_timer(t);
        bool late = b->limit && b->limit <= now;
        if (late) {
            b->limit = 0;
            turn_stop(&b->turn, FAILURE_TIMEOUT);
        }
        if (b->asleep && b->asleep <= now) {
            b->asleep = 0;
            make_ready(b);
        }
        set_timer(b);
    }
}

// A call ends by itself when its turn stops; everything else is woken here.
static void wake_stopped(branches *all)
{
    for (struct branch *b = all->live; b; b = b->next)
        if (b->state == WAITING && !b->job && turn_stopped(&b->turn) != FAILURE_NONE)
            make_ready(b);
}

static void collect(branches *all)
{
    pthread_mutex_lock(&all->lock);
    struct job *finished = STEAL(all->finished);
    bool stopped = all->stopped;
    all->stopped = false;
    pthread_mutex_unlock(&all->lock);
    for (struct job *j = finished, *next; j; j = next) {
        next = j->next; // the one that waits may free it
        all->jobs--;
        j->done = true;
        if (j->branch)
            make_ready(j->branch);
    }
    on_time(all);
    if (stopped)
        wake_stopped(all);
}

// Waits for something to collect; false: nothing can come. until: mono ns, 0: for ever.
static bool wait_for_more(branches *all, int64_t until)
{
    int64_t at = timers_next(&all->timers);
    at = !at || (until && until < at) ? until : at;
    const struct timespec when = {at / CLOCK_SEC, at % CLOCK_SEC};
    pthread_mutex_lock(&all->lock);
    bool more = at || all->jobs > 0 || all->stopped;
    while (more && !all->finished && !all->stopped && (!at || clock_mono() < at))
        if (at)
            pthread_cond_timedwait(&all->changed, &all->lock, &when);
        else
            pthread_cond_wait(&all->changed, &all->lock);
    pthread_mutex_unlock(&all->lock);
    return more;
}

static cJSON *frames_of(lua_State *co, struct branch *b)
{
    cJSON *frames = cJSON_CreateArray();
    lua_Debug ar;
    for (int level = 0; level < 500 && lua_getstack(co, level, &ar); level++) {
        lua_getinfo(co, "nSl", &ar);
        if (!interp_is_user_frame(&ar))
            continue;
        if (b->line == 0 && interp_is_in_cell(b->all->in, &ar))
            b->line = ar.currentline;
        if (cJSON_GetArraySize(frames) < TRACE_MAX)
            cJSON_AddItemToArray(frames, interp_frame_text(&ar));
    }
    AUTO_FREE char *last = str_fmt("in branch %s", b->name);
    cJSON_AddItemToArray(frames, cJSON_CreateString(last));
    return frames;
}

// co's error is on its top. Keeps what it was, and runs what its variables close.
static void take_failure(struct branch *b, int status)
{
    struct interp *in = b->all->in;
    const char *text = lua_type(b->co, -1) == LUA_TSTRING ? lua_tostring(b->co, -1) : NULL;
    enum failure stopped = turn_stopped(&b->turn);
    b->trace = interp_take_trace(in, text, &b->line);
    cJSON *own = frames_of(b->co, b);
    if (b->trace) {
        while (own->child)
            cJSON_AddItemToArray(b->trace, cJSON_DetachItemFromArray(own, 0));
        cJSON_Delete(own);
    } else {
        b->trace = own;
    }
    b->failure = stopped != FAILURE_NONE ? stopped : interp_classify(in, status, text);
    b->error = in->raised;
    interrupt_close(&in->interrupt, b->co, &b->turn);
    if (lua_gettop(b->co) == 0)
        lua_pushnil(b->co);
}

static void stop_children(struct branch *b)
{
    for (struct branch *other = b->all->live; other; other = other->next)
        if (other->parent == b)
            turn_stop(&other->turn, FAILURE_INTERRUPTED);
}

static void forget_unseen(lua_State *L, branches *all, struct branch *b)
{
    struct branch **at = &all->unseen;
    while (*at && *at != b)
        at = &(*at)->next_unseen;
    if (!*at)
        return;
    *at = b->next_unseen;
    luaL_unref(L, LUA_REGISTRYINDEX, b->ref);
    b->ref = LUA_NOREF;
}

static void forget_unseen_of(lua_State *L, branches *all, const struct branch *parent)
{
    for (struct branch *u = all->unseen, *next; u; u = next) {
        next = u->next_unseen;
        if (u->parent == parent)
            forget_unseen(L, all, u);
    }
}

static void tell_ended(lua_State *L, struct branch *b)
{
    branches *all = b->all;
    for (struct branch *w = STEAL(b->waiters); w; w = w->next_waiter) {
        w->awaited = NULL;
        make_ready(w);
    }
    if (b->group) {
        b->group->running--;
        *b->group->last = b;
        b->group->last = &b->next_ended;
        if (b->group->waiter)
            make_ready(STEAL(b->group->waiter));
    } else if (b->failure != FAILURE_NONE) {
        b->next_unseen = all->unseen;
        all->unseen = b;
        return;
    } else {
        luaL_unref(L, LUA_REGISTRYINDEX, b->ref);
        b->ref = LUA_NOREF;
    }
}

static void complete(lua_State *L, struct branch *b)
{
    branches *all = b->all;
    struct branch *parent = b->parent;
    b->state = DONE;
    b->resume = (enum resume)atomic_load(&b->turn.resume);
    timers_set(&all->timers, &b->timer, 0);
    forget_unseen_of(L, all, b);
    port_end_branch(all->in->options->effects->spec.port, b->turn.cell, b->name);
    turn_done(&b->turn);
    *(b->prev ? &b->prev->next : &all->live) = b->next;
    if (b->next)
        b->next->prev = b->prev;
    all->n_live--;
    tell_ended(L, b);
    if (!parent || --parent->children > 0)
        return;
    if (parent->state == ENDING)
        complete(L, parent);
    else if (parent->joins)
        make_ready(parent);
}

static void end(lua_State *L, struct branch *b)
{
    b->state = ENDING;
    if (b->failure != FAILURE_NONE)
        stop_children(b);
    if (b->children == 0)
        complete(L, b);
}

// Goes on with a branch until it waits or ends.
static void step(lua_State *L, struct branch *b)
{
    struct interp *in = b->all->in;
    turn *outer = in->turn;
    int n = b->started ? 0 : lua_gettop(b->co) - 1, results = 0;
    if (!b->started && turn_stopped(&b->turn) != FAILURE_NONE) { // it never begins
        b->failure = turn_stopped(&b->turn);
        lua_settop(b->co, 0);
        lua_pushnil(b->co);
        end(L, b);
        return;
    }
    b->started = true;
    b->state = RUNNING;
    in->branch = b;
    in->turn = &b->turn;
    bool parked;
    int status =
        interrupt_step(&in->interrupt, L, b->co, n, &b->turn, &b->raised, &parked, &results);
    b->yielded = !parked && status == LUA_YIELD;
    if (!parked && status != LUA_OK)
        take_failure(b, status);
    in->branch = NULL;
    in->turn = outer;
    if (!parked)
        end(L, b);
}

// Goes on with branches until over(arg), or until that time (mono ns, 0: none). false: nothing can
// come any more.
static bool pump(lua_State *L, bool (*over)(void *arg), void *arg, int64_t until)
{
    branches *all = interp_of(L)->branches;
    while (!over(arg) && (!until || clock_mono() < until)) {
        collect(all);
        struct branch *b = next_ready(all);
        if (b)
            step(L, b);
        else if (!over(arg) && !wait_for_more(all, until))
            return false;
    }
    return true;
}

bool branches_can_wait(lua_State *L)
{
    struct interp *in = interp_of(L);
    return in->branch ? interrupt_can_park(L) : in->running && in->branches->n_live > 0;
}

static int park(lua_State *L, lua_KContext ctx, lua_KFunction k)
{
    interp_of(L)->branch->state = WAITING;
    return interrupt_park(L, ctx, k);
}

static bool is_done(void *arg)
{
    return ((struct job *)arg)->done;
}

// Raises in->raised, after a wait.
static int raise_after(lua_State *L)
{
    const struct interp *in = interp_of(L);
    if (in->branch && turn_stopped(in->turn) != FAILURE_NONE)
        interrupt_told(L, in->branch->co);
    return interp_raise_call(L);
}

static int after_call(lua_State *L, int status, lua_KContext ctx)
{
    struct interp *in = interp_of(L);
    struct job *j = (struct job *)ctx;
    if (in->branch)
        in->branch->job = NULL;
    bool failed = j->failed;
    in->raised = j->error;
    cJSON *result = STEAL(j->result);
    free_job(j);
    return failed ? raise_after(L) : interp_push_json(L, result);
}

static int after_ask(lua_State *L, int status, lua_KContext ctx)
{
    struct interp *in = interp_of(L);
    struct job *j = (struct job *)ctx;
    if (in->branch)
        in->branch->job = NULL;
    in->raised = j->error;
    char *answer = STEAL(j->answer);
    bool secret = j->secret;
    free_job(j);
    if (!answer)
        return raise_after(L);
    if (secret)
        mask_add(port_mask(in->options->effects->spec.port), answer, strlen(answer));
    char **box = lua_touserdata(L, 1); // made before the question
    *box = answer;
    lua_pushstring(L, answer);
    return 1;
}

// Gives the job to a thread, and waits for it; takes the job.
static int do_job(lua_State *L, struct job *j, lua_KFunction after)
{
    struct interp *in = interp_of(L);
    branches *all = in->branches;
    j->all = all;
    j->branch = in->branch;
    j->turn = in->turn;
    if (workers_give(all->workers, j, &j->error) < 0) {
        j->failed = true;
        return after(L, LUA_OK, (lua_KContext)j);
    }
    all->jobs++;
    if (in->branch) {
        in->branch->job = j;
        return park(L, (lua_KContext)j, after);
    }
    pump(L, is_done, j, 0);
    return after(L, LUA_OK, (lua_KContext)j);
}

static void do_call(struct job *j)
{
    effects *fx = j->all->in->options->effects;
    j->failed =
        call_binding(fx, j->turn, STEAL(j->env), j->name, j->args, &j->result, &j->error) < 0;
}

int branches_call(lua_State *L, const char *name, cJSON *args)
{
    const struct interp *in = interp_of(L);
    struct job *j = mem_alloc(sizeof *j);
    j->work = do_call;
    j->name = mem_strdup(name);
    j->args = args;
    j->env = call_child_env(in->options->effects, in->turn);
    return do_job(L, j, after_call);
}

static void do_ask(struct job *j)
{
    struct question q = {.text = j->name, .cell = j->turn->cell, .secret = j->secret};
    j->answer = asks_person(j->all->in->options->effects->spec.asks, j->turn->waits, &q, &j->error);
}

int branches_ask(lua_State *L, const char *question, bool secret)
{
    lua_settop(L, 1); // the question's text
    luajson_box(L);
    lua_insert(L, 1);
    struct job *j = mem_alloc(sizeof *j);
    j->work = do_ask;
    j->name = mem_strdup(question);
    j->secret = secret;
    return do_job(L, j, after_ask);
}

static int raise_stopped(lua_State *L)
{
    struct interp *in = interp_of(L);
    in->raised = (err){0};
    err_set(&in->raised, ERR_CANCELLED, "interrupted");
    return raise_after(L);
}

static bool is_stopped(void *arg)
{
    return turn_stopped(arg) != FAILURE_NONE;
}

static int after_sleep(lua_State *L, int status, lua_KContext ctx)
{
    struct interp *in = interp_of(L);
    if (in->branch) {
        in->branch->asleep = 0;
        set_timer(in->branch);
    }
    return turn_stopped(in->turn) != FAILURE_NONE ? raise_stopped(L) : 0;
}

int branches_sleep(lua_State *L, int64_t ns)
{
    struct interp *in = interp_of(L);
    int64_t until = clock_add(clock_mono(), ns);
    if (!in->branch) {
        pump(L, is_stopped, in->turn, until);
        return after_sleep(L, LUA_OK, 0);
    }
    if (turn_stopped(in->turn) != FAILURE_NONE)
        return raise_stopped(L);
    in->branch->asleep = until;
    set_timer(in->branch);
    return park(L, 0, after_sleep);
}

// What the branch raised, for the one who waits for it. It does not return.
static int throw(lua_State * L, struct branch *b)
{
    struct interp *in = interp_of(L);
    lua_checkstack(b->co, 1);
    lua_pushvalue(b->co, -1);
    lua_xmove(b->co, L, 1);
    const char *said = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "interrupted";
    bool stopped = str_ends(said, "interrupted"); // else a wait has said why it took so long
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

// Its end is known to the one who waits here.
static void see(lua_State *L, struct branch *b)
{
    struct interp *in = interp_of(L);
    forget_unseen(L, in->branches, b);
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

// A branch that was woken because it stops is no longer waited for by others' ends.
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
        return raise_stopped(L);
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
        if (!pump(L, await_over, b, 0))
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
    return park(L, (lua_KContext)b, after_await);
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

// Pushes the branch and drops what kept it.
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
        return raise_stopped(L);
    return push_ended(L, (struct group *)ctx);
}

// next(group) → a branch that has ended, each once, or nothing: none is left
static int core_next(lua_State *L)
{
    struct interp *in = interp_of(L);
    struct group *g = luaL_checkudata(L, 1, GROUP);
    struct group_wait w = {g, in->turn};
    if (group_over(&w))
        return after_next(L, LUA_OK, (lua_KContext)g);
    if (!in->branch)
        return pump(L, group_over, &w, 0) ? after_next(L, LUA_OK, (lua_KContext)g)
                                          : fail_deadlock(L);
    if (!interrupt_can_park(L))
        return luaL_error(L, "branches cannot be waited for here: a function of C (such as "
                             "table.sort) is waiting for this one, and cannot be suspended");
    in->branch->waits_group = g;
    g->waiter = in->branch;
    return park(L, (lua_KContext)g, after_next);
}

// The place in the user's code that makes a branch, in this and in another run.
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

// Counts another one of this text.
static size_t count_use(hashmap *used, const char *text)
{
    size_t n = 0;
    hashmap_get(used, text, strlen(text), &n);
    hashmap_set(used, text, strlen(text), n + 1);
    return n + 1;
}

// Its parent, its place and its item tell a branch from others, in another run, too; of those that
// are alike, how many came before.
static char *key_of(branches *all, const turn *parent, const char *site, const cJSON *item)
{
    AUTO_BUF text = {0};
    char digest[SHA256_HEX];
    buf_fmt(&text, "%s %s ", turn_key(parent), site);
    json_print_canonical(&text, item);
    sha256_hex(text.data, text.len, digest);
    digest[KEY_DIGITS] = '\0';
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
    return n == 1 ? STEAL(whole) : str_fmt("%s (%zu)", whole, n);
}

static int64_t limit_of(double seconds)
{
    return seconds > 0 ? clock_add(clock_mono(), clock_of_seconds(seconds)) : 0;
}

static int64_t sooner(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

// Everything that may raise was done; the userdata is at `index`.
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
    set_timer(b);
    b->state = WAITING;
    make_ready(b);
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
    if (!item) // what is no JSON is told by its place among its like
        item = cJSON_CreateString(luaL_typename(L, last + 4));
    AUTO_FREE char *key = key_of(all, in->turn, site, item), *full = name_of(all, in->turn, name);
    cJSON_Delete(item);
    int64_t deadline = sooner(in->turn->deadline, limit_of(seconds));
    turn_branch(&b->turn, in->turn, full, key, deadline);
    b->name = mem_strdup(full);
    enter(L, b, g, seconds);
    return 1;
}

// cancel(branch): it stops as by an interrupt, and whoever waits for it goes on.
static int core_cancel(lua_State *L)
{
    struct branch *b = luaL_checkudata(L, 1, BRANCH);
    if (b->state != DONE)
        turn_stop(&b->turn, FAILURE_INTERRUPTED);
    return 0;
}

// outcome(branch) → true, results… or false, message, failure; of one that has ended
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
        return raise_stopped(L);
    for (struct branch *u = in->branches->unseen; u; u = u->next_unseen) {
        if (u->parent != in->branch)
            continue;
        lua_rawgeti(L, LUA_REGISTRYINDEX, u->ref); // so that it stays
        see(L, u);
        return throw(L, u);
    }
    return 0;
}

// join(): waits for the branches of this branch or cell; raises the error of one for which nobody
// has waited.
static int core_join(lua_State *L)
{
    struct interp *in = interp_of(L);
    if (!in->branch)
        return pump(L, children_over, in->branches, 0) ? after_join(L, LUA_OK, 0)
                                                       : fail_deadlock(L);
    if (in->branch->children == 0)
        return after_join(L, LUA_OK, 0);
    in->branch->joins = true;
    return park(L, 0, after_join);
}

void branches_finish(lua_State *L)
{
    lua_pushcfunction(L, core_join);
    lua_call(L, 0, 0);
}

static bool none_left(void *arg)
{
    return ((branches *)arg)->n_live == 0;
}

void branches_drop(lua_State *L)
{
    branches *all = interp_of(L)->branches;
    for (struct branch *b = all->live; b; b = b->next)
        turn_stop(&b->turn, FAILURE_INTERRUPTED);
    pump(L, none_left, all, 0);
    while (all->unseen)
        forget_unseen(L, all, all->unseen);
}

static int branch_gc(lua_State *L)
{
    struct branch *b = luaL_checkudata(L, 1, BRANCH);
    if (b->state != DONE) // the state closes in its midst
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
    lua_setfield(L, -2, "branch_meta"); // for script/lib
    luaL_setfuncs(L, functions, 0);
}
