// SPDX-License-Identifier: MIT
#include "tui/bench/loss.h"

#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"
#include "tui/bench/views.h"

#include <string.h>

// What would be lost of some cells.
struct loss {
    size_t running, waiting, live, ran, shown;
    const struct run_cell *first; // that runs
};

static bool is_among(const cJSON *cells, const char *id)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, cells)
    {
        if (cJSON_IsString(one) && str_eq(one->valuestring, id))
            return true;
    }
    return !cells;
}

static void add_cell(struct loss *l, const struct run_cell *c)
{
    bool runs = c->state == STATE_RUNNING;
    l->first = runs && !l->first ? c : l->first;
    l->running += runs;
    l->waiting += c->state == STATE_QUEUED;
    l->ran += c->count > 0 && !runs;
    l->shown += c->n_outputs > 0;
    for (size_t i = 0; i < c->n_outputs; i++)
        l->live += c->outputs[i].live;
}

static struct loss loss_of(const bench *b, const cJSON *cells)
{
    struct loss l = {0};
    for (size_t i = 0; i < fold_count(b->fold); i++)
        if (is_among(cells, fold_cell(b->fold, i)->id))
            add_cell(&l, fold_cell(b->fold, i));
    for (size_t i = 0; !cells && i < fold_gone_count(b->fold); i++) // its values are still there
        l.ran += fold_gone(b->fold, i)->count > 0;
    return l;
}

// What the action does to what is there.
enum harm { ENDS = 1, FORGETS = 2, REPLACES = 4, HIDES = 8 };
static const struct deed {
    enum action action;
    unsigned harm;
    const char *title, *yes;
} deeds[] = {
    {ACT_RESTART, ENDS | FORGETS, "Restart the kernel?", "restart it"},
    {ACT_STOP, ENDS | FORGETS, "Stop the kernel?", "stop it and leave"},
    {ACT_RUN_ALL, REPLACES, "Run all cells?", "run them all"},
    {ACT_DELETE_CELL, ENDS, "Delete the cell?", "delete it"},
    {ACT_CUT, ENDS, "Cut the cell?", "cut it"},
    {ACT_MERGE, ENDS, "Merge the cells?", "merge them"},
    {ACT_UNDO_CELL, ENDS, "Undo, and delete the cell?", "undo it"},
    {ACT_REDO_CELL, ENDS, "Do it again, and delete the cell?", "do it again"},
    {ACT_CLEAR_OUTPUT, ENDS, "Clear the output?", "clear it"},
    {ACT_CLEAR_ALL, ENDS | HIDES, "Clear all outputs?", "clear them all"},
};

static const struct deed *deed_of(enum action a)
{
    for (size_t i = 0; i < ARRAY_LEN(deeds); i++)
        if (deeds[i].action == a)
            return &deeds[i];
    return NULL;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void add_running(const bench *b, const struct loss *l, buf *out)
{
    size_t at;
    AUTO_BUF name = {0};
    if (l->first && slot_by_id(b, l->first->id, &at))
        slot_name(b, at, &name);
    if (l->running)
        buf_fmt(out, "[%ld] %s runs\n", l->first->count, buf_cstr(&name));
    if (l->waiting)
        buf_fmt(
            out, "%zu cell%s wait%s\n", l->waiting, plural(l->waiting), l->waiting == 1 ? "s" : "");
    if (l->live)
        buf_fmt(out, "%zu output%s still live\n", l->live, l->live == 1 ? " is" : "s are");
}

// A line for each thing that the action would end or lose; none: it loses nothing.
static void words_of(const bench *b, const struct deed *d, const struct loss *l, buf *out)
{
    add_running(b, l, out);
    if (d->harm & FORGETS && l->ran)
        buf_fmt(
            out, "the values of %zu cell%s that ran go with the kernel\n", l->ran, plural(l->ran));
    if (d->harm & REPLACES && l->ran)
        buf_fmt(out, "%zu cell%s ran already: their values and outputs are replaced\n", l->ran,
            plural(l->ran));
    if (d->harm & HIDES && l->shown)
        buf_fmt(out, "%zu cell%s outputs; the journal of the run keeps them\n", l->shown,
            l->shown == 1 ? " has" : "s have");
}

static bool is_asked(const bench *b, enum action a)
{
    return !b->no_ask && b->client && (!b->read_only || a == ACT_STOP);
}

bool loss_agreed(bench *b, enum action a, cJSON *cells)
{
    const struct deed *d = deed_of(a);
    AUTO_JSON *ids = cells;
    AUTO_BUF words = {0};
    struct loss l = loss_of(b, ids);
    if (!d || !is_asked(b, a))
        return true;
    words_of(b, d, &l, &words);
    AUTO_FREE char *list = ids ? cJSON_PrintUnformatted(ids) : mem_strdup("");
    AUTO_FREE char *about = str_fmt("%s %s", action_name(a), list);
    if (!words.len || str_eq(b->agreed, about))
        return true;
    buf_fmt(&words, "y  %s\nEsc  leave it as it is", d->yes);
    confirm_push(b, a, d->title, buf_cstr(&words), about);
    return false;
}

bool loss_agreed_cells(bench *b, enum action a, size_t lo, size_t hi)
{
    cJSON *ids = cJSON_CreateArray();
    for (size_t i = lo; i <= hi && i < b->n_slots; i++)
        cJSON_AddItemToArray(ids, cJSON_CreateString(b->slots[i]->id));
    return loss_agreed(b, a, ids);
}

void loss_agree(bench *b, enum action a, const char *about)
{
    b->agreed = about;
    bench_act(b, a);
    b->agreed = NULL;
}
