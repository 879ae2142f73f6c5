// SPDX-License-Identifier: MIT
// Saving would overwrite what another program has written: asks which version to keep. Nothing is
// lost while the person thinks it over.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tui/bench/command.h"
#include "tui/bench/views.h"
#include "tui/part/dialog.h"

struct conflict_view {
    view head;
    char *path; // path of another file than the document's, or NULL
    bool exists, leave;
    struct scroll scroll;
};

static char *words_of(const struct conflict_view *v)
{
    const char *path = v->path ? v->path : bench_path(v->head.bench);
    AUTO_FREE char *name = path_basename(path ? path : "");
    AUTO_FREE char *words = str_fmt(v->exists ? "%s is there already.\no  overwrite it\n"
                                              : "d  show the difference\n"
                                                "o  overwrite %s\n"
                                                "r  read it again; what is unsaved is lost\n",
        name);
    return str_fmt("%sn  save under another name\nEsc  later", words);
}

static void settle(view *view_, rect area)
{
    struct conflict_view *v = (struct conflict_view *)view_;
    AUTO_FREE char *words = words_of(v);
    dialog_settle_text(area, words, &v->scroll);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct conflict_view *v = (const struct conflict_view *)view_;
    AUTO_FREE char *words = words_of(v);
    dialog_draw(g, area, v->exists ? "Another file" : "The file has changed", words,
        !view_takes_keys(view_), &v->scroll);
}

static void hint(const view *v, buf *out)
{
    buf_str(out, "Esc decides later");
}

static bool act(view *view_, enum action a)
{
    struct conflict_view *v = (struct conflict_view *)view_;
    bench *b = v->head.bench;
    bool leave = v->leave;
    AUTO_FREE char *path = mem_strdup(v->path);
    if (a == ACT_OVERWRITE) {
        view_pop(view_);
        save_document(b, path, true, leave);
    } else if (a == ACT_RELOAD && !v->exists) {
        view_pop(view_);
        reload_document(b, leave);
    } else if (a == ACT_DIFFERENCE && !v->exists) {
        show_difference(b);
    } else if (a == ACT_SAVE_AS) {
        view_pop(view_);
        prompt_push(b, PROMPT_PALETTE, "w ");
    } else {
        return a == ACT_RELOAD || a == ACT_DIFFERENCE || scroll_act(&v->scroll, a);
    }
    return true;
}

static void done(view *view_)
{
    free(((struct conflict_view *)view_)->path);
}

void conflict_push(bench *b, const char *path, bool exists, bool leave)
{
    struct conflict_view *v = view_push(b, &conflict_view_ops, sizeof *v);
    v->path = mem_strdup(path);
    v->exists = exists;
    v->leave = leave;
}

static const struct binding bindings[] = {
    {MODE_VIEW, "d", ACT_DIFFERENCE},
    {MODE_VIEW, "o", ACT_OVERWRITE},
    {MODE_VIEW, "r", ACT_RELOAD},
    {MODE_VIEW, "n", ACT_SAVE_AS},
    {MODE_VIEW, "Down", ACT_ROW_NEXT},
    {MODE_VIEW, "Up", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "PgDn", ACT_PAGE_DOWN},
    {MODE_VIEW, "PgUp", ACT_PAGE_UP},
    {MODE_VIEW, "Esc", ACT_BACK},
    {MODE_VIEW, "q", ACT_BACK},
    {MODE_VIEW, "C-c", ACT_BACK},
    {MODE_VIEW, "C-l", ACT_REDRAW},
    {MODE_VIEW, "C-z", ACT_SUSPEND},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops conflict_view_ops = {.name = "saving",
    .keys = &keys,
    .overlay = true,
    .asks = true,
    .settle = settle,
    .draw = draw,
    .act = act,
    .hint = hint,
    .done = done};
