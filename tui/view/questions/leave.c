// SPDX-License-Identifier: MIT
// Asks on leaving what to do with unsaved changes. Running cells go on, and the shell gets a line
// that says how to come back.
#include "tui/bench/command.h"
#include "tui/bench/views.h"
#include "tui/part/dialog.h"

struct leave_view {
    view head;
    struct scroll scroll;
};

static const char *words_of(const view *v)
{
    return bench_has_kernel(v->bench) ? "s  save and leave\n"
                                        "d  discard them and leave\n"
                                        "k  leave; they stay in the kernel\n"
                                        "Esc  stay"
                                      : "The kernel has gone.\n"
                                        "s  save and leave\n"
                                        "d  discard them and leave\n"
                                        "Esc  stay";
}

static void settle(view *v, rect area)
{
    dialog_settle_text(area, words_of(v), &((struct leave_view *)v)->scroll);
}

static void draw(const view *v, grid *g, rect area)
{
    dialog_draw(g, area, "Unsaved changes", words_of(v), !view_takes_keys(v),
        &((const struct leave_view *)v)->scroll);
}

static void hint(const view *v, buf *out)
{
    buf_str(out, "Esc stays");
}

static bool act(view *v, enum action a)
{
    bench *b = v->bench;
    if (a != ACT_SAVE_QUIT && a != ACT_DISCARD_QUIT && a != ACT_KEEP_QUIT)
        return scroll_act(&((struct leave_view *)v)->scroll, a);
    view_pop(v);
    command_act(b, a);
    return true;
}

void leave_push(bench *b)
{
    view_push(b, &leave_view_ops, sizeof(struct leave_view));
}

static bool risks(enum action a)
{
    return a == ACT_DISCARD_QUIT;
}

static const struct binding bindings[] = {
    {MODE_VIEW, "s", ACT_SAVE_QUIT},
    {MODE_VIEW, "d", ACT_DISCARD_QUIT},
    {MODE_VIEW, "k", ACT_KEEP_QUIT},
    {MODE_VIEW, "Down", ACT_ROW_NEXT},
    {MODE_VIEW, "Up", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "PgDn", ACT_PAGE_DOWN},
    {MODE_VIEW, "PgUp", ACT_PAGE_UP},
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
    .settle = settle,
    .draw = draw,
    .act = act,
    .hint = hint};
