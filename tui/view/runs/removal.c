// SPDX-License-Identifier: MIT
// Asks before a run is removed with all that it has left here.
#include "base/mem.h"
#include "base/str.h"
#include "tui/part/dialog.h"
#include "tui/view/runs/runs_private.h"

struct removal_view {
    view head;
    struct runs_view *runs; // the view below, which outlives this one
    char *run;
    struct scroll scroll;
};

static char *words_of(const struct removal_view *v)
{
    return str_fmt("%s\n"
                   "its journal with all outputs; files that it made stay\n"
                   "y  remove it\n"
                   "Esc  keep it",
        v->run);
}

static void settle(view *view_, rect area)
{
    struct removal_view *v = (struct removal_view *)view_;
    AUTO_FREE char *words = words_of(v);
    dialog_settle_text(area, words, &v->scroll);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct removal_view *v = (const struct removal_view *)view_;
    AUTO_FREE char *words = words_of(v);
    dialog_draw(g, area, "Remove this run?", words, !view_takes_keys(view_), &v->scroll);
}

static void hint(const view *v, buf *out)
{
    buf_str(out, "Esc keeps it");
}

static bool act(view *view_, enum action a)
{
    struct removal_view *v = (struct removal_view *)view_;
    if (a != ACT_REMOVE_RUN)
        return scroll_act(&v->scroll, a);
    struct runs_view *runs = v->runs;
    AUTO_FREE char *run = STEAL(v->run);
    view_pop(view_);
    if (bench_run_deed(runs->head.bench, RUN_REMOVE, runs->folder, run))
        runs_rows_forget(runs, run);
    return true;
}

static void done(view *view_)
{
    free(((struct removal_view *)view_)->run);
}

void removal_push(struct runs_view *runs, const char *run)
{
    struct removal_view *v = view_push(runs->head.bench, &removal_view_ops, sizeof *v);
    v->runs = runs;
    v->run = mem_strdup(run);
}

static bool risks(enum action a)
{
    return a == ACT_REMOVE_RUN;
}

static const struct binding bindings[] = {
    {MODE_VIEW, "y", ACT_REMOVE_RUN},
    {MODE_VIEW, "Down", ACT_ROW_NEXT},
    {MODE_VIEW, "Up", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "PgDn", ACT_PAGE_DOWN},
    {MODE_VIEW, "PgUp", ACT_PAGE_UP},
    {MODE_VIEW, "Esc", ACT_BACK},
    {MODE_VIEW, "n", ACT_BACK},
    {MODE_VIEW, "C-c", ACT_BACK},
    {MODE_VIEW, "C-l", ACT_REDRAW},
    {MODE_VIEW, "C-z", ACT_SUSPEND},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops removal_view_ops = {.name = "removing",
    .keys = &keys,
    .overlay = true,
    .asks = true,
    .risks = risks,
    .settle = settle,
    .draw = draw,
    .act = act,
    .hint = hint,
    .done = done};
