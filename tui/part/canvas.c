// SPDX-License-Identifier: MIT
#include "tui/part/canvas.h"

#include "base/json/rowset.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "base/work.h"
#include "script/journal/html_table.h"
#include "tui/grid/layout.h"
#include "tui/grid/look.h"
#include "tui/grid/plot.h"
#include "tui/part/curves.h"
#include "tui/part/progress.h"
#include "tui/part/table/tablelayout.h"
#include "tui/part/table/tablevalue.h"
#include "tui/syntax/markdown_layout.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PLOT_ROWS = 8, CHARTS = 2, GAP = 2, BAR = 24, BAR_LEAST = 6, NARROW = 50, WIDE = 120 };
#define KIND(name) "application/vnd.firesteel." name "+json"

static rect area_of(const struct canvas *c)
{
    rect all = grid_area(c->grid);
    return (rect){0, 0, c->w, all.h};
}

// Draws the rest of a styled line in one screen row, from byte `from`; returns where the next row
// starts.
static size_t put_row(
    struct canvas *c, const struct ansi_line *line, size_t from, style base, bool draw)
{
    int x = 0;
    size_t fit = from < line->n ? layout_wrap_on(line->text, line->n, from, c->w, &x) : 0;
    for (size_t i = 0; draw && i < line->spans_n; i++) {
        const struct ansi_span *s = &line->spans[i];
        size_t a = s->from > from ? s->from : from, z = s->to < from + fit ? s->to : from + fit;
        if (a < z)
            x += grid_put(
                c->grid, area_of(c), x, c->y, line->text + a, z - a, style_over(base, s->style));
    }
    c->y += draw;
    return from + fit;
}

static int rows_of(struct canvas *c, const struct ansi_line *line)
{
    int rows = 0;
    size_t at = 0;
    do
        at = put_row(c, line, at, (style){0}, false), rows++;
    while (at < line->n);
    return rows;
}

void canvas_ansi(
    struct canvas *c, const char *bytes, size_t n, style base, int limit, uint64_t before)
{
    ansi_text *t = ansi_text_new(limit ? (size_t)limit : 0);
    ansi_text_feed(t, bytes, n);
    size_t lines = ansi_text_lines(t), first = lines;
    int rows = 0;
    while (first > 0) {
        struct ansi_line line = ansi_text_line(t, first - 1);
        int more_rows = rows_of(c, &line);
        if (limit && rows + more_rows > limit && rows > 0)
            break;
        rows += more_rows;
        first--;
    }
    unsigned long long hidden = before + first + ansi_text_dropped(t);
    if (hidden)
        canvas_line(
            c, LOOK_DIM, "⋮ %llu more line%s above; O shows all", hidden, hidden == 1 ? "" : "s");
    for (size_t i = first; i < lines; i++) {
        struct ansi_line line = ansi_text_line(t, i);
        size_t at = 0;
        do
            at = put_row(c, &line, at, base, true);
        while (at < line.n);
    }
    ansi_text_free(t);
}

void canvas_line(struct canvas *c, style st, const char *fmt, ...)
{
    AUTO_BUF words = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&words, fmt, args);
    va_end(args);
    grid_put_short(c->grid, area_of(c), 0, c->y++, c->w, buf_cstr(&words), words.len, st);
}

// The rows of a table that are drawn.
struct drawn {
    const cJSON *columns, **rows;
    int n; // columns
    size_t count;
    int64_t now; // up to which ages are counted
};

static bool says_something(const char *words)
{
    return *words && !str_eq(words, "<none>");
}

// Widths are those of the rows that are drawn: what a table costs is what is seen of it.
static void measure(const struct drawn *d, const cJSON *table, struct table_column *out)
{
    AUTO_BUF words = {0};
    for (int i = 0; i < d->n; i++) {
        const char *name = tablevalue_column(d->columns, i);
        out[i] = (struct table_column){.width = text_width(name, strlen(name), 0),
            .keep = tablevalue_keeps(table, name),
            .wide = tabletext_is_wide(cJSON_GetArrayItem(d->columns, i)),
            .bare = true};
        for (size_t row = 0; row < d->count; row++) {
            int w = tablevalue_entry_width(d->columns, d->rows[row], i);
            out[i].width = w > out[i].width ? w : out[i].width;
            if (!out[i].bare)
                continue;
            tablevalue_entry(d->columns, d->rows[row], i, d->now, &words);
            out[i].bare = !says_something(buf_cstr(&words));
        }
    }
}

// An entry or a column's name, where the column has it.
static void put_entry(struct canvas *c, const cJSON *columns, int i, const struct table_layout *l,
    const char *words, bool is_name, style st)
{
    bool right = tabletext_is_right(cJSON_GetArrayItem(columns, i));
    table_put(c->grid, area_of(c), (rect){l->x[i], c->y, l->w[i], 1},
        &(struct table_entry){words, st, right, is_name});
}

static void put_header(struct canvas *c, const cJSON *columns, int n, const struct table_layout *l)
{
    for (int i = 0; i < n; i++)
        if (l->w[i])
            put_entry(c, columns, i, l, tablevalue_column(columns, i), false, LOOK_BOLD);
    c->y++;
}

static void put_cells(
    struct canvas *c, const struct drawn *d, const cJSON *row, const struct table_layout *l)
{
    AUTO_BUF words = {0};
    for (int i = 0; i < d->n; i++) {
        if (!l->w[i])
            continue;
        tablevalue_entry(d->columns, row, i, d->now, &words);
        style st = i ? tablevalue_look(buf_cstr(&words)) : (style){0};
        put_entry(c, d->columns, i, l, buf_cstr(&words), i == 0, st);
    }
    c->y++;
}

// Beyond those that can be drawn.
static int left_columns(const cJSON *table, int n)
{
    return tablevalue_width(table, INT_MAX) - n;
}

static bool has_ages(const struct drawn *d)
{
    int64_t ignored;
    for (int i = 0; d->count && i < d->n; i++)
        if (tabletext_since(
                tabletext_cell(d->rows[0], cJSON_GetArrayItem(d->columns, i), i), &ignored))
            return true;
    return false;
}

// How many rows there are of what, when not all are there to be seen; and how many columns.
static void put_summary(struct canvas *c, const cJSON *table, size_t rows, int columns)
{
    AUTO_BUF words = {0};
    if (rows)
        tabletext_summary(table, &words);
    bool states = words.len > 0;
    if (rows && !states)
        buf_fmt(&words, "%zu more row%s", rows, rows == 1 ? "" : "s");
    if (columns)
        buf_fmt(&words, "%s%d more column%s", rows ? ", " : "", columns, columns == 1 ? "" : "s");
    canvas_line(c, LOOK_DIM, "⋮ %s; O shows %s", buf_cstr(&words), states ? "all" : "them");
}

// {"columns": [name | {"name"}…], "rows": [[…] | {"cells": […]} | {name: …}…], "note"}
// A note may have several lines.
static void put_note(struct canvas *c, const cJSON *table)
{
    char **lines = strv_split(json_str_or(table, "note", ""), '\n');
    for (char **line = lines; *line; line++)
        if (**line)
            canvas_line(c, LOOK_WARN, "%s", *line);
    strv_free(lines);
}

static void canvas_table(struct canvas *c, const cJSON *table, bool live, int limit)
{
    struct table_column measured[TABLE_COLUMNS];
    struct table_layout l;
    size_t all;
    AUTO_FREE const cJSON **rows = tabletext_rows(table, &all);
    struct drawn d = {.columns = json_get(table, "columns"),
        .rows = rows,
        .n = tablevalue_width(table, TABLE_COLUMNS),
        .count = limit && all > (size_t)limit ? (size_t)limit : all,
        .now = tabletext_now(table, live, c->now)};
    // Where rows are hidden, those that are wrong are not among them.
    if (all > d.count && !json_str(table, "order"))
        tabletext_worst_first(rows, all);
    measure(&d, table, measured);
    table_layout(measured, d.n, c->w, -1, 0, &l);
    if (json_bool_or(table, "headed", false))
        canvas_line(c, LOOK_BOLD, "%s%s", json_str_or(table, "title", ""), live ? " ●" : "");
    if (d.columns && d.columns->child)
        put_header(c, d.columns, d.n, &l);
    for (size_t i = 0; i < d.count; i++)
        put_cells(c, &d, rows[i], &l);
    c->aged = c->aged || (live && has_ages(&d));
    // A table that says which columns it keeps has said which may go.
    int columns = json_get(table, "keep") ? 0 : l.missing + left_columns(table, d.n);
    if (all > d.count || columns)
        put_summary(c, table, all - d.count, columns);
    AUTO_BUF more = {0};
    rowset_say_more(json_int_or(table, "more", 0), &more);
    if (more.len)
        canvas_line(c, LOOK_WARN, "%.*s, nor does O show them", (int)more.len - 1, more.data);
    put_note(c, table);
}

// Of a folded table there is one line: its title, and how many rows are in which state.
static void canvas_folded(struct canvas *c, const cJSON *table, bool live)
{
    AUTO_BUF words = {0};
    tabletext_summary(table, &words);
    canvas_line(c, LOOK_DIM, "%s: %s; O and Tab show them%s", json_str_or(table, "title", "table"),
        words.len ? buf_cstr(&words) : "none", live ? " ●" : "");
    put_note(c, table);
}

static void metrics_text(const cJSON *metrics, buf *out)
{
    const cJSON *m;
    cJSON_ArrayForEach(m, metrics)
    {
        double number;
        if (json_number(m, &number)) {
            buf_fmt(out, "  %s ", m->string);
            buf_metric(out, number);
        } else if (cJSON_IsNull(m)) // JSON writes NaN as null
            buf_fmt(out, "  %s NaN", m->string);
    }
}

// "938/938  41.2k/s  1m05s left", and of what has ended how long it took.
static void progress_words(const struct progress *p, const cJSON *json, bool live, buf *out)
{
    int64_t done = json_int_or(json, "done", 0), total = json_int_or(json, "total", 0);
    bool bytes = str_eq(json_str(json, "unit"), "bytes");
    if (bytes)
        buf_fmt(out, " %.1f/%.1f MB", (double)done / 1e6, (double)total / 1e6);
    else
        buf_fmt(out, " %lld", (long long)done);
    if (total > 0 && !bytes)
        buf_fmt(out, "/%lld", (long long)total);
    if (bytes && !isnan(progress_rate(p)))
        buf_fmt(out, "  %.1f MB/s", progress_rate(p) / 1e6);
    else if (!isnan(progress_rate(p))) {
        buf_str(out, "  ");
        work_rate_text(out, progress_rate(p));
    }
    if (live && progress_left(p) >= 0) { // only if known
        buf_str(out, "  ");
        work_time_text(out, progress_left(p));
        buf_str(out, " left");
    } else if (!live && !isnan(p->elapsed)) {
        buf_str(out, "  in ");
        work_time_text(out, p->elapsed);
    }
}

// The bar, and to the right of it words, of which all but the last columns stay. Returns the column
// after them.
static int bar_row(
    struct canvas *c, const buf *label, double fraction, const buf *words, style s, int widest)
{
    int x = grid_put_short(
        c->grid, area_of(c), 0, c->y, widest, buf_cstr(label), label->len, LOOK_BOLD);
    int need = text_width(buf_cstr(words), words->len, 0), bar = c->w - x - need;
    int most = c->w > WIDE ? c->w / 4 : BAR;
    bar = bar > most ? most : bar < BAR_LEAST ? BAR_LEAST : bar;
    plot_progress(c->grid, area_of(c), x, c->y, bar, fraction, s, c->ascii);
    x += bar;
    return x + grid_put_short(
                   c->grid, area_of(c), x, c->y, c->w - x, buf_cstr(words), words->len, (style){0});
}

void canvas_work(struct canvas *c, const cJSON *event)
{
    AUTO_BUF label = {0}, words = {0};
    int64_t done = json_int_or(event, "done", 0), total = json_int_or(event, "total", 0);
    if (json_str(event, "branch"))
        buf_fmt(&label, "%s | ", json_str(event, "branch"));
    buf_fmt(&label, "%s ", json_str_or(event, "what", ""));
    buf_fmt(&words, " %s", json_str_or(event, "text", ""));
    int rest = c->w - text_width(buf_cstr(&words), words.len, 0) - BAR_LEAST;
    int widest = rest < c->w / 4 ? c->w / 4 : rest > c->w / 2 ? c->w / 2 : rest;
    bar_row(c, &label, total > 0 ? (double)done / (double)total : NAN, &words, LOOK_ACCENT, widest);
    c->y++;
}

static void progress_bar(struct canvas *c, const cJSON *json, bool live)
{
    struct progress p = progress_read(json);
    int64_t epoch = json_int_or(json, "epoch", 0), epochs = json_int_or(json, "epochs", 0);
    AUTO_BUF label = {0}, words = {0}, metrics = {0};
    if (json_str(json, "label") && (!epochs || c->w >= NARROW))
        buf_fmt(&label, "%s ", json_str(json, "label"));
    if (epoch && epochs)
        buf_fmt(&label, "%lld/%lld ", (long long)epoch, (long long)epochs);
    else if (epoch)
        buf_fmt(&label, "%lld ", (long long)epoch);
    progress_words(&p, json, live, &words);
    metrics_text(json_get(json, "metrics"), &metrics);
    int x =
        bar_row(c, &label, progress_fraction(&p), &words, live ? LOOK_ACCENT : LOOK_GOOD, c->w / 3);
    if (x + text_width(buf_cstr(&metrics), metrics.len, 0) > c->w && metrics.len) {
        c->y++; // a row of their own
        x = 0;
    }
    grid_put_short(
        c->grid, area_of(c), x, c->y, c->w - x, buf_cstr(&metrics), metrics.len, (style){0});
    c->y++;
}

void canvas_progress_head(struct canvas *c, const cJSON *p, bool live)
{
    AUTO_BUF evaluated = {0};
    progress_bar(c, p, live);
    metrics_text(json_get(p, "evaluated"), &evaluated);
    if (evaluated.len)
        canvas_line(c, (style){0}, "evaluated%s", buf_cstr(&evaluated));
}

// Of a training the two that matter most; more are on the full screen.
static void canvas_curves(struct canvas *c, const cJSON *bundle, int rows)
{
    curves *all = curves_new(bundle);
    if (!all)
        return;
    rect area = {0, c->y, c->w, rows * curves_below(all, c->w, CHARTS)};
    curves_draw(all, c->grid, rect_clip(area, area_of(c)),
        &(struct curves_look){
            .chart = -1, .charts = CHARTS, .ascii = c->ascii, .dashes = c->dashes});
    curves_free(all);
    c->y += area.h;
}

static void canvas_progress(struct canvas *c, const cJSON *bundle, bool live)
{
    canvas_progress_head(c, json_get(bundle, KIND("progress")), live);
    canvas_curves(c, bundle, PLOT_ROWS);
}

static void canvas_plot(struct canvas *c, const cJSON *bundle, int limit)
{
    const char *title = json_str(json_get(bundle, KIND("plot")), "title");
    curves *drawn = curves_new(bundle);
    bool is_text = !drawn;
    curves_free(drawn);
    if (is_text) {
        const char *plain = json_str_or(bundle, "text/plain", "");
        canvas_ansi(c, plain, strlen(plain), (style){0}, limit, 0);
        return;
    }
    if (title)
        canvas_line(c, LOOK_BOLD, "%s", title);
    canvas_curves(c, bundle, PLOT_ROWS + 2);
}

static void canvas_markdown(struct canvas *c, const char *words)
{
    markdown *m = markdown_new(words, strlen(words), c->w, c->ascii);
    for (size_t i = 0; i < markdown_lines(m); i++) {
        struct ansi_line line = markdown_line(m, i);
        size_t at = 0;
        do
            at = put_row(c, &line, at, (style){0}, true);
        while (at < line.n);
    }
    markdown_free(m);
}

// "image dot.png (160×100, 2 kB)" stands above it, for who does not see it; "<Figure size 640x480>"
// says nothing.
static bool canvas_picture(struct canvas *c, const cJSON *bundle)
{
    struct album_picture p;
    const char *plain = json_str_or(bundle, "text/plain", "");
    int left = grid_area(c->grid).h - c->y - 1;
    if (left < 1 || !album_find(c->album, bundle, c->w, left, &p))
        return false;
    if (*plain && *plain != '<' && !strchr(plain, '\n'))
        canvas_line(c, LOOK_DIM, "%s", plain);
    album_draw(&p, c->grid, area_of(c), 0, c->y);
    c->y += p.rows;
    return true;
}

// The table that other programs have left as HTML, new.
static cJSON *read_table(const cJSON *bundle)
{
    const char *html = json_str(bundle, "text/html");
    return html ? html_table_read(html) : NULL;
}

void canvas_bundle(struct canvas *c, const cJSON *bundle, bool live, int limit)
{
    const char *plain = json_str_or(bundle, "text/plain", "");
    const cJSON *table = json_get(bundle, KIND("pods"));
    table = table ? table : json_get(bundle, KIND("events"));
    table = table ? table : json_get(bundle, KIND("table"));
    AUTO_JSON *read = table ? NULL : read_table(bundle);
    table = read ? read : table;
    if (json_bool_or(table, "folded", false))
        canvas_folded(c, table, live);
    else if (cJSON_IsArray(json_get(table, "rows")))
        canvas_table(c, table, live, limit);
    else if (json_get(bundle, KIND("progress")))
        canvas_progress(c, bundle, live);
    else if (json_get(bundle, KIND("plot")))
        canvas_plot(c, bundle, limit);
    else if (canvas_picture(c, bundle))
        return;
    else if (json_str(bundle, "text/markdown"))
        canvas_markdown(c, json_str(bundle, "text/markdown"));
    else
        canvas_ansi(c, plain, strlen(plain), (style){0}, limit, 0);
}
