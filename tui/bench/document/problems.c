// SPDX-License-Identifier: MIT
// A slot remembers for which text it was asked, and what was found, each with its line: a line that
// has been changed since has no mark until the next answer.
#include "tui/bench/document/problems.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"

#include <string.h>

enum { PAUSE_MS = 300, AT_ONCE = 100 }; // without a key; cells in a question

static bool may_ask(const bench *b)
{
    return b->client && !b->replaying && !b->incoming && b->run && !b->problems.deaf &&
           !b->problems.asks && *b->state && !str_eq(b->state, "gone");
}

// Has the kernel the slot's text, and was it not asked about this one?
static bool is_due(const bench *b, size_t i)
{
    const struct slot *s = b->slots[i];
    return slot_cell(b, i)->kind == CELL_CODE && !slot_unsent(s) && !s->asked &&
           s->checked_turn != b->problems.turn + 1 + text_revision(edit_text(s->edit));
}

static bool any_due(const bench *b)
{
    size_t to = b->problems.all ? b->n_slots : b->problems.to;
    size_t from = b->problems.all ? 0 : b->problems.from;
    for (size_t i = from; i < to && i < b->n_slots; i++)
        if (is_due(b, i))
            return true;
    return false;
}

int problems_wait_ms(const bench *b)
{
    if (!may_ask(b) || b->edited_at || !any_due(b))
        return -1;
    int64_t left = b->typed_at + PAUSE_MS * CLOCK_MS - clock_mono();
    return left > 0 ? (int)(left / CLOCK_MS) + 1 : 0;
}

// Keeps the line beside what was found in it.
static void take(struct slot *s, const cJSON *faults)
{
    const text *t = edit_text(s->edit);
    cJSON_Delete(STEAL(s->problems));
    if (!faults || !faults->child)
        return;
    s->problems = cJSON_Duplicate(faults, true);
    for (cJSON *p = s->problems->child; p; p = p->next) {
        int64_t line = json_int_or(p, "line", 1);
        size_t n, at = line > 0 ? (size_t)line - 1 : 0;
        at = at < text_lines(t) ? at : text_lines(t) - 1;
        const char *words = text_line(t, at, &n);
        AUTO_FREE char *copy = mem_strndup(words, n);
        json_set_int(p, "line", (int64_t)at);
        json_set_str(p, "words", copy);
    }
}

static void on_checked(bench *b, void *arg, const cJSON *reply)
{
    const cJSON *one;
    b->problems.asks = false;
    if (!reply)
        return;
    if (str_eq(json_path_str(reply, "error.code"), "usage")) // an older kernel
        b->problems.deaf = true;
    cJSON_ArrayForEach(one, json_get(reply, "found"))
    {
        struct slot *s = slot_by_id(b, one->string, NULL);
        const char *hash = json_str(one, "hash");
        if (s && hash && !slot_changed(s, hash))
            take(s, json_get(one, "faults"));
    }
    b->dirty = true;
    if (b->problems.then == ACT_NONE || !problems_know_all(b))
        return;
    enum action then = b->problems.then;
    b->problems.then = ACT_NONE;
    if (b->top == b->problems.on)
        b->top->ops->act(b->top, then);
}

// What was found of manifests holds for the cluster in use.
static void follow_cluster(bench *b)
{
    const char *context = json_str(b->cluster, "context");
    if (str_eq(context, b->problems.context))
        return;
    free(b->problems.context);
    b->problems.context = mem_strdup(context);
    b->problems.turn += (uint64_t)1 << 40;
}

void problems_tick(bench *b)
{
    follow_cluster(b);
    if (problems_wait_ms(b) != 0)
        return;
    cJSON *m = message_new(MESSAGE_check), *ids = json_array_at(m, "cells");
    size_t to = b->problems.all ? b->n_slots : b->problems.to, n = 0;
    for (size_t i = b->problems.all ? 0 : b->problems.from; i < to && i < b->n_slots; i++) {
        struct slot *s = b->slots[i];
        if (!is_due(b, i) || (!b->problems.all && n == AT_ONCE))
            continue;
        s->checked_turn = b->problems.turn + 1 + text_revision(edit_text(s->edit));
        cJSON_AddItemToArray(ids, cJSON_CreateString(s->id));
        n++;
    }
    b->problems.all = false;
    b->problems.asks = true;
    remote_ask(b, m, on_checked, NULL);
}

void problems_watch(bench *b, size_t from, size_t to)
{
    b->problems.from = from;
    b->problems.to = to;
}

bool problems_want_all(bench *b, enum action then)
{
    b->problems.all = true;
    b->problems.then = ACT_NONE;
    if (problems_know_all(b)) {
        b->problems.all = false;
        return false;
    }
    b->problems.then = then;
    b->problems.on = b->top;
    return true;
}

bool problems_know_all(const bench *b)
{
    bool due = b->problems.all && may_ask(b) && (b->edited_at || any_due(b));
    return !b->problems.asks && !due;
}

void problems_free(bench *b)
{
    free(STEAL(b->problems.context));
    buf_done(&b->problems.said);
}

// A kernel was joined: what the one before has found says nothing about its document.
void problems_forget(bench *b)
{
    b->problems.asks = b->problems.deaf = b->problems.all = false;
    b->problems.turn += (uint64_t)1 << 40;
}

static bool read_problem(const struct slot *s, const cJSON *p, struct problem *out)
{
    const text *t = edit_text(s->edit);
    size_t n, line = (size_t)json_int_or(p, "line", 0);
    const char *was = json_str_or(p, "words", "");
    if (line >= text_lines(t))
        return false;
    const char *words = text_line(t, line, &n);
    if (strlen(was) != n || memcmp(was, words, n) != 0)
        return false;
    *out = (struct problem){.line = line,
        .from = (size_t)json_int_or(p, "from", 0),
        .to = (size_t)json_int_or(p, "to", 0),
        .warning = !str_eq(json_str(p, "severity"), "error"),
        .text = json_str_or(p, "text", ""),
        .source = json_str_or(p, "source", "")};
    if (out->to > n || out->from >= out->to) {
        out->from = strspn(words, " \t");
        out->to = n;
        out->from = out->from < n ? out->from : n;
    }
    return true;
}

bool slot_problem(const bench *b, size_t i, size_t k, struct problem *out)
{
    const struct slot *s = b->slots[i];
    const cJSON *p;
    if (slot_cell(b, i)->kind != CELL_CODE)
        return false;
    cJSON_ArrayForEach(p, s->problems)
    {
        if (read_problem(s, p, out) && k-- == 0)
            return true;
    }
    return false;
}

bool slot_problem_at(const bench *b, size_t i, pos at, struct problem *out)
{
    struct problem one;
    bool found = false;
    for (size_t k = 0; slot_problem(b, i, k, &one); k++) {
        if (one.line != at.line)
            continue;
        if (!found || (at.byte >= one.from && at.byte <= one.to))
            *out = one;
        found = true;
        if (at.byte >= one.from && at.byte < one.to)
            return true;
    }
    return found;
}

void problems_say(bench *b)
{
    size_t i;
    struct problem p;
    buf_clear(&b->problems.said);
    const struct slot *s = b->edited && b->top->ops->keys == &notebook_keys ? b->edited : NULL;
    for (i = 0; s && i < b->n_slots && b->slots[i] != s; i++)
        ;
    if (!s || i == b->n_slots || !s->problems || view_mode(b->top) != MODE_EDIT ||
        !slot_problem_at(b, i, edit_cursor(s->edit), &p))
        return;
    buf_str(&b->problems.said, p.text);
    b->problems.warns = p.warning;
}
