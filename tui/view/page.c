// SPDX-License-Identifier: MIT
// Something long on the full screen: a cell's whole output, one display, or a text. Paged,
// followed, searched. What is spooled is read from the spool as far as it is kept here: the last
// bytes of it.
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/spool.h"
#include "script/journal/text.h"
#include "tui/grid/ansi.h"
#include "tui/grid/layout.h"
#include "tui/view/view.h"

#include <string.h>

enum { KEPT = 4 << 20 };

struct page_view {
    view head;
    char *title;
    char *cell;      // whose output it is, or
    int64_t display; // a display's id, or
    char *words;     // a text as it is
    unsigned version;
    ansi_text *text;
    size_t top;
    bool follow, wrap;
    int h, shift;
};

// A log that a display refers to is the log's bytes; any other display is its text.
static int display_bytes(bench *b, const struct output *o, buf *out, err *e)
{
    const cJSON *log = json_get(o->data, "application/vnd.firesteel.log+json");
    if (!log)
        return output_text(o, b->spool_dir, KEPT, out, e);
    struct output stream = {.kind = OUTPUT_STREAM,
        .spool = (char *)json_str_or(log, "spool", ""),
        .from = (uint64_t)json_int_or(log, "from", 0),
        .to = (uint64_t)json_int_or(log, "to", 0)};
    return output_bytes(&stream, b->spool_dir, KEPT, out, e);
}

static void add_output(bench *b, const struct output *o, buf *all)
{
    err e = {0};
    int got = o->kind == OUTPUT_STREAM    ? output_bytes(o, b->spool_dir, KEPT, all, &e)
              : o->kind == OUTPUT_DISPLAY ? display_bytes(b, o, all, &e)
                                          : output_text(o, b->spool_dir, KEPT, all, &e);
    if (got < 0)
        buf_fmt(all, "%s\n", e.text);
}

static unsigned version_now(const struct page_view *v)
{
    const struct slot *s = v->cell ? slot_by_id(v->head.bench, v->cell, NULL) : NULL;
    return s ? s->version : v->display ? v->head.bench->events : 1;
}

static void load(struct page_view *v)
{
    bench *b = v->head.bench;
    const struct run_cell *r = v->cell ? fold_cell_by_id(b->fold, v->cell, NULL) : NULL;
    const struct output *display = v->display ? fold_display(b->fold, v->display) : NULL;
    if (version_now(v) == v->version)
        return;
    v->version = version_now(v);
    AUTO_BUF all = {0};
    for (size_t i = 0; r && i < r->n_outputs; i++)
        add_output(b, &r->outputs[i], &all);
    if (display)
        add_output(b, display, &all);
    if (v->words)
        buf_str(&all, v->words);
    ansi_text_free(v->text);
    v->text = ansi_text_new(0);
    ansi_text_feed(v->text, buf_cstr(&all), all.len);
}

static int draw_line(struct page_view *v, grid *g, rect area, size_t i, int y)
{
    struct ansi_line line = ansi_text_line(v->text, i);
    int rows = 0;
    size_t from = 0;
    do {
        size_t n = line.n - from;
        size_t fit = v->wrap && n ? layout_wrap(line.text + from, n, area.w) : n;
        int x = area.x - v->shift;
        for (size_t k = 0; k < line.spans_n; k++) {
            const struct ansi_span *s = &line.spans[k];
            size_t a = s->from > from ? s->from : from, z = s->to < from + fit ? s->to : from + fit;
            if (a < z)
                x += grid_put(g, area, x, y + rows, line.text + a, z - a, s->style);
        }
        from += fit;
        rows++;
    } while (from < line.n);
    return rows;
}

static void draw(view *view_, grid *g, rect area)
{
    struct page_view *v = (struct page_view *)view_;
    load(v);
    v->h = area.h;
    size_t n = v->text ? ansi_text_lines(v->text) : 0;
    size_t last = n > (size_t)area.h - 1 ? n - (size_t)area.h + 1 : 0;
    if (v->follow || v->top > last)
        v->top = last;
    rect body = {area.x, area.y + 1, area.w, area.h - 1};
    grid_print(g, area, area.x + 1, area.y, LOOK_BOLD, "%s  %zu–%zu of %zu lines%s%s", v->title,
        n ? v->top + 1 : 0, v->top + (size_t)body.h < n ? v->top + (size_t)body.h : n, n,
        v->follow ? "  following" : "", v->wrap ? "  wrapped" : "");
    int y = body.y;
    for (size_t i = v->top; i < n && y < body.y + body.h; i++)
        y += draw_line(v, g, body, i, y);
    if (n == 0)
        grid_print(g, body, body.x + 1, body.y, LOOK_DIM, "nothing yet");
}

static bool search(struct page_view *v, bool backwards)
{
    bench *b = v->head.bench;
    size_t n = ansi_text_lines(v->text), needle = b->search.len;
    for (size_t step = 1; needle && step < n; step++) {
        size_t i = (v->top + (backwards ? n - step : step)) % n;
        struct ansi_line line = ansi_text_line(v->text, i);
        AUTO_FREE char *words = mem_strndup(line.text, line.n);
        if (!strcasestr(words, buf_cstr(&b->search)))
            continue;
        v->top = i;
        v->follow = false;
        return true;
    }
    bench_say(b, "“%s” is nowhere", buf_cstr(&b->search));
    return true;
}

static bool act(view *view_, enum action a)
{
    struct page_view *v = (struct page_view *)view_;
    size_t page = v->h > 2 ? (size_t)v->h - 2 : 1, up = 0;
    switch ((int)a) {
    case ACT_ROW_NEXT:
        v->top++;
        break;
    case ACT_ROW_PREVIOUS:
        up = 1;
        break;
    case ACT_PAGE_DOWN:
        v->top += page;
        break;
    case ACT_PAGE_UP:
        up = page;
        break;
    case ACT_ROW_FIRST:
        up = v->top;
        break;
    case ACT_ROW_LAST:
        v->top = SIZE_MAX / 2;
        return true;
    case ACT_LEFT:
        v->shift = v->shift > 8 ? v->shift - 8 : 0;
        return true;
    case ACT_RIGHT:
        v->shift += 8;
        return true;
    case ACT_FOLLOW:
        v->follow = !v->follow;
        return true;
    case ACT_WRAP:
        v->wrap = !v->wrap;
        v->shift = 0;
        return true;
    case ACT_SEARCH:
        prompt_push(v->head.bench, PROMPT_SEARCH);
        return true;
    case ACT_SEARCH_NEXT:
    case ACT_SEARCH_PREVIOUS:
        return search(v, a == ACT_SEARCH_PREVIOUS);
    case ACT_INTERRUPT:
        remote_interrupt(v->head.bench);
        return true;
    default:
        return false;
    }
    v->top -= up < v->top ? up : v->top;
    v->follow = false;
    return true;
}

static void done(view *view_)
{
    struct page_view *v = (struct page_view *)view_;
    ansi_text_free(v->text);
    free(v->title);
    free(v->cell);
    free(v->words);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "j", ACT_ROW_NEXT},
    {MODE_VIEW, "Down", ACT_ROW_NEXT},
    {MODE_VIEW, "k", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "Up", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "Space", ACT_PAGE_DOWN},
    {MODE_VIEW, "PgDn", ACT_PAGE_DOWN},
    {MODE_VIEW, "PgUp", ACT_PAGE_UP},
    {MODE_VIEW, "g", ACT_ROW_FIRST},
    {MODE_VIEW, "G", ACT_ROW_LAST},
    {MODE_VIEW, "Left", ACT_LEFT},
    {MODE_VIEW, "Right", ACT_RIGHT},
    {MODE_VIEW, "f", ACT_FOLLOW},
    {MODE_VIEW, "w", ACT_WRAP},
    {MODE_VIEW, "/", ACT_SEARCH},
    {MODE_VIEW, "n", ACT_SEARCH_NEXT},
    {MODE_VIEW, "N", ACT_SEARCH_PREVIOUS},
    {MODE_VIEW, "C-c", ACT_INTERRUPT},
    {MODE_VIEW, "C-l", ACT_REDRAW},
    {MODE_VIEW, "C-z", ACT_SUSPEND},
    {MODE_VIEW, "?", ACT_HELP},
    {MODE_VIEW, "F1", ACT_HELP},
    {MODE_VIEW, "q", ACT_BACK},
    {MODE_VIEW, "Esc", ACT_BACK},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops page_view_ops = {
    .name = "output", .keys = &keys, .draw = draw, .act = act, .done = done};

static struct page_view *push(bench *b, const char *title)
{
    struct page_view *v = view_push(b, &page_view_ops, sizeof *v);
    v->title = mem_strdup(title);
    v->wrap = true;
    return v;
}

void page_push(bench *b, size_t at)
{
    const struct run_cell *r = slot_run(b, at);
    struct page_view *v = push(b, "Output");
    v->cell = mem_strdup(b->slots[at]->id);
    v->follow = r && r->state == STATE_RUNNING;
}

void page_push_display(bench *b, int64_t display)
{
    const struct output *o = fold_display(b->fold, display);
    const cJSON *log = o ? json_get(o->data, "application/vnd.firesteel.log+json") : NULL;
    struct page_view *v = push(b, json_str_or(log, "title", "Output"));
    v->display = display;
    v->follow = o && o->live;
}

void page_push_text(bench *b, const char *title, const char *words)
{
    struct page_view *v = push(b, title);
    v->words = mem_strdup(words);
}
