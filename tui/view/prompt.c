// SPDX-License-Identifier: MIT
// A line to type in at the bottom: the palette of all actions, and the search.
#include "base/mem.h"
#include "base/str.h"
#include "tui/grid/utf8.h"
#include "tui/view/view.h"

#include <string.h>

enum { SHOWN = 10 };

struct prompt_view {
    view head;
    enum prompt what;
    buf line;
    enum action hits[ACTION_COUNT];
    size_t n_hits, at;
};

// Vi's words for what people type without thinking.
static enum action alias(const char *line)
{
    static const struct {
        const char *name;
        enum action action;
    } aliases[] = {{"w", ACT_SAVE}, {"q", ACT_QUIT}, {"quit", ACT_QUIT}, {"h", ACT_HELP}};
    for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
        if (str_eq(line, aliases[i].name))
            return aliases[i].action;
    return ACT_NONE;
}

// Names that begin so come before those that contain it, and these before its help's words.
static int rank(const char *line, enum action a)
{
    return str_starts(action_name(a), line)   ? 0
           : strstr(action_name(a), line)     ? 1
           : strcasestr(action_help(a), line) ? 2
                                              : 3;
}

static void find(struct prompt_view *v)
{
    const char *line = buf_cstr(&v->line);
    v->n_hits = v->at = 0;
    if (v->what != PROMPT_PALETTE)
        return;
    if (alias(line))
        v->hits[v->n_hits++] = alias(line);
    for (int r = 0; r < 3; r++)
        for (enum action a = 1; a < ACTION_COUNT; a++)
            if (view_binds(v->head.below->ops, a) && a != alias(line) && rank(line, a) == r)
                v->hits[v->n_hits++] = a;
}

static void draw(view *view_, grid *g, rect area)
{
    struct prompt_view *v = (struct prompt_view *)view_;
    int shown = v->n_hits < SHOWN ? (int)v->n_hits : SHOWN;
    shown = shown > area.h - 2 ? area.h - 2 : shown;
    size_t first = v->at >= (size_t)shown ? v->at - (size_t)shown + 1 : 0;
    int y = area.y + area.h - 1 - shown;
    grid_fill(g, (rect){area.x, y - (shown > 0), area.w, shown + 1 + (shown > 0)}, ' ', (style){0});
    if (shown)
        grid_hline(g, area, area.x, y - 1, area.w, LOOK_ACCENT);
    for (int i = 0; i < shown; i++, y++) {
        enum action a = v->hits[first + (size_t)i];
        char hint[40] = "";
        view_keys(v->head.below->ops, ~0u, a, hint, sizeof hint);
        int name = area.w < 60 ? 16 : 22;
        grid_put_short(
            g, area, area.x + 2, y, name - 2, action_name(a), strlen(action_name(a)), LOOK_ACCENT);
        const char *help = action_help(a);
        grid_put_short(
            g, area, area.x + name, y, area.w - name - 12, help, strlen(help), (style){0});
        grid_put_short(g, area, area.x + area.w - 11, y, 10, hint, strlen(hint), LOOK_DIM);
        if (first + (size_t)i == v->at)
            grid_restyle(g, (rect){area.x, y, area.w, 1}, LOOK_SELECTED);
    }
    int x = grid_print(g, area, area.x, y, LOOK_BOLD, "%s", v->what == PROMPT_SEARCH ? "/" : ":");
    x += grid_put(g, area, area.x + x, y, buf_cstr(&v->line), v->line.len, (style){0});
    grid_set_cursor(g, area.x + x, y);
}

static void finish(struct prompt_view *v)
{
    bench *b = v->head.bench;
    enum action a = v->what == PROMPT_SEARCH ? ACT_SEARCH_NEXT
                    : v->n_hits              ? v->hits[v->at]
                                             : ACT_NONE;
    if (v->what == PROMPT_SEARCH && v->line.len) {
        buf_clear(&b->search);
        buf_str(&b->search, buf_cstr(&v->line));
    }
    if (a == ACT_NONE)
        bench_complain(b, "there is no action %s", buf_cstr(&v->line));
    view_pop(&v->head);
    if (a != ACT_NONE)
        bench_act(b, a);
}

static bool act(view *view_, enum action a)
{
    struct prompt_view *v = (struct prompt_view *)view_;
    switch ((int)a) {
    case ACT_ACCEPT:
        finish(v);
        return true;
    case ACT_ROW_NEXT:
        v->at += v->at + 1 < v->n_hits;
        return true;
    case ACT_ROW_PREVIOUS:
        v->at -= v->at > 0;
        return true;
    case ACT_KILL_LINE_BACK:
        buf_clear(&v->line);
        find(v);
        return true;
    case ACT_DELETE_BACK:
        if (v->line.len == 0) {
            view_pop(view_);
            return true;
        }
        v->line.len -= grapheme_len_before(v->line.data, v->line.len);
        v->line.data[v->line.len] = '\0';
        find(v);
        return true;
    }
    return false;
}

static void paste(view *view_, const char *words, size_t n)
{
    struct prompt_view *v = (struct prompt_view *)view_;
    buf_add(&v->line, words, strcspn(words, "\r\n") < n ? strcspn(words, "\r\n") : n);
    find(v);
}

static void type(view *view_, key k)
{
    char words[4];
    uint32_t c = key_character(k);
    struct prompt_view *v = (struct prompt_view *)view_;
    if (!c)
        return;
    buf_add(&v->line, words, utf8_encode(c, words));
    find(v);
}

static void done(view *view_)
{
    buf_done(&((struct prompt_view *)view_)->line);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Enter", ACT_ACCEPT},
    {MODE_VIEW, "Tab", ACT_ROW_NEXT},
    {MODE_VIEW, "Down", ACT_ROW_NEXT},
    {MODE_VIEW, "Up", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "Backspace", ACT_DELETE_BACK},
    {MODE_VIEW, "C-u", ACT_KILL_LINE_BACK},
    {MODE_VIEW, "Esc", ACT_BACK},
    {MODE_VIEW, "C-c", ACT_BACK},
    {MODE_VIEW, "C-l", ACT_REDRAW},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops prompt_view_ops = {.name = "palette",
    .keys = &keys,
    .overlay = true,
    .draw = draw,
    .act = act,
    .type = type,
    .paste = paste,
    .done = done};

void prompt_push(bench *b, enum prompt what)
{
    struct prompt_view *v = view_push(b, &prompt_view_ops, sizeof *v);
    v->what = what;
    find(v);
}
