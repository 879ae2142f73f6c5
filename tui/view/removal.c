// SPDX-License-Identifier: MIT
// Asks before a run is removed with all that it has left here.
#include "base/mem.h"
#include "base/str.h"
#include "tui/part/dialog.h"
#include "tui/view/runs_private.h"

struct removal_view {
    view head;
    struct runs_view *runs; // the view below, which outlives this one
    char *run;
};

static void draw(const view *view_, grid *g, rect area)
{
    const struct removal_view *v = (const struct removal_view *)view_;
    AUTO_FREE char *words = str_fmt("%s\n"
                                    "its journal with all outputs; files that it made stay\n"
                                    "y  remove it\n"
                                    "Esc  keep it",
        v->run);
    dialog_draw(g, area, "Remove this run?", words, !view_takes_keys(view_));
}

static void hint(const view *v, buf *out)
{
    buf_str(out, "Esc keeps it");
}

static bool act(view *view_, enum action a)
{
    struct removal_view *v = (struct removal_view *)view_;
    if (a != ACT_REMOVE_RUN)
        return false;
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
    .draw = draw,
    .act = act,
    .hint = hint,
    .done = done};
