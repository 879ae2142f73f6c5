// SPDX-License-Identifier: MIT
#include "script/kernel/cells/interp.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/cells/luajson.h"

#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    INSIST_MS = 100,
    ANSWER_MS = 1000, // for complete and inspect
    WEDGED_SECONDS = 5,
    END_SECONDS = 2, // for finalizers when the state is closed
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
    size_t before = old ? old_size : 0; // for new objects Lua passes a type here
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
    interp_push_place(L);
    lua_pushstring(L, in->raised.text);
    lua_concat(L, 2);
    return lua_error(L);
}

// One frame of a traceback, "Deploy:3: in function 'submit'".
static cJSON *frame_text(lua_State *L, lua_Debug *ar)
{
    const char *where = *ar->what == 'm' ? "in the cell" : NULL;
    AUTO_FREE char *text =
        where      ? str_fmt("%s:%d: %s", ar->short_src, ar->currentline, where)
        : ar->name ? str_fmt("%s:%d: in function '%s'", ar->short_src, ar->currentline, ar->name)
                   : str_fmt("%s:%d: in a function from line %d", ar->short_src, ar->currentline,
                         ar->linedefined);
    return cJSON_CreateString(text);
}

// The message handler of a cell: keeps the frames that a user wrote, and the line in the cell.
static int on_error(lua_State *L)
{
    execution *x = interp_of(L)->running;
    lua_Debug ar;
    cJSON_Delete(x->traceback);
    x->traceback = cJSON_CreateArray();
    x->line = 0;
    // A level is found by walking to it, so an endless recursion is not looked at to its end.
    for (int level = 1; level < LEVELS_MAX && lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "nSl", &ar);
        if (!interp_is_user_frame(&ar))
            continue;
        if (x->line == 0 && *ar.source == '=' && str_eq(ar.source + 1, x->chunk))
            x->line = ar.currentline;
        if (cJSON_GetArraySize(x->traceback) < TRACEBACK_MAX)
            cJSON_AddItemToArray(x->traceback, frame_text(L, &ar));
    }
    luaL_tolstring(L, 1, NULL);
    return 1;
}

// "Deploy:3: the message" → line 3 and "the message", when the place is in this cell. A function of
// an earlier cell or a file keeps its place in the message.
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

static enum failure classify(interp *in, int status, const char *message)
{
    if (in->running->failure != FAILURE_NONE) // syntax: known before it was raised
        return in->running->failure;
    if (status == LUA_ERRMEM)
        return FAILURE_MEMORY;
    if (in->raised_as != FAILURE_NONE && str_ends(message, in->raised.text))
        return in->raised_as;
    return FAILURE_ERROR;
}

static void describe_failure(interp *in, int status)
{
    execution *x = in->running;
    const char *message = lua_tostring(in->L, -1);
    if (!message)
        message = "an error without a text";
    x->failure = classify(in, status, message);
    if (x->failure == FAILURE_MEMORY && in->over_cap) {
        AUTO_BUF text = {0};
        buf_fmt(&text,
            "the notebook's values need more than the %zu MiB that the kernel allows "
            "(--memory); values that are no longer needed go when they are set to nil",
            in->cap >> 20);
        x->message = buf_take(&text);
        return;
    }
    x->message = mem_strdup(strip_place(x, message));
}

// Stack: the name, the text.
static int set_global(lua_State *L)
{
    lua_setglobal(L, lua_tostring(L, 1));
    return 0;
}

// What the cell printed becomes the variable that its capture= names.
static void store_capture(interp *in, execution *x)
{
    if (!x->plan.capture)
        return;
    AUTO_BUF text = {0};
    kernel_take_capture(in->kernel, x->cell, x->failure != FAILURE_NONE, &text);
    if (!*x->plan.capture)
        return;
    lua_State *L = in->L;
    lua_pushcfunction(L, set_global);
    lua_pushstring(L, x->plan.capture);
    lua_pushlstring(L, buf_cstr(&text), text.len);
    lua_pcall(L, 2, 0, 0);
}

static void run(interp *in, execution *x)
{
    lua_State *L = in->L;
    in->running = x;
    in->raised_as = FAILURE_NONE;
    in->over_cap = false;
    interrupt_enter(&in->interrupt, L);
    lua_settop(L, 0);
    lua_pushcfunction(L, on_error);
    lua_pushcfunction(L, cells_run);
    lua_pushlightuserdata(L, x);
    int status = lua_pcall(L, 1, 0, 1);
    if (status != LUA_OK)
        describe_failure(in, status);
    store_capture(in, x);
    interrupt_leave(&in->interrupt);
    lua_sethook(L, NULL, 0, 0);
    lua_settop(L, 0);
    cJSON_Delete(STEAL(in->held));
    if (x->failure == FAILURE_MEMORY)
        lua_gc(L, LUA_GCCOLLECT);
    in->running = NULL;
}

struct executed {
    kernel *kernel;
    execution *execution;
};

static void post_executed(void *arg)
{
    struct executed *done = arg;
    kernel_executed(done->kernel, done->execution);
    free(done);
}

struct answered {
    interp *interp;
    struct interp_question *question;
    cJSON *result;
};

static void post_answered(void *arg)
{
    struct answered *done = arg;
    interp_is_back(done->interp);
    done->question->reply(done->question->arg, done->result);
    cJSON_Delete(done->result);
    cJSON_Delete(done->question->args);
    free(done->question);
    free(done);
}

// Stack: the question. Leaves the hook's result.
static int ask_hook(lua_State *L)
{
    const struct interp_question *q = lua_touserdata(L, 1);
    lua_getfield(L, LUA_REGISTRYINDEX, INTERP_HOOKS);
    lua_getfield(L, -1, q->function);
    luajson_push(L, q->args);
    lua_call(L, 1, 1);
    return 1;
}

static void answer(interp *in, struct interp_question *q)
{
    lua_State *L = in->L;
    struct answered *done = mem_alloc(sizeof *done);
    *done = (struct answered){.interp = in, .question = q};
    interrupt_enter(&in->interrupt, L); // a user's __tostring may be in it
    lua_pushcfunction(L, ask_hook);
    lua_pushlightuserdata(L, q);
    if (lua_pcall(L, 1, 1, 0) == LUA_OK)
        done->result = luajson_read(L, -1, NULL);
    interrupt_leave(&in->interrupt);
    lua_sethook(L, NULL, 0, 0);
    lua_settop(L, 0);
    loop_post(in->kernel->loop, post_answered, done);
}

// Stack: nothing. Everything a cell sees is made here; it runs only our own code.
static int open_everything(lua_State *L)
{
    luaL_openlibs(L);
    interrupt_install(&interp_of(L)->interrupt, L);
    library_open(L);
    return 0;
}

// Our own library does not fail to load; if it does, it is a mistake of ours, and every cell says
// so.
static void open_state(interp *in)
{
    in->L = lua_newstate(allocate, in);
    *(interp **)lua_getextraspace(in->L) = in;
    lua_gc(in->L, LUA_GCGEN, 0, 0);
    lua_pushcfunction(in->L, open_everything);
    if (lua_pcall(in->L, 0, 0, 0) != LUA_OK)
        err_set(
            &in->broken, ERR_FAILED, "the kernel's library is broken: %s", lua_tostring(in->L, -1));
    lua_settop(in->L, 0);
}

// Waits for something to do; false: to quit.
static bool next_job(interp *in, execution **x, struct interp_question **q)
{
    pthread_mutex_lock(&in->lock);
    while (!in->quit && !in->job && !in->question)
        pthread_cond_wait(&in->wake, &in->lock);
    *x = STEAL(in->job);
    *q = *x ? NULL : STEAL(in->question);
    bool quit = in->quit;
    pthread_mutex_unlock(&in->lock);
    return !quit;
}

static void *thread_main(void *arg)
{
    interp *in = arg;
    execution *x;
    struct interp_question *q;
    open_state(in);
    while (next_job(in, &x, &q)) {
        if (q)
            answer(in, q);
        if (!x)
            continue;
        if (in->broken.code) {
            x->failure = FAILURE_ERROR;
            x->message = mem_strdup(in->broken.text);
        } else
            run(in, x);
        struct executed *done = mem_alloc(sizeof *done);
        *done = (struct executed){in->kernel, x};
        loop_post(in->kernel->loop, post_executed, done);
    }
    lua_close(in->L);
    return NULL;
}

static void on_insist(void *arg)
{
    interp *in = arg;
    interrupt_send(&in->interrupt, in->thread);
    int64_t since = clock_mono() - in->insisting;
    if (since < WEDGED_SECONDS * CLOCK_SEC)
        return;
    // The waits that a call is in have had their cancel; a signal more often would not help.
    loop_timer_start(in->insist, 1000, 1000);
    kernel_wedged(in->kernel);
}

interp *interp_new(kernel *k, size_t memory, err *e)
{
    interp *in = mem_alloc(sizeof *in);
    in->kernel = k;
    in->cap = memory;
    in->interrupt.waits = k->waits;
    pthread_mutex_init(&in->lock, NULL);
    pthread_cond_init(&in->wake, NULL);
    in->insist = loop_timer_new(k->loop, on_insist, in);
    interrupt_prepare();
    // Signals are the loop thread's, but the one that interrupts.
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&in->thread, NULL, thread_main, in);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        return in;
    err_errno(e, failed, "cannot start the Lua thread");
    loop_timer_free(in->insist);
    free(in);
    return NULL;
}

void interp_execute(interp *in, execution *x)
{
    pthread_mutex_lock(&in->lock);
    in->job = x;
    pthread_cond_signal(&in->wake);
    pthread_mutex_unlock(&in->lock);
}

bool interp_ask(interp *in, struct interp_question question)
{
    pthread_mutex_lock(&in->lock);
    bool taken = !in->question && !in->insisting;
    if (taken)
        in->question = mem_dup(&question, sizeof question);
    pthread_cond_signal(&in->wake);
    pthread_mutex_unlock(&in->lock);
    if (taken) {
        in->insisting = clock_mono();
        loop_timer_start(in->insist, ANSWER_MS, INSIST_MS);
    }
    return taken;
}

void interp_stop_running(interp *in)
{
    if (in->insisting)
        return;
    in->insisting = clock_mono();
    interrupt_send(&in->interrupt, in->thread);
    loop_timer_start(in->insist, INSIST_MS, INSIST_MS);
}

void interp_is_back(interp *in)
{
    in->insisting = 0;
    loop_timer_stop(in->insist);
    interrupt_reset(&in->interrupt);
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
    pthread_cond_destroy(&in->wake);
    pthread_mutex_destroy(&in->lock);
    free(in);
}
