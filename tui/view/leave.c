// SPDX-License-Identifier: MIT
// Leaving: at once when there is nothing to decide; else what is unsaved is asked about. What runs
// goes on, and the shell is told how to come back.
#include "base/str.h"
#include "tui/view/dialog.h"

static void go(bench *b, bool stop)
{
    buf_clear(&b->farewell);
    if (bench_busy(b) && !stop && b->run)
        buf_fmt(&b->farewell, "%s goes on; `firesteel attach %s` comes back to it", b->run, b->run);
    b->ops->quit(b->arg, stop);
}

static void draw(view *v, grid *g, rect area)
{
    dialog_draw(g, area, "Unsaved changes", "The notebook has changes that are not in its file.",
        "s save and leave   d discard them   Esc stay", NULL);
}

static void type(view *v, key k)
{
    bench *b = v->bench;
    uint32_t c = key_character(k);
    if (c == 's' || c == 'y') {
        remote_save(b, false);
        view_pop(v);
        go(b, false);
    } else if (c == 'd' || c == 'n') {
        view_pop(v);
        go(b, !bench_busy(b));
    }
}

static bool no_act(view *v, enum action a)
{
    return false;
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Esc", ACT_BACK},
    {MODE_VIEW, "C-l", ACT_REDRAW},
};
static const struct keymap keys = KEYMAP(bindings);
static const struct view_ops ops = {
    .name = "leaving", .keys = &keys, .overlay = true, .draw = draw, .act = no_act, .type = type};

void leave_push(bench *b)
{
    remote_flush(b);
    if (b->saved || b->read_only || !b->client) {
        go(b, false);
        return;
    }
    view_push(b, &ops, sizeof(view));
}
