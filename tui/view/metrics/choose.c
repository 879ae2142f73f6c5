// SPDX-License-Identifier: MIT
// A list with marks over a view: what is marked when it is left is taken. It can be filtered, and
// marks of rows that are hidden stay.
#include "base/data/pattern.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/part/filter.h"
#include "tui/part/scroll.h"
#include "tui/view/metrics/metrics.h"

#include <string.h>

struct choose_view {
    view head;
    view *of; // the view below, which outlives this one
    char *title;
    char **names;
    bool *chosen;
    size_t n, *shown, n_shown;
    choose_apply *apply;
    struct scroll scroll;
    struct filter filter;
};

static void filtered(view *view_)
{
    struct choose_view *v = (struct choose_view *)view_;
    struct pattern p = {0};
    pattern_set_filter(&p, filter_text(&v->filter));
    v->n_shown = 0;
    for (size_t i = 0; i < v->n; i++)
        if (pattern_passes(&p, v->names[i], strlen(v->names[i])))
            v->shown[v->n_shown++] = i;
    v->scroll.at = v->scroll.at < v->n_shown ? v->scroll.at : v->n_shown ? v->n_shown - 1 : 0;
    pattern_done(&p);
}

static rect rows_of(const struct choose_view *v, rect area)
{
    return (rect){area.x + 1, area.y + 1, area.w - 2, area.h - 1 - v->filter.typing};
}

static void settle(view *view_, rect area)
{
    struct choose_view *v = (struct choose_view *)view_;
    scroll_fit(&v->scroll, v->n_shown, rows_of(v, area).h);
}

static size_t count(const struct choose_view *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n; i++)
        n += v->chosen[i];
    return n;
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct choose_view *v = (const struct choose_view *)view_;
    rect rows = rows_of(v, area);
    const char *filter = filter_text(&v->filter);
    int x = area.x + 1 + grid_print(g, area, area.x + 1, area.y, LOOK_BOLD, "%s", v->title);
    if (*filter)
        x += grid_print(g, area, x, area.y, LOOK_WARN, "  /%s", filter);
    grid_print(g, area, x, area.y, LOOK_DIM, "  %zu of %zu marked", count(v), v->n);
    for (int y = 0; y < rows.h && v->scroll.top + (size_t)y < v->n_shown; y++) {
        size_t i = v->scroll.top + (size_t)y, at = v->shown[i];
        grid_print(g, rows, rows.x, rows.y + y, LOOK_WARN, "%s", v->chosen[at] ? "*" : " ");
        grid_put_short(g, rows, rows.x + 2, rows.y + y, rows.w - 2, v->names[at],
            strlen(v->names[at]), (style){0});
        if (i != v->scroll.at)
            continue;
        grid_restyle(g, (rect){area.x, rows.y + y, area.w, 1}, LOOK_SELECTED);
        grid_park_cursor(g, rows.x, rows.y + y);
    }
    if (!v->n_shown)
        grid_print(g, rows, rows.x, rows.y, LOOK_DIM, "%s",
            v->n ? "nothing matches; Esc shows all" : "there is nothing to choose yet");
    filter_draw(&v->filter, g, (rect){area.x, area.y + area.h - 1, area.w, 1});
}

static void mark(struct choose_view *v)
{
    if (v->scroll.at >= v->n_shown)
        return;
    bool *at = &v->chosen[v->shown[v->scroll.at]];
    *at = !*at;
    if (v->scroll.at + 1 < v->n_shown)
        v->scroll.at++;
}

static void mark_all(struct choose_view *v)
{
    bool all = true;
    for (size_t i = 0; i < v->n_shown; i++)
        all = all && v->chosen[v->shown[i]];
    for (size_t i = 0; i < v->n_shown; i++)
        v->chosen[v->shown[i]] = !all;
}

// Only this one, as a legend's entry that is clicked twice elsewhere.
static void mark_only(struct choose_view *v)
{
    for (size_t i = 0; i < v->n; i++)
        v->chosen[i] = v->scroll.at < v->n_shown && v->shown[v->scroll.at] == i;
}

static bool act(view *view_, enum action a)
{
    struct choose_view *v = (struct choose_view *)view_;
    switch ((int)a) {
    case ACT_MARK_ROW:
        mark(v);
        return true;
    case ACT_MARK_ALL:
        mark_all(v);
        return true;
    case ACT_MARK_ONLY:
        mark_only(v);
        return true;
    case ACT_FILTER:
        return false; // the bench opens it
    case ACT_ACCEPT:
        v->apply(v->of, v->chosen, v->n);
        view_pop(view_);
        return true;
    }
    return scroll_act(&v->scroll, a);
}

static bool mouse(view *view_, const struct mouse *m)
{
    struct choose_view *v = (struct choose_view *)view_;
    enum pointed p = scroll_point(&v->scroll, m, 1);
    if (p == POINT_OPEN)
        mark(v);
    return p != POINT_NONE;
}

static void hint(const view *v, buf *out)
{
    buf_str(out, "Space marks  * all  = only this  / filter  Enter takes them  q as before");
}

static void done(view *view_)
{
    struct choose_view *v = (struct choose_view *)view_;
    for (size_t i = 0; i < v->n; i++)
        free(v->names[i]);
    filter_done(&v->filter);
    free(v->names);
    free(v->chosen);
    free(v->shown);
    free(v->title);
}

void choose_push(view *of, const char *title, char *const *names, const bool *chosen, size_t n,
    choose_apply *apply)
{
    struct choose_view *v = view_push(of->bench, &choose_view_ops, sizeof *v);
    v->of = of;
    v->title = mem_strdup(title);
    v->n = n;
    v->names = mem_array(n + 1, sizeof *v->names);
    v->chosen = mem_array(n + 1, sizeof *v->chosen);
    v->shown = mem_array(n + 1, sizeof *v->shown);
    for (size_t i = 0; i < n; i++) {
        v->names[i] = mem_strdup(names[i]);
        v->chosen[i] = chosen[i];
    }
    v->apply = apply;
    v->filter.past = bench_past(of->bench);
    filtered(&v->head);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Space", ACT_MARK_ROW},
    {MODE_VIEW, "*", ACT_MARK_ALL},
    {MODE_VIEW, "=", ACT_MARK_ONLY},
    {MODE_VIEW, "Enter", ACT_ACCEPT},
    {MODE_VIEW, "/", ACT_FILTER},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops choose_view_ops = {.name = "choose",
    .keys = &keys,
    .more = &scroll_keys,
    .settle = settle,
    .draw = draw,
    .act = act,
    .mouse = mouse,
    .filter = offsetof(struct choose_view, filter),
    .filtered = filtered,
    .hint = hint,
    .done = done};
