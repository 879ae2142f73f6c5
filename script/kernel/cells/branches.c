// SPDX-License-Identifier: MIT
#include "script/kernel/cells/branches_private.h"

#include "base/clock.h"
#include "base/data/hashmap.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/effects/call.h"

#include <lauxlib.h>
#include <string.h>

enum {
    THREADS_MAX = 1024, // the most calls at once; others wait until one ends
    TRACE_MAX = 30,
};

void branch_free_job(struct job *j)
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
    all->anew = false;
}

void branch_make_ready(struct branch *b)
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

void branch_set_timer(struct branch *b)
{
    int64_t at = !b->asleep || (b->limit && b->limit < b->asleep) ? b->limit : b->asleep;
    timers_set(&b->all->timers, &b->timer, at);
}

static struct branch *of_timer(struct timer *t)
{
    return (struct branch *)((char *)t - offsetof(struct branch, timer));
}

// Wakes branches whose sleep is over, and stops those whose time-out has passed.
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
            branch_make_ready(b);
        }
        branch_set_timer(b);
    }
}

// Wakes the branches of a turn that has to stop. A call in progress ends by itself.
static void wake_stopped(branches *all)
{
    for (struct branch *b = all->live; b; b = b->next)
        if (b->state == WAITING && !b->job && turn_stopped(&b->turn) != FAILURE_NONE)
            branch_make_ready(b);
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
            branch_make_ready(j->branch);
    }
    on_time(all);
    if (stopped)
        wake_stopped(all);
}

// Waits until a job has finished or a timer is due; false: there is nothing to wait for. until:
// mono ns, 0: no limit.
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

// co's error is on its top. Keeps the error, and closes co's variables.
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

void branch_forget_unseen(lua_State *L, branches *all, struct branch *b)
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
            branch_forget_unseen(L, all, u);
    }
}

static void tell_ended(lua_State *L, struct branch *b)
{
    branches *all = b->all;
    for (struct branch *w = STEAL(b->waiters); w; w = w->next_waiter) {
        w->awaited = NULL;
        branch_make_ready(w);
    }
    if (b->group) {
        b->group->running--;
        *b->group->last = b;
        b->group->last = &b->next_ended;
        if (b->group->waiter)
            branch_make_ready(STEAL(b->group->waiter));
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
    if (b->resume != RESUME_ON)
        *(parent ? &parent->anew : &all->anew) = true;
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
        branch_make_ready(parent);
}

static void end(lua_State *L, struct branch *b)
{
    b->state = ENDING;
    if (b->failure != FAILURE_NONE && b->children > 0)
        stop_children(b);
    if (b->children == 0)
        complete(L, b);
}

// Runs a branch until it waits or ends.
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

bool branches_pump(lua_State *L, bool (*over)(void *arg), void *arg, int64_t until)
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

int branches_park(lua_State *L, lua_KContext ctx, lua_KFunction k)
{
    interp_of(L)->branch->state = WAITING;
    return interrupt_park(L, ctx, k);
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
    branches_pump(L, none_left, all, 0);
    while (all->unseen)
        branch_forget_unseen(L, all, all->unseen);
}
