// SPDX-License-Identifier: MIT
// Asks on leaving what to do with unsaved changes. Running cells go on, and the shell gets a line
// that says how to come back.
#include "tui/bench/command.h"
#include "tui/part/dialog.h"
#include "tui/view/views.h"

static void draw(const view *v, grid *g, rect area)
{
    static const char with[] = "s  save and leave\n"
                               "d  discard them and leave\n"
                               "k  leave; they stay in the kernel\n"
                               "Esc  stay",
                      without[] = "The kernel has gone.\n"
                                  "s  save and leave\n"
                                  "d  discard them and leave\n"
                                  "Esc  stay";
    dialog_draw(g, area, "Unsaved changes", bench_has_kernel(v->bench) ? with : without,
        !view_takes_keys(v));
}

static void hint(const view *v, buf *out)
{
    buf_str(out, "Esc stays");
}

static bool act(view *v, enum action a)
{
    bench *b = v->bench;
    if (a != ACT_SAVE_QUIT && a != ACT_DISCARD_QUIT && a != ACT_KEEP_QUIT)
        return false;
    view_pop(v);
    command_act(b, a);
    return true;
}

void leave_push(bench *b)
{
    view_push(b, &leave_view_ops, sizeof(view));
}

static bool risks(enum action a)
{
    return a == ACT_DISCARD_QUIT;
}

static const struct binding bindings[] = {
    {MODE_VIEW, "s", ACT_SAVE_QUIT},
    {MODE_VIEW, "d", ACT_DISCARD_QUIT},
    {MODE_VIEW, "k", ACT_KEEP_QUIT},
    {MODE_VIEW, "Esc", ACT_BACK},
    {MODE_VIEW, "C-c", ACT_BACK},
    {MODE_VIEW, "C-l", ACT_REDRAW},
    {MODE_VIEW, "C-z", ACT_SUSPEND},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops leave_view_ops = {.name = "leaving",
    .keys = &keys,
    .overlay = true,
    .asks = true,
    .risks = risks,
    .draw = draw,
    .act = act,
    .hint = hint};
