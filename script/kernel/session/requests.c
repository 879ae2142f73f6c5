// SPDX-License-Identifier: MIT
#include "script/kernel/session/requests.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/str.h"
#include "script/journal/file/spool.h"
#include "script/kernel/effects/glances.h"
#include "script/kernel/session/joining.h"
#include "script/kernel/session/life.h"
#include "script/kernel/session/running.h"
#include "script/kernel/session/sandboxing.h"
#include "script/kernel/session/saving.h"
#include "script/kernel/session/variables.h"

#include <string.h>
#include <unistd.h>

enum { READ_MAX = 1 << 20 };

// Each carries out a message. Returns 0, and *reply gets the fields of the reply besides "ok" (or
// NULL); or -1.
typedef int request_fn(kernel *k, peer *p, const cJSON *m, cJSON **reply, err *e);

static const char *state_name(const kernel *k)
{
    return k->stopping              ? "stopping"
           : k->wedged              ? "wedged"
           : asks_open_now(k->asks) ? "asking"
           : k->running             ? "busy"
                                    : "idle";
}

static cJSON *holds(const kernel *k)
{
    cJSON *all = cJSON_CreateObject();
    json_set_int(all, "variables", (int64_t)variables_count(k));
    json_set_int(all, "live", (int64_t)displays_live(k->displays));
    if (effects_in_sandbox(k->effects))
        json_set_bool(all, "sandbox", true);
    return all;
}

// How long the kernel will be there.
static void add_life(const kernel *k, cJSON *m)
{
    if (k->options->headless)
        return;
    json_set_int(m, "lifetime_ms", k->lifetime_ns / CLOCK_MS);
    if (k->unused_since)
        json_set_int(m, "unused_ms", life_unused_ns(k) / CLOCK_MS);
    json_set_str(m, "held", life_held(k));
    json_set(m, "holds", holds(k));
}

static cJSON *welcome(const kernel *k, const cJSON *hello)
{
    cJSON *m = message_new(MESSAGE_welcome);
    json_set_int(m, "version", PROTOCOL_VERSION);
    json_set_str(m, "run", k->effects->run);
    json_set_int(m, "pid", getpid());
    json_set_str(m, "cwd", k->options->cwd);
    json_set_str(m, "journal", journal_path(port_journal(k->port)));
    json_set_str(m, "state", state_name(k));
    json_set_bool(m, "headless", k->options->headless);
    if (k->options->read_only)
        json_set_bool(m, "read_only", true);
    if (!k->options->headless && !document_saved(k->document))
        json_set_bool(m, "unsaved", true);
    if (!k->options->headless && document_touched(k->document))
        json_set_bool(m, "touched", true);
    json_set_int(m, "seq", (int64_t)journal_seq(port_journal(k->port)));
    if (k->seen)
        json_set_int(m, "seen", k->seen);
    json_set_str(m, "release", FIRESTEEL_VERSION);
    add_life(k, m);
    cJSON *differs = joining_differs(k, json_get(hello, "wants"));
    if (differs)
        json_set(m, "differs", differs);
    return m;
}

// A person looks, and has now seen everything so far.
static void note_seen(kernel *k, bool person)
{
    if (person && port_journal(k->port))
        k->seen = (int64_t)journal_seq(port_journal(k->port));
}

// A client comes. Checks the file now if the file system reports no changes.
static void join(kernel *k)
{
    cJSON *event = NULL;
    k->unused_since = 0;
    if (!k->options->headless && document_refresh(k->document, &event))
        port_emit(k->port, event);
}

static void on_hello(void *arg, peer *p, const cJSON *message)
{
    kernel *k = arg;
    running_catch_up(k);
    bool alone = server_users(k->server) == 0;
    k->lifetime_ns = json_int_or(message, "lifetime_ms", k->lifetime_ns / CLOCK_MS) * CLOCK_MS;
    if (server_is_person(p) && alone)
        joining_keep_terminal(k, json_get(message, "terminal"));
    if (server_is_person(p))
        joining_take_terminal(k);
    if (server_is_user(p))
        join(k);
    server_send(p, welcome(k, message));
    note_seen(k, server_is_person(p));
    if (json_bool_or(message, "document", true))
        server_send(p, document_event(k->document));
    server_greet(p, json_int_or(message, "from", 0));
    server_reply(p, message, NULL);
    k->greeted = true;
    life_settle(k);
    if (!k->options->detach)
        life_begin(k);
}

// Saving under another name makes that file the document; nobody else may have it open.
static int lock_other(kernel *k, const cJSON *m, document_lock **other, err *e)
{
    const char *path = message_type_of(m) == MESSAGE_save ? json_str(m, "path") : NULL;
    if (!path || (k->lock && document_lock_is_of(k->lock, path)))
        path = NULL;
    return kernel_lock(k, path, other, e);
}

static int change(kernel *k, peer *p, const cJSON *m, cJSON **reply, err *e)
{
    document_lock *other;
    if (k->stopping)
        return err_set(e, ERR_UNAVAILABLE, "the run is over");
    if (lock_other(k, m, &other, e) < 0)
        return -1;
    cJSON *event = saving_change(k, m, server_number(p), e);
    document_lock_release(event && other ? k->lock : other);
    if (event && other)
        k->lock = other;
    if (!event)
        return -1;
    *reply = cJSON_CreateObject();
    json_set_int(*reply, "rev", document_rev(k->document));
    json_set_str(*reply, "cell", json_str(event, "cell"));
    if (message_type_of(m) == MESSAGE_delete)
        displays_end_of(k->displays, json_str(m, "cell"));
    port_emit(k->port, event);
    return 0;
}

static int execute(kernel *k, peer *p, const cJSON *m, cJSON **reply, err *e)
{
    const cJSON *ids = json_get(m, "cells");
    if (k->stopping)
        return err_set(e, ERR_UNAVAILABLE, "the run is over");
    return ids ? running_queue(k, ids, e) : running_queue_all(k, e);
}

static int interrupt_cells(kernel *k, peer *p, const cJSON *m, cJSON **reply, err *e)
{
    const char *why = json_str(m, "why");
    if (why && k->options->headless)
        running_give_up(k, why);
    else
        running_interrupt(k, FAILURE_INTERRUPTED);
    return 0;
}

static int restart(kernel *k, peer *p, const cJSON *m, cJSON **reply, err *e)
{
    if (k->options->headless)
        return err_set(
            e, ERR_USAGE, "a headless run cannot be restarted; `run --resume` goes on with it");
    life_restart(k);
    return 0;
}

static int answer(kernel *k, peer *p, const cJSON *m, cJSON **reply, err *e)
{
    int64_t number = json_int_or(m, "ask", 0);
    const char *value = json_str(m, "value"), *refused = json_str(m, "refused");
    if (!value && !refused)
        return err_set(e, ERR_USAGE, "an answer has a value, or says why nobody can be asked");
    return value ? asks_answer(k->asks, number, value, e)
                 : asks_refuse(k->asks, number, refused, e);
}

// A client's question for Lua; the client may be gone when the answer comes.
struct lookup {
    kernel *kernel;
    int64_t peer;
    cJSON *message;
};

static void lookup_free(struct lookup *l)
{
    cJSON_Delete(l->message);
    free(l);
}

static void on_looked_up(void *arg, const cJSON *result)
{
    struct lookup *l = arg;
    err none = {ERR_NOT_FOUND, "nothing is known about it"},
        silent = {ERR_UNAVAILABLE, "no answer came in time; try again"};
    peer *p = server_peer(l->kernel->server, l->peer);
    if (p && result && json_bool_or(result, "found", true))
        server_reply(p, l->message, cJSON_Duplicate(result, true));
    else if (p)
        server_refuse(p, l->message, result ? &none : &silent);
    lookup_free(l);
}

// Which language's names to complete: if the cell writes a Lua file, the code runs in the worker;
// another language's names come from its kernel.
static void tell_place(const kernel *k, const char *id, cJSON *args)
{
    const notebook *nb = document_notebook(k->document);
    struct plan plan = {0};
    size_t i;
    if (!id || !notebook_find(nb, id, &i) || plan_cell(nb, notebook_cell(nb, i), &plan, NULL) < 0)
        return;
    if (plan.kind == PLAN_FILE || plan.kind == PLAN_TEMPLATE)
        json_set_bool(args, "trainer", str_ends(plan.path, ".lua"));
    if (plan.kind == PLAN_KERNEL) {
        json_set_str(args, "language", plan.language);
        json_set_str(args, "kernel", plan.kernel);
        json_set_bool(args, "wish", plan.wish);
    }
    plan_done(&plan);
}

// What the source becomes without its magics. In another language than Lua it has no text.
static void tell_plan(const char *source, cJSON *args)
{
    notebook *nb = notebook_blank();
    struct plan plan = {0};
    if (plan_cell(nb, notebook_replace(nb, 0, source), &plan, NULL) == 0)
        json_set_str(args, "text",
            plan.kind == PLAN_LUA       ? plan.text
            : plan.kind == PLAN_NOTHING ? ""
                                        : NULL);
    plan_done(&plan);
    notebook_free(nb);
}

static void on_kernel_answered(void *arg, const cJSON *result, const err *why)
{
    struct lookup *l = arg;
    peer *p = server_peer(l->kernel->server, l->peer);
    if (!p || !why || why->code == ERR_TIMEOUT) {
        on_looked_up(l, result);
        return;
    }
    server_refuse(p, l->message, why);
    lookup_free(l);
}

// Lua answers between cells. Takes args.
static int ask_lua(kernel *k, struct lookup *l, cJSON *args, err *e)
{
    struct interp_question question = {
        message_type_name(message_type_of(l->message)), args, on_looked_up, l};
    if (running_busy(k))
        err_set(e, ERR_UNAVAILABLE, "a cell is running; names can be looked up after it");
    else if (interp_ask(k->interp, question))
        return 0;
    else
        err_set(e, ERR_UNAVAILABLE, "another question is being answered");
    cJSON_Delete(args);
    return -1;
}

static int look_up(kernel *k, peer *p, const cJSON *m, cJSON **reply, err *e)
{
    if (k->stopping)
        return err_set(e, ERR_UNAVAILABLE, "the run is over");
    int other = message_type_of(m) == MESSAGE_is_complete
                    ? 0
                    : checks_look_up(k->checks, document_notebook(k->document), p, m, e);
    if (other)
        return other;
    struct lookup *l = mem_alloc(sizeof *l);
    *l = (struct lookup){k, server_number(p), cJSON_Duplicate(m, true)};
    cJSON *args = cJSON_Duplicate(m, true);
    if (message_type_of(m) == MESSAGE_is_complete)
        tell_plan(json_str(m, "source"), args);
    else
        tell_place(k, json_str(m, "cell"), args);
    json_set_str(args, "what", message_type_name(message_type_of(m)));
    int asked = json_get(args, "language")
                    ? lookups_ask(k->lookups, "jupyter.names", args, on_kernel_answered, l, e)
                    : ask_lua(k, l, args, e);
    if (asked == 0)
        return 1; // the reply follows
    lookup_free(l);
    return -1;
}

static int look_at_variables(kernel *k, peer *p, const cJSON *m, cJSON **reply, err *e)
{
    return variables_look(k, p, m, e);
}

static void clear_cell(kernel *k, const char *cell_id)
{
    displays_end_of(k->displays, cell_id);
    document_forget_outputs(k->document, cell_id);
    cJSON *event = message_new(MESSAGE_cleared);
    json_set_str(event, "cell", cell_id);
    port_emit(k->port, event);
}

static int clear(kernel *k, peer *p, const cJSON *m, cJSON **reply, err *e)
{
    const notebook *nb = document_notebook(k->document);
    const cJSON *ids = json_get(m, "cells"), *id;
    size_t i;
    cJSON_ArrayForEach(id, ids)
    {
        if (!cJSON_IsString(id) || !notebook_find(nb, id->valuestring, &i))
            return err_set(e, ERR_NOT_FOUND, "there is no cell %s",
                cJSON_IsString(id) ? id->valuestring : "of that id");
    }
    cJSON_ArrayForEach(id, ids)
    {
        clear_cell(k, id->valuestring);
    }
    for (i = 0; !ids && i < notebook_count(nb); i++)
        clear_cell(k, notebook_cell(nb, i)->id);
    return 0;
}

static int read_spool(kernel *k, peer *p, const cJSON *m, cJSON **reply, err *e)
{
    int64_t from = json_int_or(m, "from", 0), to = json_int_or(m, "to", 0);
    const char *name = json_str(m, "stream");
    if (from < 0 || to < from || to - from > READ_MAX)
        return err_set(e, ERR_USAGE, "at most 1 MiB is read at once");
    spool *s = spool_open(journal_spool_dir(port_journal(k->port)), name, e);
    if (!s)
        return -1;
    AUTO_BUF bytes = {0};
    int result = spool_read(s, (uint64_t)from, (uint64_t)to, &bytes, e);
    spool_close(s);
    if (result < 0)
        return -1;
    *reply = cJSON_CreateObject();
    json_set_int(*reply, "start", from);
    json_set_int(*reply, "end", from + (int64_t)bytes.len);
    if (utf8_valid(buf_cstr(&bytes), bytes.len) && !memchr(buf_cstr(&bytes), 0, bytes.len))
        json_set_str(*reply, "text", buf_cstr(&bytes));
    else {
        AUTO_BUF encoded = {0};
        base64_encode(&encoded, bytes.data, bytes.len);
        json_set_str(*reply, "base64", buf_cstr(&encoded));
    }
    return 0;
}

static int resize(kernel *k, peer *p, const cJSON *m, cJSON **reply, err *e)
{
    AUTO_FREE char *columns = str_fmt("%lld", (long long)json_int_or(m, "columns", 80));
    AUTO_FREE char *rows = str_fmt("%lld", (long long)json_int_or(m, "rows", 24));
    if (running_busy(k)) // the Lua thread uses the environment now
        return 0;
    k->effects->env = env_set(k->effects->env, "COLUMNS", columns);
    k->effects->env = env_set(k->effects->env, "LINES", rows);
    return 0;
}

// Another kernel that needs room asks.
static int end_unused(kernel *k, const char *why, err *e)
{
    if (!life_unused_ns(k) || life_held(k))
        return err_set(e, ERR_REFUSED, "it is in use");
    life_end(k, 0, why);
    return 0;
}

static int shut_down(kernel *k, peer *p, const cJSON *m, cJSON **reply, err *e)
{
    if (json_bool_or(m, "unused", false))
        return end_unused(k, json_str(m, "why"), e);
    k->discards = k->discards || json_bool_or(m, "discard", false);
    life_shutdown(k);
    return 0;
}

// Pinning needs a cell below which the display can be.
static int check_pin(const kernel *k, const peer *p, const cJSON *m, err *e)
{
    size_t i;
    int64_t number = json_int_or(m, "display", 0);
    const char *in_cell = displays_peek_cell(k->displays, server_number(p), number);
    if (!in_cell)
        return err_set(
            e, ERR_NOT_FOUND, "display %lld is nothing that you look at alone", (long long)number);
    if (!notebook_find(document_notebook(k->document), in_cell, &i))
        return err_set(e, ERR_NOT_FOUND, "the cell that it would stand below is gone");
    return 0;
}

static int act(kernel *k, peer *p, const cJSON *m, cJSON **reply, err *e)
{
    if (k->stopping)
        return err_set(e, ERR_UNAVAILABLE, "the run is over");
    if (str_eq(json_str(m, "action"), "pin") && check_pin(k, p, m, e) < 0)
        return -1;
    return actions_act(k->actions, p, m, e);
}

static int look(kernel *k, peer *p, const cJSON *m, cJSON **reply, err *e)
{
    if (k->stopping)
        return err_set(e, ERR_UNAVAILABLE, "the run is over");
    return glances_look(k->effects->glances, k->server, p, m, reply, e);
}

static int check(kernel *k, peer *p, const cJSON *m, cJSON **reply, err *e)
{
    if (k->stopping)
        return err_set(e, ERR_UNAVAILABLE, "the run is over");
    return checks_check(k->checks, document_notebook(k->document), p, m, e);
}

static request_fn *const requests[] = {
    [MESSAGE_edit] = change,
    [MESSAGE_insert] = change,
    [MESSAGE_move] = change,
    [MESSAGE_delete] = change,
    [MESSAGE_save] = change,
    [MESSAGE_reload] = change,
    [MESSAGE_execute] = execute,
    [MESSAGE_interrupt] = interrupt_cells,
    [MESSAGE_restart] = restart,
    [MESSAGE_answer] = answer,
    [MESSAGE_complete] = look_up,
    [MESSAGE_inspect] = look_up,
    [MESSAGE_is_complete] = look_up,
    [MESSAGE_variables] = look_at_variables,
    [MESSAGE_read] = read_spool,
    [MESSAGE_act] = act,
    [MESSAGE_look] = look,
    [MESSAGE_sandbox] = sandboxing_ask,
    [MESSAGE_check] = check,
    [MESSAGE_clear] = clear,
    [MESSAGE_resize] = resize,
    [MESSAGE_shutdown] = shut_down,
};

// May a client that only looks send this? Actions may: each checks by itself whether it changes
// anything.
static bool is_looking(message_type type)
{
    return type == MESSAGE_complete || type == MESSAGE_inspect || type == MESSAGE_is_complete ||
           type == MESSAGE_variables || type == MESSAGE_read || type == MESSAGE_act ||
           type == MESSAGE_look || type == MESSAGE_check || type == MESSAGE_resize;
}

static void on_message(void *arg, peer *p, message_type type, const cJSON *message)
{
    cJSON *reply = NULL;
    err e = {0};
    running_catch_up(arg);
    // asking for a look or a check does not mean that a person is there
    note_seen(arg, server_is_person(p) && type != MESSAGE_look && type != MESSAGE_check);
    int result = -1;
    if (server_only_looks(p) && !is_looking(type))
        err_set(&e, ERR_REFUSED, "attached with --read-only: this is only looked at");
    else
        result = requests[type](arg, p, message, &reply, &e);
    if (result < 0)
        server_refuse(p, message, &e);
    else if (result == 0)
        server_reply(p, message, reply);
}

static void on_gone(void *arg, bool owner, bool person)
{
    kernel *k = arg;
    running_catch_up(k);
    note_seen(k, person);
    actions_client_gone(k->actions);
    life_client_gone(k, owner);
}

const struct server_ops requests_ops = {.hello = on_hello, .message = on_message, .gone = on_gone};
