// SPDX-License-Identifier: MIT
#include "script/kernel/effects/actions.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/effects/call.h"
#include "script/kernel/effects/jobthread.h"
#include "script/kernel/effects/rows.h"

#include <string.h>

static const int64_t patience = 10 * CLOCK_SEC; // time for a call: a person waits after pressing a
                                                // key

// A client that waits for the result. A second client that asks for the same action joins it.
struct waiter {
    int64_t peer;
    cJSON *message;
    struct waiter *next;
};

// An action in progress. It belongs to the loop's thread, except during its call.
struct job {
    actions *actions;
    const struct display_action *action;
    const struct binding *binding;
    turn turn;
    int64_t display;
    char *row, *words, *title; // words: typed by the person for the action; NULL: nothing
    char *what;                // what it does to all objects, as a sentence
    cJSON *all;                // the arguments of each call
    char **whats;              // what each call does, as a sentence
    bool checking;             // the call in progress is the action's first binding
    char *diff, *nothing;      // of the first binding
    struct waiter *waiters;
    int64_t ask;   // number of the question that must be answered first; 0: none
    cJSON *result; // of the last call
    err error;
    struct job *next; // all actions in progress
};

struct actions {
    effects *effects;
    server *server;
    rows *rows;
    struct job *jobs;
    void (*stopped)(void *arg);
    void *stopped_arg;
    jobthread *thread;
};

static void job_free(struct job *j)
{
    struct job **at = &j->actions->jobs;
    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    while (j->waiters) {
        struct waiter *w = j->waiters;
        j->waiters = w->next;
        cJSON_Delete(w->message);
        free(w);
    }
    turn_done(&j->turn);
    free(j->row);
    free(j->words);
    free(j->what);
    free(j->title);
    free(j->diff);
    free(j->nothing);
    strv_free(j->whats);
    cJSON_Delete(j->all);
    cJSON_Delete(j->result);
    free(j);
}

void actions_free(actions *a)
{
    if (!a)
        return;
    jobthread_free(a->thread);
    while (a->jobs)
        job_free(a->jobs);
    rows_free(a->rows);
    free(a);
}

void actions_event(actions *a, const cJSON *event)
{
    rows_event(a->rows, event);
}

void actions_dropped(actions *a, int64_t id)
{
    rows_drop(a->rows, id);
}

// Makes a peek of a text result, too, so that it can be pinned.
static int64_t peek_of(const struct job *j)
{
    cJSON *data = cJSON_CreateObject();
    AUTO_FREE char *text = str_fmt("%s\n%s", j->title, j->result->valuestring);
    json_set_str(data, "text/plain", text);
    return displays_add_peek(
        j->actions->effects->spec.displays, j->turn.client, j->turn.cell, data);
}

static cJSON *reply_of(const struct job *j)
{
    cJSON *reply = cJSON_CreateObject();
    if (cJSON_IsString(j->result)) {
        json_set_str(reply, "title", j->title);
        json_set_str(reply, "text", j->result->valuestring);
        json_set_int(reply, "display", peek_of(j));
    } else if (json_get(j->result, "display")) {
        json_set_int(reply, "display", json_int_or(j->result, "display", 0));
    } else if (j->result && !j->action->asks &&
               (j->binding->effect == EFFECT_PURE || j->action->told)) {
        json_set(reply, "result", cJSON_Duplicate(j->result, true));
    }
    json_set_str(reply, "nothing", j->nothing);
    mask_json(port_mask(j->actions->effects->spec.port), reply);
    if (j->action->asks && j->result)
        json_set(reply, "result", cJSON_Duplicate(j->result, true));
    return reply;
}

// Replies to everyone who waits. Displays that the action opened are sent before that.
static void finish(struct job *j)
{
    actions *a = j->actions;
    AUTO_JSON *reply = reply_of(j);
    port_flush(a->effects->spec.port);
    for (struct waiter *w = j->waiters; w; w = w->next) {
        peer *p = server_peer(a->server, w->peer);
        if (!p)
            continue;
        if (j->error.code)
            server_refuse(p, w->message, &j->error);
        else
            server_reply(p, w->message, cJSON_Duplicate(reply, true));
    }
    job_free(j);
}

static bool is_there(void *arg, int64_t client)
{
    return server_peer(((actions *)arg)->server, client) != NULL;
}

static void check_stopped(actions *a)
{
    void (*fn)(void *arg) = a->jobs ? NULL : STEAL(a->stopped);
    if (fn)
        fn(a->stopped_arg);
}

static int go_on(struct job *j, err *e);

// Makes arguments of the first binding's result.
static void take_check(struct job *j)
{
    AUTO_JSON *found = STEAL(j->result);
    j->diff = mem_strdup(json_str(found, "diff"));
    j->nothing = mem_strdup(json_str(found, "nothing"));
    cJSON_DeleteItemFromObjectCaseSensitive(found, "diff");
    while (found && found->child) {
        cJSON *item = cJSON_DetachItemViaPointer(found, found->child);
        json_set(j->all->child, item->string, item);
    }
}

// false: the job is under way still.
static bool is_over(struct job *j)
{
    bool checked = j->checking;
    j->checking = false;
    if (!checked || j->error.code || json_get(j->result, "display"))
        return true;
    take_check(j);
    return j->nothing || go_on(j, &j->error) < 0;
}

static void on_called(void *arg)
{
    struct job *j = arg;
    actions *a = j->actions;
    if (is_over(j))
        finish(j);
    // Drops the peeks of clients that have left meanwhile.
    displays_drop_peeks(a->effects->spec.displays, is_there, a);
    check_stopped(a);
}

// The first error stays.
static bool call_one(struct job *j, const struct binding *b, const cJSON *args, const char *what)
{
    err why = {0};
    struct call c = {.effects = j->actions->effects, .turn = &j->turn};
    if (turn_stopped(&j->turn) != FAILURE_NONE)
        return false;
    cJSON_Delete(STEAL(j->result));
    j->turn.deadline = clock_mono() + patience;
    call_action(&c, b, args, what, &j->result, &why);
    call_done(&c);
    if (why.code && !j->error.code)
        j->error = why;
    return !why.code;
}

static void call_it(void *arg)
{
    struct job *j = arg;
    const struct binding *b =
        j->checking ? effects_binding(j->actions->effects, j->action->first) : j->binding;
    size_t i = 0, failed = 0;
    const cJSON *args;
    cJSON_ArrayForEach(args, j->all)
    {
        const char *what = j->whats ? j->whats[i++] : b->name;
        failed += !call_one(j, b, args, what);
    }
    if (failed && i > 1) {
        err why = j->error;
        err_set(&j->error, why.code, "%zu of %zu not done: %s", failed, i, why.text);
    }
}

actions *actions_new(effects *fx, server *s)
{
    actions *a = mem_alloc(sizeof *a);
    *a = (actions){.effects = fx,
        .server = s,
        .rows = rows_new(),
        .thread = jobthread_new(fx->spec.loop, call_it, on_called)};
    return a;
}

static int call_soon(struct job *j, err *e)
{
    j->ask = 0;
    return jobthread_add(j->actions->thread, j, e);
}

static void on_answer(void *arg, const char *answer)
{
    struct job *j = arg;
    actions *a = j->actions;
    if (str_eq(answer, "yes") && call_soon(j, &j->error) == 0)
        return;
    if (!str_eq(answer, "yes"))
        err_set(&j->error, ERR_REFUSED, "%s: %s", j->what,
            answer ? "you said no" : "the question was taken back");
    finish(j);
    check_stopped(a);
}

// "delete 3 objects (Pod a, Pod b, Pod c) in namespace ml of context kind": made from the first
// call's sentence. If the rows are of several namespaces, none is named.
static char *say_all(const struct job *j, const struct about *first, const char *names, bool spread)
{
    const char *at = first->object ? strstr(first->what, first->object) : NULL;
    if (!at)
        return str_fmt("%s %d times", first->what, cJSON_GetArraySize(j->all));
    const char *rest = at + strlen(first->object);
    AUTO_FREE char *where =
        first->namespace_ ? str_fmt(" in namespace %s", first->namespace_) : NULL;
    const char *in = where ? strstr(rest, where) : NULL;
    AUTO_FREE char *more = mem_strndup(rest, in ? (size_t)(in - rest) : strlen(rest));
    return str_fmt("%.*s%d objects (%s)%s%s%s", (int)(at - first->what), first->what,
        cJSON_GetArraySize(j->all), names, more, in && spread ? " in several namespaces" : "",
        !in      ? ""
        : spread ? in + strlen(where)
                 : in);
}

enum { NAMED = 5 }; // the most objects that a sentence names

// Describes each call, and all of them together; `about` gets the first call's.
static void say_what(struct job *j, struct call *c, struct about *about)
{
    AUTO_BUF names = {0};
    bool spread = false;
    size_t n = 0;
    const cJSON *args;
    j->whats = mem_array(1, sizeof *j->whats);
    *about = call_about(c, j->binding, j->all->child);
    cJSON_ArrayForEach(args, j->all)
    {
        struct about one = call_about(c, j->binding, args);
        j->whats = strv_add(j->whats, one.what);
        spread = spread || !str_eq(one.namespace_, about->namespace_);
        if (n++ < NAMED)
            buf_fmt(&names, "%s%s", names.len ? ", " : "", one.object ? one.object : "");
        about_done(&one);
    }
    if (n > NAMED)
        buf_fmt(&names, " and %zu more", n - NAMED);
    j->what = n > 1 ? say_all(j, about, buf_cstr(&names), spread) : mem_strdup(about->what);
    if (n > 1 && spread)
        free(STEAL(about->namespace_));
}

// Names all objects in a question about many.
static void name_objects(const struct job *j, cJSON *details)
{
    const cJSON *args;
    if (!j->all->child || !j->all->child->next)
        return;
    cJSON *objects = cJSON_CreateArray();
    cJSON_ArrayForEach(args, j->all)
    {
        const char *ns = json_str(args, "namespace");
        AUTO_FREE char *name = str_fmt("%s %s%s%s", json_str_or(args, "kind", ""), ns ? ns : "",
            ns ? "/" : "", json_str_or(args, "name", ""));
        cJSON_AddItemToArray(objects, cJSON_CreateString(name));
    }
    json_set(details, "objects", objects);
}

// What the gate is asked about.
static effect effect_of(const struct job *j)
{
    return j->action->asks ? EFFECT_CLUSTER : j->binding->effect;
}

// Asks before each action: a person's answer to a cell's question does not allow an action.
static int ask_first(struct job *j, const struct about *about, err *e)
{
    static const char *const choices[] = {"yes", "no", NULL};
    effects *fx = j->actions->effects;
    struct call c = {.effects = fx, .turn = &j->turn};
    AUTO_FREE char *guarded = effects_guarded(&c, about->context);
    call_done(&c);
    if (gate_action(fx->gate, effect_of(j), j->what, guarded, e) < 0)
        return -1;
    AUTO_JSON *details = place_effect(fx->place, effect_of(j), about);
    if (guarded)
        json_set_bool(details, "protected", true);
    name_objects(j, details);
    json_set_str(details, "diff", j->diff);
    AUTO_FREE char *where = place_text(details);
    AUTO_FREE char *text = gate_question(effect_of(j), j->what, about->context ? NULL : where);
    j->ask = asks_ask(fx->spec.asks,
        &(struct question){
            .text = text, .choices = choices, .effect = details, .cell = j->turn.cell},
        on_answer, j);
    return 0;
}

static int go_on(struct job *j, err *e)
{
    effect which = effect_of(j);
    struct call c = {.effects = j->actions->effects, .turn = &j->turn};
    struct about about;
    say_what(j, &c, &about);
    bool is_here = which == EFFECT_PURE || which == EFFECT_LOCAL;
    int result = is_here ? call_soon(j, e) : ask_first(j, &about, e);
    about_done(&about);
    call_done(&c);
    return result;
}

static int begin(struct job *j, err *e)
{
    if (j->action->takes && !j->action->silent && j->binding->effect != EFFECT_PURE &&
        (!j->words || !*j->words))
        return err_set(e, ERR_USAGE, "%s needs to be told what", j->action->name);
    // Of many objects the question names all, and no difference.
    j->checking = j->action->first != NULL && (!j->all->child->next || !j->action->several);
    return j->checking ? call_soon(j, e) : go_on(j, e);
}

static void join(actions *a, struct job *j, peer *p, const cJSON *message)
{
    struct waiter *w = mem_alloc(sizeof *w);
    *w = (struct waiter){server_number(p), cJSON_Duplicate(message, true), j->waiters};
    j->waiters = w;
}

static const struct display_action *find_action(const actions *all, const char *name)
{
    const struct display_action *a = all->effects->spec.actions;
    while (a && a->name && !str_eq(a->name, name))
        a++;
    return a && a->name ? a : NULL;
}

// Adds the action's further arguments, and what the person typed.
static void add_more(cJSON *all, const struct display_action *action, const char *words)
{
    AUTO_JSON *more = action->more ? json_parse(action->more, strlen(action->more), NULL) : NULL;
    cJSON *args;
    const cJSON *item;
    cJSON_ArrayForEach(args, all)
    {
        cJSON_ArrayForEach(item, more)
        {
            json_set(args, item->string, cJSON_Duplicate(item, true));
        }
        if (action->takes)
            json_set_str(args, action->takes, words);
    }
}

static struct job *job_new(actions *a, const struct display_action *action, int64_t number,
    const char *row, const char *words, const char *in_cell, cJSON *all)
{
    struct job *j = mem_alloc(sizeof *j);
    *j = (struct job){.actions = a,
        .action = action,
        .binding = effects_binding(a->effects, action->binding),
        .display = number,
        .row = mem_strdup(row),
        .words = mem_strdup(words),
        .title = str_fmt("%s %s", action->name, json_str_or(all->child, "name", "")),
        .all = all,
        .next = a->jobs};
    turn_init(&j->turn, in_cell, 0);
    j->turn.is_action = true;
    add_more(all, action, words);
    return a->jobs = j;
}

// Each client gets its own run of an action that only reads; an action that changes something runs
// once for all who ask.
static struct job *find_job(const actions *a, int64_t client, const struct display_action *action,
    int64_t number, const char *row, const char *words)
{
    struct job *j = a->jobs;
    while (j && !(j->action == action && j->display == number && str_eq(j->row, row) &&
                    str_eq(j->words, words) &&
                    (j->binding->effect != EFFECT_PURE || j->turn.client == client)))
        j = j->next;
    return j;
}

// Fields of the message cannot override those of the row.
static void add_with(cJSON *args, const cJSON *with)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, with)
    {
        if (!json_get(args, item->string))
            json_set(args, item->string, cJSON_Duplicate(item, true));
    }
}

static int add_row(actions *a, const cJSON *message, const struct display_action *action,
    const char *uid, cJSON *all, const char **in_cell, err *e)
{
    cJSON *args =
        rows_subject(a->rows, json_int_or(message, "display", 0), action->name, uid, in_cell, e);
    if (!args)
        return -1;
    add_with(args, json_get(message, "with"));
    cJSON_AddItemToArray(all, args);
    return 0;
}

static int add_rows(actions *a, const cJSON *message, const struct display_action *action,
    cJSON *all, const char **in_cell, err *e)
{
    const cJSON *list = json_get(message, "rows"), *uid;
    if (!list)
        return add_row(a, message, action, json_str(message, "row"), all, in_cell, e);
    if ((!action->several && !action->together) || !list->child)
        return err_set(e, ERR_USAGE, "%s is done to one row", action->name);
    cJSON_ArrayForEach(uid, list)
    {
        const char *id = cJSON_IsString(uid) ? uid->valuestring : NULL;
        if (add_row(a, message, action, id, all, in_cell, e) < 0)
            return -1;
    }
    return 0;
}

// One call for all rows.
static void put_together(cJSON *all)
{
    cJSON *first = cJSON_Duplicate(all->child, true), *objects = cJSON_CreateArray();
    while (all->child)
        cJSON_AddItemToArray(objects, cJSON_DetachItemFromArray(all, 0));
    json_set(first, "objects", objects);
    cJSON_AddItemToArray(all, first);
}

// The arguments of the calls that the message asks for; new.
static cJSON *arguments_of(actions *a, const cJSON *message, const struct display_action *action,
    const char **in_cell, err *e)
{
    AUTO_JSON *all = cJSON_CreateArray();
    if (action->alone && effects_await_sandbox(a->effects)) {
        err_set(e, ERR_UNAVAILABLE, "the sandbox is starting: again in a moment");
        return NULL;
    }
    if (action->alone) {
        cJSON *args = cJSON_CreateObject();
        add_with(args, json_get(message, "with"));
        cJSON_AddItemToArray(all, args);
        return STEAL(all);
    }
    port_flush(a->effects->spec.port); // so that `rows` has the latest changes
    if (add_rows(a, message, action, all, in_cell, e) != 0)
        return NULL;
    if (action->together && all->child->next)
        put_together(all);
    return STEAL(all);
}

static int act_on(
    actions *a, peer *p, const cJSON *message, const struct display_action *action, err *e)
{
    int64_t number = json_int_or(message, "display", 0);
    const char *row = json_str(message, "row"), *in_cell = "";
    const char *words = action->takes ? json_str(message, "words") : NULL;
    cJSON *all = arguments_of(a, message, action, &in_cell, e);
    if (!all)
        return -1;
    struct job *j = row ? find_job(a, server_number(p), action, number, row, words) : NULL;
    if (j) {
        cJSON_Delete(all);
        join(a, j, p, message);
        return 1;
    }
    j = job_new(a, action, number, row, words, in_cell, all);
    j->turn.client = server_number(p);
    join(a, j, p, message);
    if (begin(j, e) == 0)
        return 1;
    job_free(j);
    return -1;
}

static bool changes(const actions *a, const char *name)
{
    const struct display_action *action = find_action(a, name);
    return action &&
           (action->asks || effects_binding(a->effects, action->binding)->effect != EFFECT_PURE);
}

int actions_act(actions *a, peer *p, const cJSON *message, err *e)
{
    displays *all = a->effects->spec.displays;
    const char *name = json_str(message, "action");
    int64_t number = json_int_or(message, "display", 0), client = server_number(p);
    if (str_eq(name, "stop"))
        return displays_stop(all, client, number, e);
    if (server_only_looks(p) && (str_eq(name, "pin") || changes(a, name)))
        return err_set(e, ERR_REFUSED, "attached with --read-only: this is only looked at");
    if (str_eq(name, "pin")) {
        displays_pin(all, client, number);
        return 0;
    }
    const struct display_action *action = find_action(a, name);
    if (!action)
        return err_set(e, ERR_USAGE, "there is no action \"%s\"", name);
    return act_on(a, p, message, action, e);
}

static bool is_wanted(const struct job *j)
{
    for (const struct waiter *w = j->waiters; w; w = w->next)
        if (server_peer(j->actions->server, w->peer))
            return true;
    return false;
}

// Withdraws questions: all of them, or those for which no client waits.
static void take_back(actions *a, bool all)
{
    for (struct job *j = a->jobs, *next; j; j = next) {
        next = j->next;
        if (j->ask && (all || !is_wanted(j)))
            asks_take_back(a->effects->spec.asks, j->ask);
    }
}

void actions_client_gone(actions *a)
{
    take_back(a, false);
    displays_drop_peeks(a->effects->spec.displays, is_there, a);
}

void actions_stop(actions *a, void (*fn)(void *arg), void *arg)
{
    take_back(a, true);
    for (struct job *j = a->jobs; j; j = j->next)
        turn_stop(&j->turn, FAILURE_INTERRUPTED);
    a->stopped = fn;
    a->stopped_arg = arg;
    check_stopped(a);
}
