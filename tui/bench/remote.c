// SPDX-License-Identifier: MIT
// Requests to the kernel. A change names the revision on which it is based; if another client has
// changed the cell since, the kernel refuses it.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"

#include <stdio.h>
#include <string.h>

bool remote_ready(bench *b, bool change)
{
    if (b->replaying)
        bench_complain(b, "this run is only looked at");
    else if (!b->client)
        bench_complain(b, "%s",
            !*b->state                     ? "no notebook is open; Enter opens the selected one"
            : str_eq(b->state, "starting") ? "the kernel is starting"
                                           : "there is no kernel: 00 starts one");
    else if (change && b->read_only)
        bench_complain(b, "%s",
            b->looks ? "attached with --read-only: this is only looked at"
                     : "a headless run is only watched; :stop ends it");
    return b->client && !(change && b->read_only);
}

static void on_reply(void *arg, const cJSON *reply)
{
    bench *b = arg;
    const cJSON *error = json_get(reply, "error");
    if (reply && !json_bool_or(reply, "ok", false))
        bench_complain(b, "%s", json_str_or(error, "message", "the kernel refused"));
    b->dirty = true;
    b->ops->changed(b->arg);
}

static void on_changed(void *arg, const cJSON *reply)
{
    bench *b = arg;
    int64_t rev = json_int_or(reply, "rev", 0);
    b->asked -= b->asked > 0;
    b->made = rev > b->made ? rev : b->made;
    if (!json_bool_or(reply, "ok", false))
        b->select_edit = false; // no new cell comes
    on_reply(b, reply);
    if (str_eq(json_path_str(reply, "error.code"), err_name(ERR_NOT_FOUND)))
        structure_rescue_again(b);
}

// Sends a change of the cells; later typing waits for the reply (typeahead.c).
static void send_change(bench *b, cJSON *m)
{
    json_set_int(m, "rev", b->seen);
    b->saved = false;
    b->asked++;
    client_request(b->client, m, on_changed, b);
}

struct editing {
    bench *bench;
    char *cell;
    bool waited_for; // later typing waits for it
};

// The kernel has another client's text: it is shown, and undo brings back our own.
static void give_way(bench *b, struct slot *s)
{
    s->sent = text_revision(edit_text(s->edit));
    s->contested = true;
    bench_complain(b, "another client has changed this cell: M-z in it brings back yours");
    slots_follow_cell(b, s->id);
}

static void on_edited(void *arg, const cJSON *reply)
{
    struct editing *e = arg;
    bench *b = e->bench;
    struct slot *s = slot_by_id(b, e->cell, NULL);
    const char *code = json_str_or(json_get(reply, "error"), "code", "unavailable");
    int64_t rev = json_int_or(reply, "rev", 0);
    bool done = json_bool_or(reply, "ok", false);
    if (e->waited_for) {
        b->asked -= b->asked > 0;
        b->made = rev > b->made ? rev : b->made;
    }
    on_reply(b, reply);
    if (s)
        s->asked -= s->asked > 0;
    if (s && done)
        s->base = s->made = rev;
    else if (s && str_eq(code, "unavailable")) // the kernel stops: the text goes to the next one
        s->sent = UINT64_MAX;
    else if (s)
        give_way(b, s);
    free(e->cell);
    free(e);
}

static void send_edit(bench *b, struct slot *s, const char *marker)
{
    AUTO_BUF source = {0};
    text_all(edit_text(s->edit), &source);
    s->sent = text_revision(edit_text(s->edit));
    s->asked++;
    s->contested = false;
    cJSON *m = message_new(MESSAGE_edit);
    json_set_int(m, "rev", s->base);
    json_set_str(m, "cell", s->id);
    json_set_str(m, "source", buf_cstr(&source));
    json_set_str(m, "marker", marker);
    b->saved = false;
    b->asked += marker != NULL;
    struct editing *e = mem_alloc(sizeof *e);
    *e = (struct editing){b, mem_strdup(s->id), marker != NULL};
    client_request(b->client, m, on_edited, e);
}

void remote_flush(bench *b)
{
    b->edited_at = 0;
    if (!b->client || b->read_only)
        return;
    for (size_t i = 0; i < b->n_slots; i++)
        if (slot_unsent(b->slots[i]))
            send_edit(b, b->slots[i], NULL);
}

static void add_cells(bench *b, cJSON *m, size_t from, size_t to)
{
    cJSON *ids = json_array_at(m, "cells");
    for (size_t i = from; i < to && i < b->n_slots; i++)
        if (slot_cell(b, i)->kind == CELL_CODE)
            cJSON_AddItemToArray(ids, cJSON_CreateString(b->slots[i]->id));
}

bool remote_execute(bench *b, size_t from, size_t to)
{
    if (!remote_ready(b, true))
        return false;
    remote_flush(b);
    cJSON *m = message_new(MESSAGE_execute);
    add_cells(b, m, from, to);
    bool any = json_get(m, "cells")->child != NULL;
    if (any)
        client_request(b->client, m, on_reply, b);
    else
        cJSON_Delete(m);
    return any;
}

int remote_execute_stale(bench *b)
{
    int n = 0;
    if (!remote_ready(b, true))
        return -1;
    remote_flush(b);
    cJSON *m = message_new(MESSAGE_execute);
    AUTO_FREE bool *wanted = mem_array(b->n_slots + 1, sizeof *wanted);
    for (size_t i = 0; i < b->n_slots; i++)
        n += wanted[i] = slot_stale(b, i);
    memory_add_needed(b, wanted);
    for (size_t i = 0; i < b->n_slots; i++)
        if (wanted[i])
            add_cells(b, m, i, i + 1);
    if (n)
        client_request(b->client, m, on_reply, b);
    else
        cJSON_Delete(m);
    return n;
}

void remote_clear(bench *b, size_t from, size_t to)
{
    if (!remote_ready(b, true))
        return;
    for (size_t i = from; i < to && i < b->n_slots; i++) {
        b->slots[i]->forgotten = true;
        b->slots[i]->version++;
    }
    cJSON *m = message_new(MESSAGE_clear);
    add_cells(b, m, from, to);
    client_request(b->client, m, on_reply, b);
}

// Shows "interrupted" when the run is (events.c).
static void on_interrupt(void *arg, const cJSON *reply)
{
    bench *b = arg;
    if (str_eq(b->state, "idle") && str_eq(buf_cstr(&b->say), SAYS_INTERRUPTING))
        bench_say(b, "nothing runs");
    on_reply(b, reply);
}

void remote_interrupt(bench *b)
{
    if (!remote_ready(b, true))
        return;
    client_request(b->client, message_new(MESSAGE_interrupt), on_interrupt, b);
    bench_say(b, SAYS_INTERRUPTING);
}

static void on_sandbox(void *arg, const cJSON *reply)
{
    bench *b = arg;
    on_reply(b, reply);
    if (!json_bool_or(reply, "ok", false))
        return;
    bench_say(b, "%s",
        json_bool_or(reply, "there", false)
            ? "this kernel has its sandbox already"
            : "the sandbox is there: cells and tables go to it now; it ends with the kernel");
}

void remote_sandbox(bench *b, bool processes)
{
    if (!remote_ready(b, true))
        return;
    cJSON *m = message_new(MESSAGE_sandbox);
    if (processes)
        json_set_bool(m, "processes", true);
    client_request(b->client, m, on_sandbox, b);
    bench_say(b, "the sandbox is starting");
}

void remote_restart(bench *b)
{
    if (!b->client && str_eq(b->state, "gone")) {
        orphan_start(b);
        return;
    }
    if (!remote_ready(b, true))
        return;
    remote_flush(b);
    client_request(b->client, message_new(MESSAGE_restart), on_reply, b);
    bench_say(b, SAYS_RESTARTING);
}

void remote_insert(
    bench *b, const char *id, const char *after, const char *marker, const char *source)
{
    cJSON *m = message_new(MESSAGE_insert);
    json_set_str(m, "as", id);
    json_set_str(m, "after", after);
    json_set_str(m, "source", source);
    json_set_str(m, "marker", marker);
    send_change(b, m);
}

void remote_delete(bench *b, size_t i)
{
    struct slot *s = b->slots[i];
    s->sent = text_revision(edit_text(s->edit)); // do not send any of it again
    cJSON *m = message_new(MESSAGE_delete);
    json_set_str(m, "cell", s->id);
    send_change(b, m);
}

void remote_move(bench *b, const char *id, const char *after)
{
    cJSON *m = message_new(MESSAGE_move);
    json_set_str(m, "cell", id);
    json_set_str(m, "after", after);
    send_change(b, m);
}

void remote_edit(bench *b, size_t i, const char *marker)
{
    send_edit(b, b->slots[i], marker);
}

// A request whose caller needs the reply, whichever view is then on top.
struct asking {
    bench *bench;
    void (*done)(bench *b, void *arg, const cJSON *reply);
    void *arg;
};

static void on_asked(void *arg, const cJSON *reply)
{
    struct asking *a = arg;
    bench *b = a->bench;
    a->done(b, a->arg, reply);
    free(a);
    b->dirty = true;
    b->ops->changed(b->arg);
}

void remote_ask(
    bench *b, cJSON *message, void (*done)(bench *b, void *arg, const cJSON *reply), void *arg)
{
    struct asking *a = mem_alloc(sizeof *a);
    *a = (struct asking){b, done, arg};
    client_request(b->client, message, on_asked, a);
}

void remote_answer(bench *b, int64_t ask, const char *value)
{
    if (!remote_ready(b, false))
        return;
    cJSON *m = message_new(MESSAGE_answer);
    json_set_int(m, "ask", ask);
    json_set_str(m, "value", value);
    client_request(b->client, m, on_reply, b);
}

struct acting {
    bench *bench;
    void (*done)(bench *b, const cJSON *reply);
};

static void on_acted(void *arg, const cJSON *reply)
{
    struct acting *a = arg;
    on_reply(a->bench, reply);
    if (json_bool_or(reply, "ok", false))
        a->done(a->bench, reply);
    a->bench->dirty = true;
    free(a);
}

static void send_act(bench *b, cJSON *m, void (*done)(bench *b, const cJSON *reply))
{
    struct acting *a = mem_alloc(sizeof *a);
    *a = (struct acting){b, done};
    client_request(b->client, m, on_acted, a);
}

static cJSON *act_message(int64_t display, const char *action, const char *words)
{
    cJSON *m = message_new(MESSAGE_act);
    json_set_int(m, "display", display);
    json_set_str(m, "action", action);
    json_set_str(m, "words", words);
    return m;
}

void remote_act(bench *b, int64_t display, const char *action, const char *row, const char *words,
    void (*done)(bench *b, const cJSON *reply))
{
    if (!remote_ready(b, false))
        return;
    cJSON *m = act_message(display, action, words);
    json_set_str(m, "row", row);
    send_act(b, m, done);
}

void remote_act_all(bench *b, int64_t display, const char *action, cJSON *rows, const char *words,
    void (*done)(bench *b, const cJSON *reply))
{
    if (!remote_ready(b, false)) {
        cJSON_Delete(rows);
        return;
    }
    cJSON *m = act_message(display, action, words);
    json_set(m, "rows", rows);
    send_act(b, m, done);
}
