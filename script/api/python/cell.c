// SPDX-License-Identifier: MIT
#include "script/api/python/cell.h"

#include "base/data/digest.h"
#include "base/json/secret.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/api/python/calls.h"
#include "script/api/python/followed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// An interrupt that Python raises where exceptions are ignored (a destructor, a callback) is lost.
enum { AGAIN_MS = 2500 };

// The thread goes on.
void run_wake(struct run *r)
{
    if (r->pending)
        loop_call_finish(STEAL(r->pending));
}

bool run_has_calls(const struct run *r)
{
    return call_paths(r->call)->python && spec_is_python(r->spec);
}

bool run_must_note(const struct run *r)
{
    return r->opened && !r->noted;
}

void run_wake_if_over(struct run *r)
{
    if (r->idle && r->replied)
        run_wake(r);
}

// What is asked after a cell: which names it has read and set.
static char *ask_names(const struct run *r)
{
    if (!run_has_calls(r))
        return NULL;
    AUTO_JSON *code = cJSON_CreateString(r->code);
    AUTO_FREE char *text = json_to_str(code);
    return str_fmt("__import__('firesteel._names')._names.of(%s)", text);
}

static void follow(struct run *r, const char *text)
{
    err e = {0};
    if (r->session->folder && followed_set(r->session->folder, text, r->refusing, &e) < 0)
        r->failed = e;
}

// What other cells have set, before this one.
static void tell_environment(struct run *r)
{
    struct session *s = r->session;
    AUTO_FREE char *json = r->environment ? json_to_str(r->environment) : NULL;
    if (!json || !run_has_calls(r) || str_eq(json, s->told))
        return;
    AUTO_JSON *quoted = cJSON_CreateString(json);
    AUTO_FREE char *literal = json_to_str(quoted);
    AUTO_FREE char *code = str_fmt("__import__('firesteel._environ')._environ.take(%s)", literal);
    session_request(s, "shell", "execute_request", "environment", session_execute(code, true));
    free(s->told);
    s->told = STEAL(json);
}

void cell_send(struct run *r)
{
    follow(r, r->kubeconfig);
    tell_environment(r);
    r->opened = r->hub->clients || (r->kubeconfig && r->session->unwatched);
    if (r->opened)
        run_wake(r);
    cJSON *content = session_execute(r->code, r->expression != NULL);
    AUTO_FREE char *names = r->expression ? NULL : ask_names(r);
    const char *expression = r->expression ? r->expression : names;
    if (expression)
        json_set_str(json_object_at(content, "user_expressions"), "value", expression);
    snprintf(r->id, sizeof r->id, "cell-%lld", (long long)++r->session->sent);
    json_set_bool(content, "allow_stdin", !call_is_headless(r->call));
    json_set_bool(content, "stop_on_error", true);
    session_request(r->session, "shell", "execute_request", r->id, content);
    if (r->session->late.len)
        call_output(r->call, "stdout", r->session->late.data, r->session->late.len);
    buf_clear(&r->session->late);
}

// Calls of the cell's thread.

static void tell_lost(struct run *r)
{
    AUTO_FREE char *text =
        str_fmt("%s was started anew: what cells had set in it is gone.\n", r->session->name);
    if (r->session->lost)
        call_output(r->call, "stderr", text, strlen(text));
    r->session->lost = false;
}

static void begin(loop_pending *pending, void *arg)
{
    struct run *r = arg;
    struct session *s = r->session = session_of(r->hub, r);
    r->pending = pending;
    if (s->run) {
        err_set(&r->failed, ERR_CONFLICT, "%s is at another cell", s->name);
        r->session = NULL;
        run_wake(r);
        return;
    }
    s->run = r;
    tell_lost(r);
    if (s->up)
        cell_send(r);
    else if (!s->child && session_start(s, r, &r->failed) < 0)
        run_wake(r);
}

static void go_on(loop_pending *pending, void *arg)
{
    struct run *r = arg;
    cJSON *content = cJSON_CreateObject();
    r->pending = pending;
    json_set_str(content, "value", r->answer);
    free(STEAL(r->question));
    session_request(r->session, "stdin", "input_reply", "answer", content);
    if (!r->session->child || r->wanted || run_must_note(r))
        run_wake(r); // it has ended meanwhile, or a thread of it calls
}

static void go_on_noted(loop_pending *pending, void *arg)
{
    struct run *r = arg;
    r->pending = pending;
    if (!r->session->child || r->wanted || r->question)
        run_wake(r);
    run_wake_if_over(r);
}

// A call was done.
static void hand_back(loop_pending *pending, void *arg)
{
    struct run *r = arg;
    r->pending = pending;
    cJSON_Delete(STEAL(r->wanted));
    calls_answer(r->session, STEAL(r->served));
    if (!r->session->child || run_must_note(r))
        run_wake(r); // it has ended meanwhile
    run_wake_if_over(r);
}

// One that meets ipykernel before it runs the cell makes it forget the request: it says that it is
// idle, and never replies.
static void interrupt(void *arg)
{
    struct session *s = arg;
    if (s->run && s->run->idle) {
        run_wake(s->run);
        return;
    }
    session_send(s, session_order("interrupt"));
    if (!s->again)
        s->again = loop_timer_new(s->loop, interrupt, s);
    loop_timer_start(s->again, AGAIN_MS, 0);
}

// The call that it waits for is over. This goes out after the interrupt, never before it: then the
// signal is there when the answer comes, and Python's main thread raises KeyboardInterrupt in the
// call. The other way round it would leave the call with our error, and meet the signal in the
// cell's `finally`. A call of another thread has only the answer.
static void refuse_wanted(struct run *r)
{
    if (r->wanted)
        calls_answer(
            r->session, calls_refused(r->wanted, "interrupted", "the cell was interrupted"));
    cJSON_Delete(STEAL(r->wanted));
}

// As long as it starts, nothing is lost with it.
static void cancel(loop_pending *pending, void *arg)
{
    struct run *r = arg;
    struct session *s = r->session;
    r->stops = true;
    if (s && s->up) {
        interrupt(s);
        refuse_wanted(r);
        return;
    }
    if (s)
        session_clear(s);
    run_wake(r);
}

static void give_up(loop_pending *pending, void *arg)
{
    struct run *r = arg;
    r->pending = pending;
    cancel(pending, r);
    if (!r->session->child || (r->idle && r->replied))
        run_wake(r);
}

static void leave(loop_pending *pending, void *arg)
{
    struct run *r = arg;
    if (r->session) {
        if (r->kubeconfig)
            follow(r, NULL);
        r->session->run = NULL;
        loop_timer_free(STEAL(r->session->again));
    }
    loop_call_finish(pending);
}

static void do_nothing(loop_pending *pending, void *arg)
{
}

// 0: the cell is over, or `failed` says why not. -1: it was stopped.
static int wait_for(struct run *r, void (*start)(loop_pending *, void *), bool stops, err *e)
{
    const struct loop_call_ops ops = {.start = start, .cancel = stops ? cancel : do_nothing};
    return loop_call(call_loop(r->call), stops ? call_canceller(r->call) : NULL, &ops, r, 0, e);
}

static int answer_question(struct run *r, err *e)
{
    AUTO_FREE char *answer = call_ask(r->call, r->question, r->secret, e);
    r->answer = answer;
    return answer ? wait_for(r, go_on, true, e) : 1;
}

// A call that is not granted ends the cell as in Lua, if Python lets it.
static void note_refusal(struct run *r)
{
    const cJSON *error = json_get(r->served, "error");
    if (!str_eq(json_str(error, "kind"), "refused"))
        return;
    free(r->refusal);
    r->refusal = mem_strdup(json_str_or(error, "message", ""));
}

static int answer_call(struct run *r, err *e)
{
    cJSON *asked = cJSON_Duplicate(r->wanted, true);
    if (call_serve(r->call, "serve", asked, &r->served, e) < 0)
        return 1;
    json_set_int(r->served, "id", json_int_or(r->wanted, "id", 0));
    note_refusal(r);
    return wait_for(r, hand_back, true, e);
}

// A resumed run must know, whatever happens next, that this cell is not to be done again.
static int note_use(struct run *r, err *e)
{
    AUTO_JSON *made = cJSON_CreateObject();
    json_set_bool(made, CELL_USED, true);
    r->noted = true;
    return call_ledger_partial(r->call, made, e) < 0 ? 1 : wait_for(r, go_on_noted, true, e);
}

static int converse(struct run *r, err *e)
{
    int done = wait_for(r, begin, true, e);
    while (done == 0 && (run_must_note(r) || r->question || r->wanted))
        done = run_must_note(r) ? note_use(r, e)
               : r->question    ? answer_question(r, e)
                                : answer_call(r, e);
    if (done > 0)
        wait_for(r, give_up, false, &(err){0});
    return done ? -1 : 0;
}

// Of a value the digest, "" where nobody may or can tell it.
static void add_write(const struct run *r, cJSON *writes, const cJSON *told)
{
    const char *text = cJSON_GetStringValue(told);
    char hex[SHA256_SHORT] = "";
    if (text && !secret_name(told->string) && !call_is_secret(r->call, text))
        sha256_short(text, strlen(text), hex);
    json_set_str(writes, told->string, hex);
}

// The names that the cell has read and set, as its kernel tells them (firesteel._names).
void cell_note_names(const struct run *r)
{
    cJSON *used = cJSON_CreateObject();
    const cJSON *reads = json_get(r->value, "reads"), *told;
    if (!reads || r->expression) {
        json_set_bool(used, "unknown", true);
        call_used(r->call, used);
        return;
    }
    json_set(used, "reads", cJSON_Duplicate(reads, true));
    json_set(used, "touched", cJSON_Duplicate(json_get(r->value, "touched"), true));
    cJSON *writes = json_object_at(used, "writes");
    cJSON_ArrayForEach(told, json_get(r->value, "writes"))
    {
        add_write(r, writes, told);
    }
    call_used(r->call, used);
}

int cell_pass_environment(struct run *r, err *e)
{
    cJSON *changes = (cJSON *)json_get(r->value, "environ"), *none = NULL;
    if (!changes || !changes->child)
        return 0;
    int done = call_serve(r->call, "environ", cJSON_Duplicate(changes, true), &none, e);
    cJSON_Delete(none);
    return done;
}

static int tell_failure(struct run *r, err *e)
{
    if (err_give(e, &r->failed) < 0)
        return -1;
    if (!r->error)
        return 0;
    const char *name = json_str_or(r->error, "name", ""),
               *message = json_str_or(r->error, "message", "");
    bool refused = str_eq(name, "Refused") && str_eq(message, r->refusal);
    err_set(e, refused ? ERR_REFUSED : ERR_FAILED, "%s: %s", name, message);
    call_failed(r->call, STEAL(r->error));
    return -1;
}

static void record_version(struct run *r)
{
    AUTO_BUF text = {0};
    if (!r->info)
        return;
    buf_fmt(&text, "%s %s (%s %s)", json_path_str(r->info, "language_info.name"),
        json_path_str(r->info, "language_info.version"),
        json_str_or(r->info, "implementation", "?"),
        json_str_or(r->info, "implementation_version", "?"));
    call_recorded(r->call, "version", r->spec->name, cJSON_CreateString(buf_cstr(&text)));
}

int cell_run(struct run *r, err *e)
{
    static const struct loop_call_ops leaving = {.start = leave, .cancel = do_nothing};
    int done = converse(r, e);
    loop_call(call_loop(r->call), NULL, &leaving, r, 0, &(err){0});
    record_version(r);
    if (done == 0)
        done = tell_failure(r, e);
    return done;
}
