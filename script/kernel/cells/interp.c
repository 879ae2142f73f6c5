// SPDX-License-Identifier: MIT
#include "script/kernel/cells/state.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/cells/deeds.h"
#include "script/kernel/cells/packing.h"
#include "script/kernel/cells/reads.h"
#include "script/kernel/cells/values/luajson.h"
#include "script/notebook/lua/locals.h"
#include "script/pack/errortext.h"

#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    INSIST_MS = 100,
    ANSWER_MS = 1000,   // processor time for complete and inspect
    ANSWERED_MS = 5000, // time in all: Lua may sleep, or the machine may be busy
    LOOK_MS = 100,
    WEDGED_SECONDS = 5,
    END_SECONDS = 2, // time for finalizers when the state is closed
    TRACEBACK_MAX = 30,
    LEVELS_MAX = 500,
};

interp *interp_of(lua_State *L)
{
    return *(interp **)lua_getextraspace(L);
}

static void *allocate(void *arg, void *old, size_t old_size, size_t size)
{
    interp *in = arg;
    size_t before = old ? old_size : 0; // for new objects Lua passes a type in old_size
    if (size == 0) {
        in->used -= before;
        free(old);
        return NULL;
    }
    if (size > before && in->used - before + size > in->cap) {
        in->over_cap = true;
        return NULL;
    }
    void *new = realloc(old, size);
    if (new)
        in->used += size - before;
    return new;
}

bool interp_is_user_frame(const lua_Debug *ar)
{
    return *ar->what != 'C' && !str_starts(ar->source, "@firesteel/");
}

void interp_push_place(lua_State *L)
{
    lua_Debug ar;
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (!interp_is_user_frame(&ar) || ar.currentline <= 0)
            continue;
        lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
        return;
    }
    lua_pushliteral(L, "");
}

int interp_raise(lua_State *L, enum failure as)
{
    interp *in = interp_of(L);
    in->raised_as = as;
    in->raised_last = in->raised;
    interp_push_place(L);
    lua_pushstring(L, in->raised.text);
    lua_concat(L, 2);
    return lua_error(L);
}

bool interp_is_in_cell(const interp *in, const lua_Debug *ar)
{
    return in->running && *ar->source == '=' && str_eq(ar->source + 1, in->running->chunk);
}

void interp_throw_trace(
    interp *in, const char *message, cJSON *trace, int line, enum failure failure)
{
    size_t n = strlen(message), most = sizeof in->raised.text - 1;
    free(in->thrown.message);
    cJSON_Delete(in->thrown.trace);
    in->thrown.message = mem_strdup(message);
    in->thrown.trace = trace;
    in->thrown.line = line;
    in->raised = (err){.code = ERR_FAILED};
    memcpy(in->raised.text, message + (n > most ? n - most : 0), n > most ? most : n);
    in->raised_as = failure;
    in->raised_last = in->raised;
}

cJSON *interp_take_trace(interp *in, const char *message, int *line)
{
    if (!message || !str_eq(message, in->thrown.message))
        return NULL;
    *line = in->thrown.line;
    return STEAL(in->thrown.trace);
}

static int push_held(lua_State *L, cJSON *tree, void (*push)(lua_State *L, const cJSON *j))
{
    interp *in = interp_of(L);
    cJSON_Delete(in->held);
    in->held = tree;
    push(L, tree);
    cJSON_Delete(STEAL(in->held));
    return 1;
}

int interp_push_json(lua_State *L, cJSON *tree)
{
    return push_held(L, tree, luajson_push);
}

int interp_push_whole(lua_State *L, cJSON *tree)
{
    return push_held(L, tree, luajson_push_whole);
}

// The text of one frame of a traceback: "Deploy:3: in function 'submit'".
cJSON *interp_frame_text(const lua_Debug *ar)
{
    const char *where = *ar->what == 'm' ? "in the cell" : NULL;
    AUTO_FREE char *text =
        where      ? str_fmt("%s:%d: %s", ar->short_src, ar->currentline, where)
        : ar->name ? str_fmt("%s:%d: in function '%s'", ar->short_src, ar->currentline, ar->name)
                   : str_fmt("%s:%d: in a function from line %d", ar->short_src, ar->currentline,
                         ar->linedefined);
    return cJSON_CreateString(text);
}

void interp_push_raised(lua_State *L, int index)
{
    index = lua_absindex(L, index);
    if (lua_type(L, index) == LUA_TSTRING) {
        lua_pushvalue(L, index);
        return;
    }
    lua_getfield(L, LUA_REGISTRYINDEX, INTERP_HOOKS);
    lua_getfield(L, -1, "raised");
    lua_pushvalue(L, index);
    if (lua_pcall(L, 1, 1, 0) != LUA_OK || lua_type(L, -1) != LUA_TSTRING)
        error_push(L, index);
}

// The message handler of a cell: keeps the frames of the user's own code, and the line in the cell.
static int on_error(lua_State *L)
{
    interp *in = interp_of(L);
    execution *x = in->running;
    lua_Debug ar;
    cJSON_Delete(x->traceback);
    x->line = 0;
    const char *text = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : NULL;
    x->traceback = interp_take_trace(in, text, &x->line);
    if (!x->traceback)
        x->traceback = cJSON_CreateArray();
    // Lua finds each level by walking from the top, so only the first levels of an endless
    // recursion are kept.
    for (int level = 1; level < LEVELS_MAX && lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "nSl", &ar);
        if (!interp_is_user_frame(&ar))
            continue;
        if (x->line == 0 && interp_is_in_cell(in, &ar))
            x->line = ar.currentline;
        if (cJSON_GetArraySize(x->traceback) < TRACEBACK_MAX)
            cJSON_AddItemToArray(x->traceback, interp_frame_text(&ar));
    }
    interp_push_raised(L, 1);
    return 1;
}

// "Deploy:3: the message" → line 3 and "the message", if the place is in this cell. A place in an
// earlier cell or in a file stays in the message.
static const char *strip_place(execution *x, const char *message)
{
    char prefix[LUA_IDSIZE + 2];
    snprintf(prefix, LUA_IDSIZE, "%s", x->chunk);
    size_t n = strlen(prefix);
    int line, length = 0;
    if (strncmp(message, prefix, n) != 0 || sscanf(message + n, ":%d: %n", &line, &length) != 1 ||
        length == 0)
        return message;
    if (x->line == 0 || x->failure == FAILURE_SYNTAX)
        x->line = line;
    return x->line == line ? message + n + length : message;
}

enum failure interp_classify(const interp *in, int status, const char *message)
{
    if (status == LUA_ERRMEM)
        return FAILURE_MEMORY;
    if (message && in->raised_as != FAILURE_NONE && *in->raised_last.text &&
        str_ends(message, in->raised_last.text))
        return in->raised_as;
    return FAILURE_ERROR;
}

// "… (global 'rate')": says why it is nil, when an earlier cell has it as a local.
static void name_lost_local(execution *x)
{
    for (const cJSON *lost = x->lost ? x->lost->child : NULL; lost; lost = lost->next) {
        AUTO_FREE char *global = str_fmt("(global '%s')", lost->string);
        if (!strstr(x->message, global))
            continue;
        AUTO_FREE char *words = locals_words(lost->string, lost);
        char *message = str_fmt("%s: %s", x->message, words);
        free(x->message);
        x->message = message;
        return;
    }
}

static void describe_failure(interp *in, int status)
{
    execution *x = in->running;
    // on_error turns every other value into a string; turning a number into one would need memory.
    bool has_text = lua_type(in->L, -1) == LUA_TSTRING;
    const char *message = has_text ? lua_tostring(in->L, -1) : "an error without a text";
    if (x->failure == FAILURE_NONE) // otherwise it is a syntax error: set before the raise
        x->failure = interp_classify(in, status, message);
    if (x->failure == FAILURE_MEMORY && in->over_cap) {
        x->message = str_fmt("the notebook's values need more than the %zu MiB that the kernel "
                             "allows (--memory); values that are no longer needed go when they "
                             "are set to nil",
            in->cap >> 20);
        return;
    }
    if (x->failure == FAILURE_MEMORY) {
        char limit[LIMITS_WORDS];
        limits_memory(limit, 0);
        x->message = str_fmt("%s: %s", strip_place(x, message), limit);
        return;
    }
    x->message = mem_strdup(strip_place(x, message));
    name_lost_local(x);
}

// Tells of the names that the cell has read, and that were nil because they are locals of earlier
// cells. A failure has told the one that it is about.
static void tell_lost_locals(interp *in, const execution *x)
{
    port *p = in->options->effects->spec.port;
    const cJSON *read, *reads = x->lost ? json_get(x->used, "reads") : NULL;
    cJSON_ArrayForEach(read, reads)
    {
        const cJSON *lost = json_get(x->lost, read->valuestring);
        AUTO_FREE char *words = lost ? locals_words(read->valuestring, lost) : NULL;
        if (!lost || (x->message && strstr(x->message, words)))
            continue;
        AUTO_FREE char *line = str_fmt("%s is nil here: %s\n", read->valuestring, words);
        port_text(p, x->turn.cell, NULL, "stderr", line, strlen(line));
    }
}

// The error of a program that ran the cell: the program knows better than our call what failed.
static void take_foreign(execution *x)
{
    cJSON *foreign = x->turn.foreign;
    if (!foreign || (x->failure != FAILURE_ERROR && x->failure != FAILURE_REFUSED))
        return;
    free(x->message);
    cJSON_Delete(x->traceback);
    if (x->failure == FAILURE_ERROR)
        x->name = mem_strdup(json_str(foreign, "name"));
    x->message = mem_strdup(json_str_or(foreign, "message", ""));
    x->traceback = cJSON_DetachItemFromObjectCaseSensitive(foreign, "traceback");
}

struct capture {
    const char *name;
    buf text;
};

// Stack: the captured text.
static int set_captured(lua_State *L)
{
    const struct capture *c = lua_touserdata(L, 1);
    lua_pushlstring(L, c->text.data ? c->text.data : "", c->text.len);
    lua_setglobal(L, c->name);
    return 0;
}

// Stores what the cell printed in the variable that its capture= names.
static void store_capture(interp *in, execution *x)
{
    if (!x->plan.capture)
        return;
    struct capture c = {.name = x->plan.capture};
    bool failed = x->failure != FAILURE_NONE;
    port_take_capture(in->options->effects->spec.port, x->turn.cell, failed, &c.text);
    if (*c.name) {
        lua_pushcfunction(in->L, set_captured);
        lua_pushlightuserdata(in->L, &c);
        int status = lua_pcall(in->L, 1, 0, 0);
        if (status != LUA_OK && !failed)
            describe_failure(in, status);
    }
    buf_done(&c.text);
}

static int call_left(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, INTERP_HOOKS);
    lua_getfield(L, -1, "left");
    lua_call(L, 0, 0);
    return 0;
}

// Records the files that the cell has written, also when it was stopped; not if memory has run out.
static void note_files(lua_State *L)
{
    lua_pushcfunction(L, call_left);
    if (lua_pcall(L, 0, 0, 0) != LUA_OK)
        lua_pop(L, 1);
}

static void begin_turn(interp *in, turn *t)
{
    in->turn = t;
    in->raised_as = FAILURE_NONE;
    in->over_cap = false;
    lua_settop(in->L, 0);
    interrupt_enter(&in->interrupt, in->L, t);
}

static void end_turn(interp *in)
{
    interrupt_leave(&in->interrupt, in->L);
    lua_settop(in->L, 0);
    cJSON_Delete(STEAL(in->held));
    in->turn = NULL;
}

static int begin_reads(lua_State *L)
{
    const execution *x = lua_touserdata(L, 1);
    reads_begin(L, x->plan.text && strstr(x->plan.text, "_ENV"));
    return 0;
}

static int end_reads(lua_State *L)
{
    execution *x = lua_touserdata(L, 1);
    cJSON_Delete(STEAL(x->used));
    x->used = reads_end(L, port_mask(interp_of(L)->options->effects->spec.port));
    if (x->plan.kind == PLAN_KERNEL && x->turn.used) {
        cJSON_Delete(x->used);
        x->used = STEAL(x->turn.used);
    }
    return 0;
}

// Without memory we do not know which globals were used.
static void with_reads(interp *in, lua_CFunction fn, execution *x)
{
    lua_pushcfunction(in->L, fn);
    lua_pushlightuserdata(in->L, x);
    if (lua_pcall(in->L, 1, 0, 0) != LUA_OK)
        lua_pop(in->L, 1);
}

static void run(interp *in, execution *x)
{
    lua_State *L = in->L;
    in->running = x;
    deeds_forget(in);
    inputs_begin(in->inputs, &x->turn);
    with_reads(in, begin_reads, x);
    begin_turn(in, &x->turn);
    branches_begin(in->branches);
    lua_pushcfunction(L, on_error);
    lua_pushcfunction(L, cells_run);
    lua_pushlightuserdata(L, x);
    int status = lua_pcall(L, 1, 0, 1);
    if (status != LUA_OK) {
        describe_failure(in, status);
        take_foreign(x);
    }
    branches_drop(L);
    deeds_do(in, x);
    store_capture(in, x);
    interrupt_leave(&in->interrupt, L); // the code that follows is short, and belongs to this cell
    if (x->failure == FAILURE_INTERRUPTED || x->failure == FAILURE_TIMEOUT)
        inputs_stopped(in->inputs);
    note_files(L);
    end_turn(in);
    with_reads(in, end_reads, x);
    tell_lost_locals(in, x);
    if (x->failure == FAILURE_MEMORY)
        lua_gc(L, LUA_GCCOLLECT);
    in->running = NULL;
}

// Stack: the lookup. Reading the answer may raise, too: then `held` has what was made so far.
static int ask_hook(lua_State *L)
{
    struct lookup *l = lua_touserdata(L, 1);
    reads_stop(L);
    lua_getfield(L, LUA_REGISTRYINDEX, INTERP_HOOKS);
    lua_getfield(L, -1, l->question.function);
    luajson_push(L, l->question.args);
    lua_call(L, 1, 1);
    l->result = luajson_read(L, -1, NULL);
    return 0;
}

static void answer(interp *in, struct lookup *l)
{
    begin_turn(in, &l->turn); // it may run a user's __tostring
    lua_pushcfunction(in->L, ask_hook);
    lua_pushlightuserdata(in->L, l);
    lua_pcall(in->L, 1, 0, 0);
    end_turn(in);
}

// The same seed gives the same numbers.
static void seed_random(lua_State *L)
{
    lua_getglobal(L, LUA_MATHLIBNAME);
    lua_getfield(L, -1, "randomseed");
    lua_pushinteger(L, interp_of(L)->options->seed);
    lua_call(L, 1, 0);
    lua_pop(L, 1);
}

// Stack: nothing. Sets up everything that a cell sees; runs only our own code.
static int open_everything(lua_State *L)
{
    luaL_openlibs(L);
    seed_random(L);
    interrupt_install(&interp_of(L)->interrupt, L);
    packing_open(L);
    library_open(L);
    reads_open(L);
    return 0;
}

// If our own library does not load, that is a bug of ours; every cell reports it.
static void open_state(interp *in)
{
    in->L = lua_newstate(allocate, in);
    if (!in->L) {
        err_set(&in->broken, ERR_FAILED, "Lua cannot start: its memory (--memory) is too small");
        return;
    }
    *(interp **)lua_getextraspace(in->L) = in;
    lua_gc(in->L, LUA_GCGEN, 0, 0);
    lua_pushcfunction(in->L, open_everything);
    if (lua_pcall(in->L, 0, 0, 0) != LUA_OK) {
        error_take(in->L, ERR_FAILED, &in->broken);
        err_wrap(&in->broken, "the kernel's library is broken");
    }
    lua_settop(in->L, 0);
}

// Waits for work; false: time to quit.
static bool next_turn(interp *in, execution **x, struct lookup **l)
{
    pthread_mutex_lock(&in->lock);
    while (!in->quit && !in->next_execution && !in->next_lookup)
        pthread_cond_wait(&in->wake, &in->lock);
    bool quit = in->quit;
    *x = quit ? NULL : STEAL(in->next_execution);
    *l = quit || *x ? NULL : STEAL(in->next_lookup);
    in->current = *x ? &(*x)->turn : *l ? &(*l)->turn : NULL;
    pthread_mutex_unlock(&in->lock);
    return !quit;
}

static bool anything_stopped(const interp *in)
{
    return (in->execution && turn_stopped(&in->execution->turn)) ||
           (in->lookup && turn_stopped(&in->lookup->turn));
}

// A turn is over; other turns are not touched.
static void settle(interp *in)
{
    in->wedge_reported = false;
    if (!anything_stopped(in))
        loop_timer_stop(in->insist);
}

static void post_executed(void *arg)
{
    execution *x = arg;
    interp *in = x->interp;
    in->execution = NULL;
    settle(in);
    in->ops->executed(in->arg, x);
}

static void lookup_free(struct lookup *l)
{
    cJSON_Delete(l->result);
    cJSON_Delete(l->question.args);
    turn_done(&l->turn);
    free(l);
}

static void post_answered(void *arg)
{
    struct lookup *l = arg;
    interp *in = l->interp;
    in->lookup = NULL;
    loop_timer_stop(in->patience);
    settle(in);
    l->question.reply(l->question.arg, l->result);
    lookup_free(l);
}

static void execute(interp *in, execution *x)
{
    if (in->broken.code) {
        x->failure = FAILURE_ERROR;
        x->message = mem_strdup(in->broken.text);
    } else
        run(in, x);
}

// Returns the execution that follows x, if x has ended well and x need not be given back to the
// loop; else NULL. An x with deferred functions must be given back: a message about it is on its
// way to the loop, and a mark could overtake that (deeds.c).
static execution *follow(interp *in, execution *x)
{
    if (x->failure != FAILURE_NONE || x->skipped || x->owed_ns)
        return NULL;
    pthread_mutex_lock(&in->lock);
    execution *next = in->quit || turn_stopped(&x->turn) ? NULL : in->followers;
    if (next) {
        in->followers = STEAL(next->next);
        in->current = &next->turn;
        x->ended = next->started = clock_mono();
        x->next = next;
        port_passed(in->options->effects->spec.port, x); // with the lock: interp_withdraw
    }
    pthread_mutex_unlock(&in->lock);
    return next;
}

// Gives the turn back to its maker, who may free it as soon as fn is called.
static void give_back(interp *in, void (*fn)(void *arg), void *arg)
{
    pthread_mutex_lock(&in->lock);
    in->current = NULL;
    pthread_mutex_unlock(&in->lock);
    loop_post(in->options->effects->spec.loop, fn, arg);
}

static void *thread_main(void *arg)
{
    interp *in = arg;
    execution *x;
    struct lookup *l;
    open_state(in);
    while (next_turn(in, &x, &l)) {
        if (x) {
            execute(in, x);
            for (execution *next; (next = follow(in, x)); x = next)
                execute(in, next);
            give_back(in, post_executed, x);
        } else {
            if (!in->broken.code)
                answer(in, l);
            give_back(in, post_answered, l);
        }
    }
    if (in->L)
        lua_close(in->L);
    return NULL;
}

// Signals the Lua thread if it is at a turn that has to stop.
static void signal_stopped(interp *in)
{
    pthread_mutex_lock(&in->lock);
    bool stops = in->current && turn_stopped(in->current);
    pthread_mutex_unlock(&in->lock);
    if (stops)
        interrupt_send(in->thread);
}

static bool is_overdue(const turn *t)
{
    return turn_stopped(t) && clock_mono() - t->stopped_at >= WEDGED_SECONDS * CLOCK_SEC;
}

static void on_insist(void *arg)
{
    interp *in = arg;
    signal_stopped(in);
    bool wedged = (in->execution && is_overdue(&in->execution->turn)) ||
                  (in->lookup && is_overdue(&in->lookup->turn));
    if (!wedged || in->wedge_reported)
        return;
    // The calls in which it waits were cancelled already; sending the signal again would not help.
    loop_timer_start(in->insist, 1000, 1000);
    in->wedge_reported = true;
    in->ops->wedged(in->arg);
}

static void stop(interp *in, turn *t, enum failure why)
{
    if (!turn_stop(t, why))
        return;
    signal_stopped(in);
    loop_timer_start(in->insist, INSIST_MS, INSIST_MS);
}

// The processor time that the Lua thread has used, ns.
static int64_t used_time(const interp *in)
{
    clockid_t id;
    struct timespec t = {0};
    if (pthread_getcpuclockid(in->thread, &id) == 0)
        clock_gettime(id, &t);
    return t.tv_sec * CLOCK_SEC + t.tv_nsec;
}

static void on_patience(void *arg)
{
    interp *in = arg;
    const struct lookup *l = in->lookup;
    if (!l)
        return;
    if (used_time(in) - l->asked_used < ANSWER_MS * CLOCK_MS &&
        clock_mono() - l->asked < ANSWERED_MS * CLOCK_MS)
        return;
    loop_timer_stop(in->patience);
    stop(in, &in->lookup->turn, FAILURE_TIMEOUT);
}

static int start_thread(interp *in)
{
    interrupt_prepare();
    // The loop's thread takes all signals except the one that interrupts Lua.
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&in->thread, NULL, thread_main, in);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

interp *interp_new(const struct interp_options *o, const struct interp_ops *ops, void *arg, err *e)
{
    interp *in = mem_alloc(sizeof *in);
    *in = (interp){.options = o, .ops = ops, .arg = arg, .cap = o->memory, .inputs = inputs_new()};
    in->branches = branches_new(in);
    o->effects->serve = interp_serve;
    o->effects->serve_arg = in;
    pthread_mutex_init(&in->lock, NULL);
    pthread_cond_init(&in->wake, NULL);
    in->insist = loop_timer_new(o->effects->spec.loop, on_insist, in);
    in->patience = loop_timer_new(o->effects->spec.loop, on_patience, in);
    int failed = start_thread(in);
    if (!failed)
        return in;
    err_start(e, failed, "cannot start the Lua thread");
    interp_free(in);
    return NULL;
}

static void take(interp *in, execution *x)
{
    x->interp = in;
    x->turn.on_stop = branches_wake;
    x->turn.on_stop_arg = in->branches;
}

void interp_follow(interp *in, execution *x)
{
    take(in, x);
    pthread_mutex_lock(&in->lock);
    execution **last = &in->followers;
    while (*last)
        last = &(*last)->next;
    *last = x;
    pthread_mutex_unlock(&in->lock);
}

void interp_passed(interp *in, execution *begun)
{
    in->execution = begun;
    settle(in);
}

execution *interp_withdraw(interp *in)
{
    pthread_mutex_lock(&in->lock);
    execution *first = STEAL(in->followers);
    pthread_mutex_unlock(&in->lock);
    return first;
}

void interp_execute(interp *in, execution *x)
{
    take(in, x);
    in->execution = x;
    pthread_mutex_lock(&in->lock);
    struct lookup *unbegun = STEAL(in->next_lookup);
    in->next_execution = x;
    pthread_mutex_unlock(&in->lock);
    pthread_cond_signal(&in->wake); // do this without the lock: the thread would wake only to wait
                                    // for it
    if (unbegun)                    // the lookup had not begun: ends it without an answer
        loop_post(in->options->effects->spec.loop, post_answered, unbegun);
    else if (in->lookup)
        stop(in, &in->lookup->turn, FAILURE_INTERRUPTED);
}

void interp_stop(interp *in, execution *x, enum failure why)
{
    stop(in, &x->turn, why);
}

bool interp_ask(interp *in, struct interp_question question)
{
    if (in->lookup)
        return false;
    struct lookup *l = mem_alloc(sizeof *l);
    *l = (struct lookup){.question = question, .interp = in};
    l->asked = clock_mono();
    l->asked_used = used_time(in);
    turn_init(&l->turn, "", 0);
    in->lookup = l;
    pthread_mutex_lock(&in->lock);
    in->next_lookup = l;
    pthread_cond_signal(&in->wake);
    pthread_mutex_unlock(&in->lock);
    loop_timer_start(in->patience, LOOK_MS, LOOK_MS);
    return true;
}

bool interp_end(interp *in)
{
    if (!in)
        return true;
    pthread_mutex_lock(&in->lock);
    in->quit = true;
    pthread_cond_signal(&in->wake);
    pthread_mutex_unlock(&in->lock);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_SECONDS;
    return pthread_timedjoin_np(in->thread, NULL, &until) == 0;
}

void interp_free(interp *in)
{
    if (!in)
        return;
    loop_timer_free(in->insist);
    loop_timer_free(in->patience);
    inputs_free(in->inputs);
    branches_free(in->branches);
    free(in->thrown.message);
    cJSON_Delete(in->thrown.trace);
    pthread_cond_destroy(&in->wake);
    pthread_mutex_destroy(&in->lock);
    free(in);
}
