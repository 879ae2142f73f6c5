// SPDX-License-Identifier: MIT
#include "script/kernel/effects/actions.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/effects/call.h"
#include "script/kernel/effects/hand.h"
#include "script/kernel/effects/rows.h"

#include <string.h>

static const int64_t patience = 10 * CLOCK_SEC; // how long a person waits after pressing a key

// A client that waits for the result. A second one that asks for the same meanwhile joins the
// first.
struct waiter {
    int64_t peer;
    cJSON *message;
    struct waiter *next;
};

// An action under way. It belongs to the loop's thread, except during its call.
struct job {
    actions *actions;
    const struct display_action *action;
    const struct binding *binding;
    turn turn;
    int64_t display;
    char *row, *words, *what, *title; // words: what was typed with it, NULL: nothing
    cJSON *args;
    struct waiter *waiters;
    int64_t ask; // the question to be answered first; 0: none
    cJSON *result;
    err error;
    struct job *next; // the list of all that are under way
};

struct actions {
    effects *effects;
    server *server;
    rows *rows;
    struct job *jobs;
    void (*stopped)(void *arg);
    void *stopped_arg;
    hand *hand;
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
    cJSON_Delete(j->args);
    cJSON_Delete(j->result);
    free(j);
}

void actions_free(actions *a)
{
    if (!a)
        return;
    hand_free(a->hand);
    while (a->jobs)
        job_free(a->jobs);
    rows_free(a->rows);
    free(a);
}

void actions_event(actions *a, const cJSON *event)
{
    rows_event(a->rows, event);
}

// Makes a text that was read a peek, too, so that it can be pinned.
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
    }
    mask_json(port_mask(j->actions->effects->spec.port), reply);
    return reply;
}

// Answers everyone who waits. Displays that the action has opened are sent before that.
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

static void on_called(void *arg)
{
    struct job *j = arg;
    actions *a = j->actions;
    finish(j);
    // Drops the peeks of clients that have gone meanwhile.
    displays_drop_peeks(a->effects->spec.displays, is_there, a);
    check_stopped(a);
}

static void call_it(void *arg)
{
    struct job *j = arg;
    struct call c = {.effects = j->actions->effects, .turn = &j->turn};
    j->turn.deadline = clock_mono() + patience;
    call_action(&c, j->binding, j->args, j->what, &j->result, &j->error);
    call_done(&c);
}

actions *actions_new(effects *fx, server *s)
{
    actions *a = mem_alloc(sizeof *a);
    *a = (actions){.effects = fx,
        .server = s,
        .rows = rows_new(),
        .hand = hand_new(fx->spec.loop, call_it, on_called)};
    return a;
}

static int call_soon(struct job *j, err *e)
{
    j->ask = 0;
    return hand_give(j->actions->hand, j, e);
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

// Asks before each action: the answer to a cell's question does not count for a key that was
// pressed.
static int ask_first(struct job *j, const struct about *about, err *e)
{
    static const char *const choices[] = {"yes", "no", NULL};
    effects *fx = j->actions->effects;
    if (gate_action(fx->gate, j->binding->effect, j->what, e) < 0)
        return -1;
    AUTO_JSON *details = place_effect(fx->place, j->binding->effect, about);
    AUTO_FREE char *where = place_text(details);
    AUTO_FREE char *text =
        gate_question(j->binding->effect, j->what, about->context ? NULL : where);
    j->ask = asks_ask(fx->spec.asks,
        &(struct question){
            .text = text, .choices = choices, .effect = details, .cell = j->turn.cell},
        on_answer, j);
    return 0;
}

static int begin(struct job *j, err *e)
{
    effect which = j->binding->effect;
    if (j->action->takes && which != EFFECT_PURE && (!j->words || !*j->words))
        return err_set(e, ERR_USAGE, "%s needs to be told what", j->action->name);
    struct call c = {.effects = j->actions->effects, .turn = &j->turn};
    struct about about = call_about(&c, j->binding, j->args);
    j->what = mem_strdup(about.what);
    bool is_here = which == EFFECT_PURE || which == EFFECT_LOCAL;
    int result = is_here ? call_soon(j, e) : ask_first(j, &about, e);
    about_done(&about);
    call_done(&c);
    return result;
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

// Adds the object of the row, and the action's further arguments.
static void add_more(cJSON *args, const struct display_action *action)
{
    AUTO_JSON *more = action->more ? json_parse(action->more, strlen(action->more), NULL) : NULL;
    while (more && more->child) {
        cJSON *item = cJSON_DetachItemViaPointer(more, more->child);
        json_set(args, item->string, item);
    }
}

static struct job *job_new(actions *a, const struct display_action *action, int64_t number,
    const char *row, const char *words, const char *in_cell, cJSON *args)
{
    struct job *j = mem_alloc(sizeof *j);
    *j = (struct job){.actions = a,
        .action = action,
        .binding = effects_binding(a->effects, action->binding),
        .display = number,
        .row = mem_strdup(row),
        .words = mem_strdup(words),
        .title = str_fmt("%s %s", action->name, json_str_or(args, "name", "")),
        .args = args,
        .next = a->jobs};
    turn_init(&j->turn, in_cell, 0);
    j->turn.is_action = true;
    add_more(args, action);
    if (action->takes)
        json_set_str(args, action->takes, words);
    return a->jobs = j;
}

// An action that only reads is for the client that asked; one that changes something is done once
// for all.
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

static int act_on_row(
    actions *a, peer *p, const cJSON *message, const struct display_action *action, err *e)
{
    int64_t number = json_int_or(message, "display", 0);
    const char *row = json_str(message, "row"), *in_cell = "";
    const char *words = action->takes ? json_str(message, "words") : NULL;
    port_flush(a->effects->spec.port); // so that `rows` has the latest changes
    cJSON *args = rows_subject(a->rows, number, action->name, row, &in_cell, e);
    if (!args)
        return -1;
    struct job *j = find_job(a, server_number(p), action, number, row, words);
    if (j) {
        cJSON_Delete(args);
        join(a, j, p, message);
        return 1;
    }
    j = job_new(a, action, number, row, words, in_cell, args);
    j->turn.client = server_number(p);
    join(a, j, p, message);
    if (begin(j, e) == 0)
        return 1;
    job_free(j);
    return -1;
}

int actions_act(actions *a, peer *p, const cJSON *message, err *e)
{
    displays *all = a->effects->spec.displays;
    const char *name = json_str(message, "action");
    int64_t number = json_int_or(message, "display", 0), client = server_number(p);
    if (str_eq(name, "stop"))
        return displays_stop(all, client, number, e);
    if (str_eq(name, "pin")) {
        displays_pin(all, client, number);
        return 0;
    }
    const struct display_action *action = find_action(a, name);
    if (!action)
        return err_set(e, ERR_USAGE, "there is no action \"%s\"", name);
    return act_on_row(a, p, message, action, e);
}

static bool is_wanted(const struct job *j)
{
    for (const struct waiter *w = j->waiters; w; w = w->next)
        if (server_peer(j->actions->server, w->peer))
            return true;
    return false;
}

// Takes questions back: all of them, or those for which nobody waits.
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
