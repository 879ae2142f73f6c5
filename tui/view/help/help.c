// SPDX-License-Identifier: MIT
// The help: the keys of the view below, from that view's own tables; how things are done, task by
// task; the lines after ":"; the settings. "/" searches all of it, the keys of other places and the
// names of the API. Every text wraps, none is cut. It has two columns if there is room.
//
//   entries   heading | C-e, C-Enter → run the cell | …
//   rows      one or more for an entry, in the width of a column
#include "tui/view/help/entries.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/bench/command.h"
#include "tui/bench/remote.h"
#include "tui/bench/views.h"
#include "tui/grid/layout.h"
#include "tui/part/filter.h"
#include "tui/part/scroll.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { TWO_COLUMNS = 110, LEAST_NAME = 3 };

// A row of the screen: a piece of an entry's title, of its text, or both.
struct row {
    size_t entry;
    const char *title, *text;
    size_t title_n, text_n;
    int x; // where the text stands
};
struct help_view {
    view head;
    enum help_part part;
    struct entries all;
    struct row *rows;
    size_t n_rows, second; // the first row of the second column; n_rows without one
    int width;             // of a column, for which the rows are; 0: they have to be made
    size_t at, top;        // the chosen entry; the first row on the screen
    int h;
    rect body;
    char *found; // the words that `all` is of
    bool asking; // the kernel for names
    bool moved;  // the chosen entry has to come into sight
    struct filter filter;
};

static const char *const part_names[HELP_PARTS] = {"Keys", "Tasks", "After :", "Settings"};

static int width_of(const char *s)
{
    return text_width(s, strlen(s), 0);
}

static bool is_heading(const struct help_view *v, size_t i)
{
    return v->all.list[i].kind == ENTRY_HEADING;
}

static void add_row(struct help_view *v, struct row row)
{
    v->rows = mem_resize(v->rows, v->n_rows + 1, sizeof *v->rows);
    v->rows[v->n_rows++] = row;
}

// Wraps the title in rows of its own.
static void add_title(struct help_view *v, size_t entry, const char *title, int columns)
{
    for (size_t n = strlen(title); n > 0;) {
        size_t fit = layout_wrap(title, n, columns);
        add_row(v, (struct row){.entry = entry, .title = title, .title_n = fit});
        title += fit;
        n -= fit;
    }
}

static void add_text(struct help_view *v, size_t entry, const char *words, int x, int columns)
{
    for (size_t n = words ? strlen(words) : 0; n > 0;) {
        size_t fit = layout_wrap(words, n, columns);
        add_row(v, (struct row){.entry = entry, .text = words, .text_n = fit, .x = x});
        words += fit;
        n -= fit;
    }
}

static int at_least_one(int n)
{
    return n > 0 ? n : 1;
}

static void add_entry(struct help_view *v, size_t i)
{
    const struct entry *e = &v->all.list[i];
    int keys = v->width >= 70 ? 22 : v->width >= 50 ? 18 : 13;
    bool below = e->kind == ENTRY_TASK || e->kind == ENTRY_HEADING || width_of(e->title) >= keys;
    int x = e->kind == ENTRY_TASK ? 4 : 2 + keys;
    size_t first = v->n_rows;
    if (below)
        add_title(v, i, e->title, at_least_one(v->width - (e->kind == ENTRY_HEADING ? 2 : 3)));
    add_text(v, i, e->text, x, at_least_one(v->width - x - 1));
    if (!below && v->n_rows == first)
        add_row(v, (struct row){.entry = i});
    if (!below) {
        v->rows[first].title = e->title;
        v->rows[first].title_n = strlen(e->title);
    }
}

static void make_rows(struct help_view *v, int width)
{
    v->n_rows = 0;
    v->width = width;
    v->second = 0;
    for (size_t i = 0; i < v->all.n; i++) {
        if (v->all.list[i].second && !v->second)
            v->second = v->n_rows;
        add_entry(v, i);
    }
    // Else the second column begins with the entry in the middle.
    size_t middle = (v->n_rows + 1) / 2;
    while (!v->second && middle < v->n_rows && v->rows[middle].entry == v->rows[middle - 1].entry)
        middle++;
    v->second = v->second ? v->second : middle;
}

// Number of rows in the longer column.
static size_t column_rows(const struct help_view *v)
{
    size_t rest = v->n_rows - v->second;
    return v->second > rest ? v->second : rest;
}

static size_t row_of(const struct help_view *v, size_t entry)
{
    size_t row = 0;
    while (row < v->n_rows && v->rows[row].entry < entry)
        row++;
    return row;
}

// The rows of the screen that an entry takes, counted from the top of its column.
static void place_of(const struct help_view *v, size_t entry, size_t *from, size_t *to)
{
    size_t first = row_of(v, entry), end = row_of(v, entry + 1);
    size_t column = first >= v->second ? v->second : 0;
    *from = first - column;
    *to = end - column;
}

static void into_sight(struct help_view *v)
{
    size_t from, to, rows = (size_t)at_least_one(v->h);
    place_of(v, v->at, &from, &to);
    if (v->at > 0 && is_heading(v, v->at - 1) && from > 0)
        from--; // with the heading above it
    if (to > v->top + rows)
        v->top = to - rows;
    if (from < v->top)
        v->top = from;
}

static void settle(view *view_, rect area)
{
    struct help_view *v = (struct help_view *)view_;
    bool two = area.w >= TWO_COLUMNS;
    int width = two ? area.w / 2 : area.w;
    v->body = (rect){area.x, area.y + 1, area.w, area.h - 1 - v->filter.typing};
    if (width != v->width) {
        make_rows(v, width);
        v->second = two ? v->second : v->n_rows;
        v->moved = true;
    }
    v->h = v->body.h;
    if (v->moved && v->all.n)
        into_sight(v);
    v->moved = false;
    size_t rows = column_rows(v), h = (size_t)at_least_one(v->h);
    v->top = v->top + h > rows ? (rows > h ? rows - h : 0) : v->top;
}

static void draw_row(const struct help_view *v, grid *g, rect column, size_t i, int y)
{
    const struct row *row = &v->rows[i];
    const struct entry *e = &v->all.list[row->entry];
    bool heading = e->kind == ENTRY_HEADING;
    style title = heading || e->kind == ENTRY_TASK ? LOOK_BOLD : LOOK_ACCENT;
    if (row->title)
        grid_put(g, column, column.x + (heading ? 1 : 2), y, row->title, row->title_n, title);
    if (row->text)
        grid_put(g, column, column.x + row->x, y, row->text, row->text_n, (style){0});
    if (row->entry == v->at && !heading) {
        grid_restyle(g, (rect){column.x, y, column.w, 1}, LOOK_SELECTED);
        grid_park_cursor(g, column.x + 1, y);
    }
}

static void draw_head(const struct help_view *v, grid *g, rect area)
{
    const char *words = filter_text(&v->filter);
    int x = area.x + 1;
    if (*words) {
        x += grid_print(g, area, x, area.y, LOOK_ACCENT, "Help with ");
        grid_print(g, area, x, area.y, LOOK_WARN, "/%s", words);
        return;
    }
    for (size_t i = 0; i < HELP_PARTS; i++) {
        AUTO_BUF name = {0};
        buf_str(&name, part_names[i]);
        if (i == PART_KEYS && area.w >= 60)
            buf_fmt(&name, ": %s", v->head.below->ops->name);
        bool here = i == v->part;
        x += grid_print(g, area, x, area.y, here ? LOOK_ACCENT : LOOK_DIM, here ? "[%s]" : " %s ",
            buf_cstr(&name));
    }
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct help_view *v = (const struct help_view *)view_;
    rect left = v->body, right;
    left.w = v->second < v->n_rows ? area.w / 2 : area.w;
    right = (rect){left.x + left.w, left.y, area.w - left.w, left.h};
    grid_park_cursor(g, left.x + 1, left.y);
    draw_head(v, g, area);
    if (v->all.n == 0)
        grid_print(g, left, left.x + 1, left.y, LOOK_DIM, "nothing in the help says that");
    for (int i = 0; i < left.h; i++) {
        size_t at = v->top + (size_t)i;
        if (at < v->second)
            draw_row(v, g, left, at, left.y + i);
        if (at + v->second < v->n_rows)
            draw_row(v, g, right, at + v->second, right.y + i);
    }
    filter_draw(&v->filter, g, (rect){area.x, area.y + area.h - 1, area.w, 1});
}

// The first entry from here on that can be chosen, in this direction; the one at hand if there is
// none.
static void choose(struct help_view *v, size_t from, bool down)
{
    size_t i = from;
    while (i < v->all.n && is_heading(v, i))
        i = down ? i + 1 : i - 1; // before the first: SIZE_MAX
    if (i < v->all.n)
        v->at = i;
    v->moved = true;
}

// The entry that stands this many rows further on in its column.
static void page(struct help_view *v, bool down)
{
    size_t step = v->h > 2 ? (size_t)v->h - 1 : 1, row = row_of(v, v->at);
    if (!v->n_rows)
        return;
    v->top = down ? v->top + step : v->top - (v->top < step ? v->top : step);
    row = down ? row + step : row - (row < step ? row : step);
    choose(v, v->rows[row < v->n_rows ? row : v->n_rows - 1].entry, down);
    if (!down && is_heading(v, v->rows[row < v->n_rows ? row : 0].entry))
        choose(v, v->rows[row].entry, true);
}

static void refresh(struct help_view *v)
{
    const char *words = filter_text(&v->filter);
    if (*words)
        entries_find(v->head.bench, v->head.below, words, &v->all);
    else
        entries_of(v->head.bench, v->head.below, v->part, &v->all);
    free(v->found);
    v->found = mem_strdup(words);
    v->width = 0;
    v->top = 0;
    v->at = 0;
    choose(v, 0, true);
}

static bool may_be_name(const char *words)
{
    size_t n = 0;
    while (isalnum((unsigned char)words[n]) || words[n] == '_' || words[n] == '.')
        n++;
    return n >= LEAST_NAME && !words[n];
}

static void on_names(bench *b, const char *typed, const cJSON *reply);

// Asks the kernel for names that begin with what is searched for. While it answers, nothing else is
// asked; then what is typed by then.
static void ask_names(struct help_view *v)
{
    const char *words = filter_text(&v->filter);
    if (!v->asking && may_be_name(words))
        v->asking = lookup_names(v->head.bench, words, on_names);
}

static void add_names(struct help_view *v, const char *typed, const cJSON *reply)
{
    const cJSON *one, *kinds = json_get(reply, "kinds"), *kind = kinds ? kinds->child : NULL;
    int64_t start = json_int_or(reply, "start", 0);
    cJSON_ArrayForEach(one, json_get(reply, "matches"))
    {
        AUTO_BUF name = {0};
        buf_fmt(&name, "%.*s%s", (int)start, typed, cJSON_IsString(one) ? one->valuestring : "");
        entries_add_name(&v->all, buf_cstr(&name), cJSON_IsString(kind) ? kind->valuestring : "");
        kind = kind ? kind->next : NULL;
    }
}

static void on_names(bench *b, const char *typed, const cJSON *reply)
{
    struct help_view *v = (struct help_view *)bench_top(b);
    if (v->head.ops != &help_view_ops)
        return;
    v->asking = false;
    if (!str_eq(filter_text(&v->filter), typed)) {
        ask_names(v);
        return;
    }
    add_names(v, typed, reply);
    v->width = 0;
    choose(v, v->at, true); // nothing was chosen where nothing else matches
}

static void filtered(view *view_)
{
    struct help_view *v = (struct help_view *)view_;
    if (v->found && str_eq(v->found, filter_text(&v->filter)))
        return; // it is only kept now
    refresh(v);
    ask_names(v);
}

// Enter: does it, in the view below; what ends something is typed in the palette, for a second
// Enter.
static void do_entry(struct help_view *v)
{
    bench *b = v->head.bench;
    if (v->at >= v->all.n || is_heading(v, v->at))
        return;
    const struct entry *e = &v->all.list[v->at];
    enum action a = e->action;
    const char *after = e->line; // ":"
    if (e->kind == ENTRY_NAME) {
        lookup_describe(b, e->title);
        return;
    }
    if (a == ACT_NONE && !after) {
        bench_say(b, "there is nothing to be done for this: it only tells");
        return;
    }
    AUTO_BUF typed = {0};
    buf_fmt(&typed, "%s%s", a ? action_name(a) : after, e->takes_words ? " " : "");
    bool ask = action_ends(a) || e->kind == ENTRY_LINE;
    view_pop(&v->head);
    if (ask)
        prompt_push(b, PROMPT_PALETTE, buf_cstr(&typed));
    else if (a != ACT_NONE)
        prompt_do(b, a);
    else
        command_run(b, buf_cstr(&typed));
}

static bool act(view *view_, enum action a)
{
    struct help_view *v = (struct help_view *)view_;
    switch ((int)a) {
    case ACT_ROW_NEXT:
    case ACT_SEARCH_NEXT:
        choose(v, v->at + 1, true);
        return true;
    case ACT_ROW_PREVIOUS:
    case ACT_SEARCH_PREVIOUS:
        choose(v, v->at - 1, false);
        return true;
    case ACT_PAGE_DOWN:
    case ACT_PAGE_UP:
        page(v, a == ACT_PAGE_DOWN);
        return true;
    case ACT_ROW_FIRST:
        choose(v, 0, true);
        return true;
    case ACT_ROW_LAST:
        choose(v, v->all.n - 1, false);
        return true;
    case ACT_PART_NEXT:
    case ACT_PART_PREVIOUS:
        filter_done(&v->filter);
        v->part = (v->part + (a == ACT_PART_NEXT ? 1 : HELP_PARTS - 1)) % HELP_PARTS;
        refresh(v);
        return true;
    case ACT_OPEN:
        do_entry(v);
        return true;
    }
    return false;
}

static bool mouse(view *view_, const struct mouse *m)
{
    struct help_view *v = (struct help_view *)view_;
    bool right = v->second < v->n_rows && m->x >= v->body.x + v->body.w / 2;
    if (m->kind == MOUSE_UP || m->kind == MOUSE_DOWN || m->y < v->body.y)
        return false;
    size_t row = v->top + (size_t)(m->y - v->body.y) + (right ? v->second : 0);
    if (row >= (right ? v->n_rows : v->second) || is_heading(v, v->rows[row].entry))
        return false;
    v->at = v->rows[row].entry;
    if (m->kind == MOUSE_DOUBLE)
        do_entry(v);
    return true;
}

static void hint(const view *view_, buf *out)
{
    const struct help_view *v = (const struct help_view *)view_;
    if (*filter_text(&v->filter))
        buf_str(out, "n next  Enter does it  Esc all  q back");
    else
        buf_fmt(out, "/ search all  Tab %s  Enter does it  q back",
            part_names[(v->part + 1) % HELP_PARTS]);
}

static void done(view *view_)
{
    struct help_view *v = (struct help_view *)view_;
    filter_done(&v->filter);
    entries_done(&v->all);
    free(v->rows);
    free(v->found);
}

void help_push(bench *b, const char *words)
{
    struct help_view *v = view_push(b, &help_view_ops, sizeof *v);
    v->filter.past = bench_past(b);
    if (*words)
        v->filter.line = line_new(words);
    filtered(&v->head);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "/", ACT_FILTER},
    {MODE_VIEW, "n", ACT_SEARCH_NEXT},
    {MODE_VIEW, "N", ACT_SEARCH_PREVIOUS},
    {MODE_VIEW, "Tab", ACT_PART_NEXT},
    {MODE_VIEW, "S-Tab", ACT_PART_PREVIOUS},
    {MODE_VIEW, "Enter", ACT_OPEN},
    {MODE_VIEW, "?", ACT_BACK},
    {MODE_VIEW, "F1", ACT_BACK},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops help_view_ops = {.name = "help",
    .keys = &keys,
    .more = &scroll_keys,
    .settle = settle,
    .draw = draw,
    .act = act,
    .mouse = mouse,
    .hint = hint,
    .filter = offsetof(struct help_view, filter),
    .filtered = filtered,
    .done = done};
