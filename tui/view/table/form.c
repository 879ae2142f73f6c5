// SPDX-License-Identifier: MIT
// A row as a form: each column's name with all that its entry says, wrapped. It is the row as it
// was when it was opened; Left and Right go to the rows before and after it.
#include "base/data/pattern.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/bench/views.h"
#include "tui/part/table/tablevalue.h"
#include "tui/view/table/columns.h"

#include <string.h>

enum { NAME_MOST = 30, GAP = 2, NARROW = 30 };

struct field {
    char *name, *words;
    bool matches;
};
struct form_view {
    view head;
    struct columns of; // the view below
    size_t row;
    struct field *fields;
    int n;
    int name_width;
    struct scroll scroll; // over lines of text
    struct filter filter;
};

static void forget(struct form_view *v)
{
    for (int i = 0; i < v->n; i++) {
        free(v->fields[i].name);
        free(v->fields[i].words);
    }
    free(STEAL(v->fields));
    v->n = 0;
}

static void match(struct form_view *v)
{
    struct pattern p = {0};
    pattern_set_filter(&p, filter_text(&v->filter));
    for (int i = 0; i < v->n; i++) {
        struct field *f = &v->fields[i];
        AUTO_FREE char *both = str_fmt("%s %s", f->name, f->words);
        f->matches = pattern_passes(&p, both, strlen(both));
    }
    pattern_done(&p);
}

static void take(struct form_view *v, size_t row)
{
    const struct sheet *s = v->of.sheet;
    AUTO_BUF words = {0};
    forget(v);
    v->row = row;
    v->name_width = 0;
    int n = s->ops->columns(s->rows);
    v->fields = mem_array((size_t)n + 1, sizeof *v->fields);
    for (int i = 0; i < n; i++) {
        buf_clear(&words);
        s->ops->entry(s->rows, row, i, &words);
        const char *name = s->ops->column(s->rows, i);
        v->fields[v->n++] = (struct field){mem_strdup(name), mem_strdup(buf_cstr(&words)), true};
        int w = text_width(name, strlen(name), 0);
        v->name_width = w > v->name_width ? w : v->name_width;
    }
    v->name_width = v->name_width < NAME_MOST ? v->name_width : NAME_MOST;
    match(v);
}

// How many of the words stand in one line: up to a blank if there is one in its second half.
static size_t line_fit(const char *words, size_t n, int width)
{
    int ignored;
    size_t fits = text_fit(words, n, width, &ignored), blank = fits;
    if (!fits || fits == n)
        return n;
    while (blank > fits / 2 && words[blank - 1] != ' ')
        blank--;
    return blank > fits / 2 ? blank : fits;
}

// Lines of a field's words in this width, at least one.
static size_t lines_of(const struct field *f, int width)
{
    size_t lines = 0, at = 0, n = strlen(f->words);
    do {
        at += line_fit(f->words + at, n - at, width);
        lines++;
    } while (at < n);
    return lines;
}

// The words stand beside the name; where there is little room, they have what is left of it.
static int words_x(const struct form_view *v, rect area)
{
    int most = area.w < NARROW ? area.w / 3 : v->name_width;
    return (v->name_width < most ? v->name_width : most) + GAP;
}

static rect body_of(const struct form_view *v, rect area)
{
    return (rect){area.x + 1, area.y + 1, area.w - 2, area.h - 1 - v->filter.typing};
}

static int width_of(const struct form_view *v, rect body)
{
    int w = body.w - words_x(v, body);
    return w > 1 ? w : 1;
}

static void settle(view *view_, rect area)
{
    struct form_view *v = (struct form_view *)view_;
    rect body = body_of(v, area);
    size_t lines = 0;
    for (int i = 0; i < v->n; i++)
        lines += v->fields[i].matches ? lines_of(&v->fields[i], width_of(v, body)) : 0;
    scroll_fit_text(&v->scroll, lines, body.h);
}

static void draw_field(
    const struct form_view *v, grid *g, rect body, const struct field *f, size_t *nth)
{
    size_t at = 0, n = strlen(f->words);
    int x = words_x(v, body), w = width_of(v, body);
    for (bool first = true; first || at < n; first = false, (*nth)++) {
        size_t fits = line_fit(f->words + at, n - at, w);
        int64_t y = (int64_t)*nth - (int64_t)v->scroll.top;
        if (y >= 0 && y < body.h) {
            if (first)
                grid_put_short(
                    g, body, body.x, body.y + (int)y, x - GAP, f->name, strlen(f->name), LOOK_DIM);
            grid_put(g, body, body.x + x, body.y + (int)y, f->words + at, fits,
                tablevalue_look(f->words));
        }
        at += fits;
    }
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct form_view *v = (const struct form_view *)view_;
    const struct sheet *s = v->of.sheet;
    rect body = body_of(v, area);
    size_t nth = 0;
    int x = area.x + 1;
    x += grid_print(g, area, x, area.y, LOOK_BOLD, "%s", v->n ? v->fields[0].words : "row");
    if (*filter_text(&v->filter))
        x += grid_print(g, area, x, area.y, LOOK_WARN, "  /%s", filter_text(&v->filter));
    grid_print(
        g, area, x, area.y, LOOK_DIM, "  row %zu of %zu", v->row + 1, s->ops->count(s->rows));
    for (int i = 0; i < v->n; i++)
        if (v->fields[i].matches)
            draw_field(v, g, body, &v->fields[i], &nth);
    filter_draw(&v->filter, g, (rect){area.x, area.y + area.h - 1, area.w, 1});
}

static void turn(struct form_view *v, bool next)
{
    const struct sheet *s = v->of.sheet;
    size_t n = s->ops->count(s->rows);
    if (next ? v->row + 1 >= n : v->row == 0) {
        bench_say(v->head.bench, "it is the %s row", next ? "last" : "first");
        return;
    }
    take(v, next ? v->row + 1 : v->row - 1);
    v->of.scroll->at = v->row; // the view below goes with it
    scroll_fit(v->of.scroll, n, v->of.scroll->h);
}

static void copy(struct form_view *v)
{
    AUTO_BUF words = {0};
    for (int i = 0; i < v->n; i++)
        if (v->fields[i].matches)
            buf_fmt(&words, "%s\t%s\n", v->fields[i].name, v->fields[i].words);
    bench_clip(v->head.bench, buf_cstr(&words), words.len, "the form");
}

static bool act(view *view_, enum action a)
{
    struct form_view *v = (struct form_view *)view_;
    if (a == ACT_FORM_NEXT || a == ACT_FORM_PREVIOUS)
        turn(v, a == ACT_FORM_NEXT);
    else if (a == ACT_CLIP)
        copy(v);
    else
        return scroll_act(&v->scroll, a);
    return true;
}

static void filtered(view *view_)
{
    match((struct form_view *)view_);
}

static void hint(const view *view_, buf *out)
{
    buf_str(out, "Right next row  Left row before  / filter  Y copy  q back");
}

static void done(view *view_)
{
    struct form_view *v = (struct form_view *)view_;
    forget(v);
    filter_done(&v->filter);
}

void form_push(const struct columns *of, size_t row)
{
    struct form_view *v = view_push(of->view->bench, &form_view_ops, sizeof *v);
    v->of = *of;
    v->of.title = NULL;
    v->filter.past = bench_past(of->view->bench);
    take(v, row);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Right", ACT_FORM_NEXT},
    {MODE_VIEW, "Left", ACT_FORM_PREVIOUS},
    {MODE_VIEW, "Y", ACT_CLIP},
    {MODE_VIEW, "/", ACT_FILTER},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops form_view_ops = {.name = "row",
    .keys = &keys,
    .more = &scroll_keys,
    .settle = settle,
    .draw = draw,
    .act = act,
    .filter = offsetof(struct form_view, filter),
    .filtered = filtered,
    .hint = hint,
    .done = done};
