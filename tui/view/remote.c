// SPDX-License-Identifier: MIT
// What the kernel is asked for. Messages are handled in the order they are sent, so a revision can
// be counted ahead: each of our changes makes one.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/view/view.h"

#include <stdio.h>
#include <string.h>

bool remote_ready(bench *b, bool change)
{
    if (!b->client)
        bench_complain(b, str_eq(b->state, "starting") ? "the kernel is starting"
                                                       : "there is no kernel: 00 starts one");
    else if (change && b->read_only)
        bench_complain(b, "a headless run is only watched");
    return b->client && !(change && b->read_only);
}

static void on_reply(void *arg, const cJSON *reply)
{
    bench *b = arg;
    const cJSON *error = json_get(reply, "error");
    b->ops->changed(b->arg);
    if (!reply || json_bool_or(reply, "ok", false))
        return;
    bench_complain(b, "%s", json_str_or(error, "message", "the kernel said no"));
    b->rev = json_int_or(reply, "rev", b->rev);
}

static void on_edit_reply(void *arg, const cJSON *reply)
{
    bench *b = arg;
    on_reply(b, reply);
    if (reply && !json_bool_or(reply, "ok", false)) {
        for (size_t i = 0; i < b->n_slots; i++) // what others wrote is shown
            b->slots[i]->sent = text_revision(edit_text(b->slots[i]->edit));
        slots_follow(b);
    }
}

static void send_edit(bench *b, cJSON *m)
{
    json_set_int(m, "rev", b->rev++);
    b->saved = false;
    client_request(b->client, m, on_edit_reply, b);
}

static void on_changed(void *arg, const cJSON *reply)
{
    bench *b = arg;
    int64_t rev = json_int_or(reply, "rev", 0);
    on_edit_reply(b, reply);
    b->asked -= b->asked > 0;
    b->made = json_bool_or(reply, "ok", false) && rev > b->made ? rev : b->made;
}

// A change of which cells there are: what is typed next waits for it (typeahead.c).
static void send_change(bench *b, cJSON *m, void (*reply)(void *arg, const cJSON *reply), void *arg)
{
    json_set_int(m, "rev", b->rev++);
    b->saved = false;
    b->asked++;
    client_request(b->client, m, reply, arg);
}

static void send_text(bench *b, struct slot *s)
{
    AUTO_BUF source = {0};
    text_all(edit_text(s->edit), &source);
    s->sent = text_revision(edit_text(s->edit));
    cJSON *m = message_new(MESSAGE_edit);
    json_set_str(m, "cell", s->id);
    json_set_str(m, "source", buf_cstr(&source));
    send_edit(b, m);
}

void remote_flush(bench *b)
{
    b->edited_at = 0;
    if (!b->client || b->read_only)
        return;
    for (size_t i = 0; i < b->n_slots; i++)
        if (slot_unsent(b->slots[i]))
            send_text(b, b->slots[i]);
}

void remote_execute(bench *b, size_t from, size_t to)
{
    if (!remote_ready(b, true))
        return;
    remote_flush(b);
    cJSON *m = message_new(MESSAGE_execute), *ids = json_array_at(m, "cells");
    for (size_t i = from; i < to && i < b->n_slots; i++)
        if (slot_cell(b, i)->kind == CELL_CODE)
            cJSON_AddItemToArray(ids, cJSON_CreateString(b->slots[i]->id));
    if (ids->child)
        client_request(b->client, m, on_reply, b);
    else
        cJSON_Delete(m);
}

void remote_interrupt(bench *b)
{
    if (!remote_ready(b, false))
        return;
    client_request(b->client, message_new(MESSAGE_interrupt), on_reply, b);
    bench_say(b, "interrupting");
}

void remote_restart(bench *b)
{
    if (!remote_ready(b, true))
        return;
    remote_flush(b);
    client_request(b->client, message_new(MESSAGE_restart), on_reply, b);
    bench_say(b, "restarting the kernel");
}

void remote_save(bench *b, bool force)
{
    if (!remote_ready(b, true))
        return;
    remote_flush(b);
    cJSON *m = message_new(MESSAGE_save);
    json_set_int(m, "rev", b->rev);
    if (force)
        json_set_bool(m, "force", true);
    client_request(b->client, m, on_reply, b);
}

static struct change *note_change(bench *b, enum change_kind kind, const char *id)
{
    b->changes = mem_resize(b->changes, b->n_changes + 1, sizeof *b->changes);
    struct change *c = &b->changes[b->n_changes++];
    *c = (struct change){.kind = kind, .id = mem_strdup(id)};
    return c;
}

struct inserting {
    bench *bench;
    bool note;
};

static void on_inserted(void *arg, const cJSON *reply)
{
    struct inserting *in = arg;
    bench *b = in->bench;
    on_changed(b, reply);
    const char *id = json_str(reply, "cell");
    if (id && in->note)
        note_change(b, CHANGE_INSERTED, id);
    if (id) {
        free(b->select);
        b->select = mem_strdup(id);
        b->dirty = true;
    }
    free(in);
}

static void set_after(bench *b, cJSON *m, size_t at)
{
    if (at > 0 && at <= b->n_slots)
        json_set_str(m, "after", b->slots[at - 1]->id);
}

void remote_insert(bench *b, size_t at, const char *marker, const char *source, bool note)
{
    if (!remote_ready(b, true))
        return;
    cJSON *m = message_new(MESSAGE_insert);
    set_after(b, m, at);
    json_set_str(m, "source", source);
    json_set_str(m, "marker", marker);
    struct inserting *in = mem_alloc(sizeof *in);
    *in = (struct inserting){b, note};
    send_change(b, m, on_inserted, in);
}

void remote_delete(bench *b, size_t at, bool note)
{
    if (!remote_ready(b, true) || at >= b->n_slots)
        return;
    struct slot *s = b->slots[at];
    if (note) {
        AUTO_BUF source = {0};
        text_all(edit_text(s->edit), &source);
        struct change *c = note_change(b, CHANGE_DELETED, s->id);
        c->after = mem_strdup(at > 0 ? b->slots[at - 1]->id : NULL);
        c->marker = mem_strdup(slot_cell(b, at)->marker);
        c->source = mem_strdup(buf_cstr(&source));
    }
    s->sent = text_revision(edit_text(s->edit)); // nothing of it is sent any more
    cJSON *m = message_new(MESSAGE_delete);
    json_set_str(m, "cell", s->id);
    send_change(b, m, on_changed, b);
}

// to: its index afterwards.
static void send_move(bench *b, const char *id, const char *after)
{
    cJSON *m = message_new(MESSAGE_move);
    json_set_str(m, "cell", id);
    json_set_str(m, "after", after);
    send_change(b, m, on_changed, b);
}

void remote_move(bench *b, size_t from, size_t to)
{
    if (!remote_ready(b, true) || from >= b->n_slots || to >= b->n_slots || from == to)
        return;
    struct change *c = note_change(b, CHANGE_MOVED, b->slots[from]->id);
    c->after = mem_strdup(from > 0 ? b->slots[from - 1]->id : NULL);
    size_t at = to > from ? to + 1 : to;
    send_move(b, b->slots[from]->id, at > 0 ? b->slots[at - 1]->id : NULL);
}

void remote_marker(bench *b, size_t at, const char *marker)
{
    if (!remote_ready(b, true))
        return;
    struct slot *s = b->slots[at];
    AUTO_BUF source = {0};
    text_all(edit_text(s->edit), &source);
    s->sent = text_revision(edit_text(s->edit));
    cJSON *m = message_new(MESSAGE_edit);
    json_set_str(m, "cell", s->id);
    json_set_str(m, "source", buf_cstr(&source));
    json_set_str(m, "marker", marker);
    send_edit(b, m);
}

void remote_undo(bench *b)
{
    size_t at = 0;
    if (!remote_ready(b, true))
        return;
    if (b->n_changes == 0) {
        bench_say(b, "no change of cells to undo");
        return;
    }
    struct change c = b->changes[--b->n_changes];
    if (c.kind == CHANGE_DELETED) {
        if (c.after && slot_by_id(b, c.after, &at))
            at++;
        remote_insert(b, at, c.marker, c.source, false);
    } else if (c.kind == CHANGE_MOVED) {
        send_move(b, c.id, c.after);
    } else if (slot_by_id(b, c.id, &at)) {
        remote_delete(b, at, false);
    }
    free(c.id);
    free(c.after);
    free(c.marker);
    free(c.source);
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

void remote_act(bench *b, int64_t display, const char *action, const char *row,
    void (*done)(bench *b, const cJSON *reply))
{
    if (!remote_ready(b, false))
        return;
    cJSON *m = message_new(MESSAGE_act);
    json_set_int(m, "display", display);
    json_set_str(m, "action", action);
    json_set_str(m, "row", row);
    struct acting *a = mem_alloc(sizeof *a);
    *a = (struct acting){b, done};
    client_request(b->client, m, on_acted, a);
}
