// SPDX-License-Identifier: MIT
// What is wrong in the notebook, as a list: all cells are checked when it opens. What is typed
// filters it; Enter goes to the place.
#include "base/data/pattern.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/bench/document/problems.h"
#include "tui/part/line.h"
#include "tui/part/scroll.h"
#include "tui/view/notebook/notebook.h"

#include <string.h>

struct row {
    char *id, *words;
    pos at;
    bool warning;
};

struct problem_view {
    view head;
    line *filter;
    struct row *rows;
    size_t n, all;
    struct scroll scroll;
    rect area; // of the rows
};

static void free_rows(struct problem_view *v)
{
    for (size_t i = 0; i < v->n; i++) {
        free(v->rows[i].id);
        free(v->rows[i].words);
    }
    free(v->rows);
    v->rows = NULL;
    v->n = v->all = 0;
}

// "Deploy:7  unknown field "imagee" …  (kubernetes)"
static char *words_of(bench *b, size_t i, const struct problem *p)
{
    AUTO_BUF name = {0};
    slot_name(b, i, &name);
    return str_fmt("%s:%zu  %s  (%s)", buf_cstr(&name), p->line + 1, p->text, p->source);
}

static void build(struct problem_view *v)
{
    bench *b = v->head.bench;
    CLEANUP(pattern_done) struct pattern filter = {0};
    struct problem p;
    size_t length;
    pattern_set_filter(&filter, line_text(v->filter));
    free_rows(v);
    for (size_t i = 0; i < slot_count(b); i++)
        for (size_t k = 0; slot_problem(b, i, k, &p); k++) {
            AUTO_FREE char *words = words_of(b, i, &p);
            v->all++;
            if (!pattern_is_empty(&filter) &&
                !pattern_find(&filter, words, strlen(words), 0, &length))
                continue;
            v->rows = mem_resize(v->rows, v->n + 1, sizeof *v->rows);
            v->rows[v->n++] = (struct row){
                mem_strdup(slot_id(slot_at(b, i))), STEAL(words), {p.line, p.from}, p.warning};
        }
    v->scroll.n = v->n;
    v->scroll.at = v->scroll.at < v->n ? v->scroll.at : v->n ? v->n - 1 : 0;
}

static void settle(view *view_, rect area)
{
    struct problem_view *v = (struct problem_view *)view_;
    v->area = (rect){area.x, area.y + 2, area.w, area.h - 2};
    build(v);
    scroll_fit(&v->scroll, v->n, v->area.h);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct problem_view *v = (const struct problem_view *)view_;
    bool known = problems_know_all(view_->bench);
    grid_fill(g, area, ' ', (style){0});
    grid_print(g, area, area.x + 1, area.y, LOOK_ACCENT, "Problems");
    if (v->n == v->all)
        grid_print(g, area, area.x + 11, area.y, LOOK_DIM, "%zu", v->all);
    else
        grid_print(g, area, area.x + 11, area.y, LOOK_DIM, "%zu of %zu", v->n, v->all);
    grid_print(g, area, area.x + 1, area.y + 1, LOOK_BOLD, "/");
    line_draw(v->filter, g, (rect){area.x + 2, area.y + 1, area.w - 2, 1}, false);
    if (!v->n)
        grid_print(g, v->area, v->area.x + 3, v->area.y, LOOK_DIM, "%s",
            v->all   ? "no problem is like that"
            : !known ? "all cells are checked…"
                     : "nothing is wrong, as far as anybody can tell without running it");
    for (size_t i = v->scroll.top; i < v->n && (int)(i - v->scroll.top) < v->area.h; i++) {
        int y = v->area.y + (int)(i - v->scroll.top);
        const struct row *r = &v->rows[i];
        bool at = i == v->scroll.at;
        if (at)
            grid_fill(g, (rect){area.x, y, area.w, 1}, ' ', LOOK_SELECTED);
        grid_print(g, area, area.x + 1, y, r->warning ? LOOK_WARN : LOOK_ERROR, "!");
        grid_put_short(g, area, area.x + 3, y, area.w - 4, r->words, strlen(r->words),
            at ? LOOK_SELECTED : (style){0});
    }
}

static void go(struct problem_view *v)
{
    struct notebook_view *cells = (struct notebook_view *)v->head.below;
    bool any = v->scroll.at < v->n;
    AUTO_FREE char *id = any ? mem_strdup(v->rows[v->scroll.at].id) : NULL;
    pos at = any ? v->rows[v->scroll.at].at : (pos){0};
    bench *b = v->head.bench;
    size_t i;
    view_pop(&v->head);
    if (slot_by_id(b, id, &i))
        notebook_go_to(cells, i, at);
}

static bool act(view *view_, enum action a)
{
    struct problem_view *v = (struct problem_view *)view_;
    if (a == ACT_ACCEPT) {
        go(v);
        return true;
    }
    if (a == ACT_BACK && *line_text(v->filter)) {
        line_set(v->filter, "");
        return true;
    }
    if (a == ACT_BACK)
        return false;
    return scroll_act(&v->scroll, a) ||
           line_act(v->filter, a, bench_clipboard(view_->bench), false);
}

static bool type(view *view_, key k)
{
    line_type(((struct problem_view *)view_)->filter, k);
    return key_character(k) != 0;
}

static bool paste(view *view_, const char *words, size_t n)
{
    line_paste(((struct problem_view *)view_)->filter, words, n);
    return true;
}

static bool mouse(view *view_, const struct mouse *m)
{
    struct problem_view *v = (struct problem_view *)view_;
    if (scroll_point(&v->scroll, m, v->area.y) == POINT_OPEN)
        go(v);
    return true;
}

static unsigned mode(const view *v)
{
    return MODE_VIEW | MODE_LINE;
}

static void hint(const view *v, buf *out)
{
    buf_str(out, "type to filter  Enter goes there  Esc closes");
}

static void done(view *view_)
{
    struct problem_view *v = (struct problem_view *)view_;
    free_rows(v);
    line_free(v->filter);
}

void problem_push(struct notebook_view *below)
{
    bench *b = below->head.bench;
    struct problem_view *v = view_push(b, &problem_view_ops, sizeof *v);
    v->filter = line_new("");
    problems_want_all(b, ACT_NONE);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Down", ACT_ROW_NEXT},
    {MODE_VIEW, "Tab", ACT_ROW_NEXT},
    {MODE_VIEW, "Up", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "S-Tab", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "PgDn", ACT_PAGE_DOWN},
    {MODE_VIEW, "PgUp", ACT_PAGE_UP},
    {MODE_VIEW, "C-c", ACT_BACK},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops problem_view_ops = {.name = "problems",
    .keys = &keys,
    .overlay = true,
    .mode = mode,
    .settle = settle,
    .draw = draw,
    .act = act,
    .type = type,
    .paste = paste,
    .mouse = mouse,
    .hint = hint,
    .done = done};
