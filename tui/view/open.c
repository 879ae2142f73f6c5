// SPDX-License-Identifier: MIT
#include "tui/view/open.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/journal/html_table.h"
#include "tui/bench/views.h"
#include "tui/part/curves.h"

enum { THINGS = 64 };
#define KIND(name) "application/vnd.firesteel." name "+json"

// The views that can show an output, the most useful last.
enum fit { FIT_TEXT, FIT_LOG, FIT_CHART, FIT_TABLE };

struct thing {
    int64_t display; // 0: all outputs as a text
    enum fit fit;
    bool live;
    const cJSON *data; // borrowed
};
struct things {
    const char *cell;
    struct thing list[THINGS];
    size_t n;
};

static const struct {
    const char *mime, *name;
    enum fit fit;
} kinds[] = {
    {KIND("pods"), "pods", FIT_TABLE},
    {KIND("events"), "events", FIT_TABLE},
    {KIND("table"), "table", FIT_TABLE},
    {KIND("progress"), "progress", FIT_CHART},
    {KIND("plot"), "plot", FIT_CHART},
    {KIND("log"), "log", FIT_LOG},
    {"text/html", "table", FIT_TABLE},
};

static size_t kind_of(const cJSON *bundle)
{
    size_t i = 0;
    while (i < ARRAY_LEN(kinds) && !json_get(bundle, kinds[i].mime))
        i++;
    if (i < ARRAY_LEN(kinds) && str_eq(kinds[i].mime, "text/html")) {
        AUTO_JSON *table = html_table_read(json_str_or(bundle, kinds[i].mime, ""));
        return table ? i : ARRAY_LEN(kinds);
    }
    bool elsewhere = i < ARRAY_LEN(kinds) && kinds[i].fit == FIT_LOG &&
                     !json_get(json_get(bundle, kinds[i].mime), "spool");
    return elsewhere ? ARRAY_LEN(kinds) : i; // its lines are part of the cell's text
}

const cJSON *open_table(const cJSON *bundle)
{
    size_t i = kind_of(bundle);
    const cJSON *table = i < ARRAY_LEN(kinds) ? json_get(bundle, kinds[i].mime) : NULL;
    return cJSON_IsArray(json_get(table, "rows")) ? table : NULL;
}

const char *open_name(const cJSON *bundle)
{
    size_t i = kind_of(bundle);
    return i < ARRAY_LEN(kinds) ? kinds[i].name : "output";
}

static const struct run_cell *find_cell(const bench *b, const char *id, int64_t display)
{
    return id ? fold_cell_by_id(bench_fold(b), id, NULL)
              : fold_display_cell(bench_fold(b), display);
}

static void find_things(const struct run_cell *r, struct things *all)
{
    *all = (struct things){.cell = r ? r->id : NULL};
    bool other = false;
    for (size_t i = 0; r && i < r->n_outputs; i++) {
        const struct output *o = &r->outputs[i];
        size_t kind = o->kind == OUTPUT_DISPLAY ? kind_of(o->data) : ARRAY_LEN(kinds);
        if (kind == ARRAY_LEN(kinds) || all->n == THINGS - 1) {
            other = true;
            continue;
        }
        all->list[all->n++] = (struct thing){
            .display = o->id, .fit = kinds[kind].fit, .live = o->live, .data = o->data};
    }
    if (other || all->n != 1)
        all->list[all->n++] = (struct thing){.fit = FIT_TEXT};
}

static bool has_curves(const cJSON *bundle)
{
    curves *c = curves_new(bundle);
    bool any = c != NULL;
    curves_free(c);
    return any;
}

// How well a display shows what its cell has left. A live one is the best. Once it has ended, the
// text says all that it says, except for the actions on its rows, and for curves.
static int worth(const struct thing *t)
{
    enum { LIVE = 10, ACTIONS = 6, CURVES = 5, TEXT = 4 };
    if (t->live)
        return LIVE + (int)t->fit;
    if (json_get(open_table(t->data), "actions"))
        return ACTIONS;
    return has_curves(t->data) ? CURVES : t->fit == FIT_TEXT ? TEXT : (int)t->fit;
}

static void push(bench *b, const char *id, const struct thing *t)
{
    size_t at;
    if (t->fit == FIT_TABLE)
        table_push(b, t->display);
    else if (t->fit == FIT_CHART)
        chart_push(b, t->display);
    else if (t->display)
        page_push_display(b, t->display);
    else if (slot_by_id(b, id, &at))
        page_push(b, at);
}

bool open_output(bench *b, const char *id)
{
    struct things all;
    size_t best = 0;
    const struct run_cell *r = find_cell(b, id, 0);
    struct slot_past past;
    size_t at;
    if (slot_by_id(b, id, &at) && slot_outputs(b, at, &past) && past.run) {
        page_push(b, at); // all of it as a text: its displays are none of this run's
        return true;
    }
    if (!r || (r->n_outputs == 0 && r->state != STATE_RUNNING)) // what runs may still say something
        return false;
    find_things(r, &all);
    for (size_t i = 0, most = 0; i < all.n; i++) {
        size_t now = (size_t)worth(&all.list[i]);
        best = now > most ? i : best;
        most = now > most ? now : most;
    }
    push(b, id, &all.list[best]);
    return true;
}

static size_t index_of(const struct things *all, int64_t display)
{
    size_t i = 0;
    while (i < all->n && all->list[i].display != display)
        i++;
    return i;
}

bool open_turn(view *v, const char *id, int64_t display, int step)
{
    struct things all;
    bench *b = v->bench;
    find_things(find_cell(b, id, display), &all);
    size_t at = index_of(&all, display);
    if (at == all.n || all.n < 2) {
        bench_say(b, "the cell has nothing else to show");
        return true;
    }
    AUTO_FREE char *own = mem_strdup(all.cell);
    size_t next = (at + all.n + (size_t)(step < 0 ? all.n - 1 : 1)) % all.n;
    push(b, own, &all.list[next]);
    view_pop(v);
    return true;
}

void open_place(bench *b, const char *id, int64_t display, buf *out)
{
    struct things all;
    find_things(find_cell(b, id, display), &all);
    size_t at = index_of(&all, display);
    if (all.n > 1 && at < all.n)
        buf_fmt(out, "  %zu of %zu", at + 1, all.n);
}
