// SPDX-License-Identifier: MIT
// Asks before something runs no longer or is lost (bench/loss.h), and says what.
#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/loss.h"
#include "tui/bench/views.h"
#include "tui/part/dialog.h"

struct confirm_view {
    view head;
    enum action action;
    const char *title; // constant
    char *words, *about;
    struct scroll scroll;
};

static void settle(view *view_, rect area)
{
    struct confirm_view *v = (struct confirm_view *)view_;
    dialog_settle_text(area, v->words, &v->scroll);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct confirm_view *v = (const struct confirm_view *)view_;
    dialog_draw(g, area, v->title, v->words, !view_takes_keys(view_), &v->scroll);
}

static void hint(const view *v, buf *out)
{
    buf_str(out, "y does it, Esc does not");
}

static bool act(view *view_, enum action a)
{
    struct confirm_view *v = (struct confirm_view *)view_;
    if (a != ACT_YES)
        return scroll_act(&v->scroll, a);
    bench *b = view_->bench;
    enum action agreed = v->action;
    AUTO_FREE char *about = STEAL(v->about);
    view_pop(view_);
    loss_agree(b, agreed, about);
    return true;
}

static void done(view *view_)
{
    struct confirm_view *v = (struct confirm_view *)view_;
    free(v->words);
    free(v->about);
}

void confirm_push(bench *b, enum action a, const char *title, const char *words, const char *about)
{
    struct confirm_view *v = view_push(b, &confirm_view_ops, sizeof *v);
    v->action = a;
    v->title = title;
    v->words = mem_strdup(words);
    v->about = mem_strdup(about);
}

static bool risks(enum action a)
{
    return a == ACT_YES;
}

static const struct binding bindings[] = {
    {MODE_VIEW, "y", ACT_YES},
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
const struct view_ops confirm_view_ops = {.name = "question",
    .keys = &keys,
    .overlay = true,
    .asks = true,
    .risks = risks,
    .settle = settle,
    .draw = draw,
    .act = act,
    .hint = hint,
    .done = done};
