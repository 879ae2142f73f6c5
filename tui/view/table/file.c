// SPDX-License-Identifier: MIT
// A table in a file: what is on the screen is read, and the rest a few milliseconds at a time, so
// that a million rows are there at once and keys are never kept waiting.
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tui/bench/views.h"
#include "tui/part/table/rowfile.h"
#include "tui/part/table/tablevalue.h"
#include "tui/view/table/columns.h"

#include <string.h>

enum { WORK_MS = 8 };

struct file_view {
    view head;
    rowfile *file;
    char *name;
    struct sheet sheet;
    struct scroll scroll;
    struct filter filter;
    bool works; // there is something to do
    bool alone; // nothing else is open: whoever closes it leaves
};

static rowfile *file_of(const void *rows)
{
    return ((const struct file_view *)rows)->file;
}

static int rows_columns(const void *rows)
{
    return rowfile_columns(file_of(rows));
}

static const char *rows_column(const void *rows, int i)
{
    return rowfile_column(file_of(rows), i);
}

static void rows_measure(const void *rows, struct table_column *out)
{
    rowfile_measure(file_of(rows), out);
}

static bool rows_is_right(const void *rows, int i)
{
    return rowfile_is_right(file_of(rows), i);
}

static size_t rows_count(const void *rows)
{
    return rowfile_count(file_of(rows));
}

static void rows_entry(const void *rows, size_t row, int i, buf *out)
{
    rowfile_entry(file_of(rows), row, i, out);
}

static void rows_sort(void *rows, int i, bool reverse)
{
    struct file_view *v = rows;
    rowfile_sort(v->file, i, reverse);
    v->works = true;
}

static int rows_sorted(const void *rows, bool *reverse)
{
    return rowfile_sorted(file_of(rows), reverse);
}

static const struct sheet_ops rows_ops = {.columns = rows_columns,
    .column = rows_column,
    .measure = rows_measure,
    .is_right = rows_is_right,
    .count = rows_count,
    .entry = rows_entry,
    .sort = rows_sort,
    .sorted = rows_sorted};

static rect body_of(rect area)
{
    return (rect){area.x + 1, area.y + 1, area.w - 2, area.h - 1};
}

static rect rows_of(const struct file_view *v, rect body)
{
    return (rect){body.x, body.y + 1, body.w, body.h - 1 - v->filter.typing};
}

// So that what is about to be drawn is measured.
static void look_at_rows(struct file_view *v)
{
    AUTO_BUF words = {0};
    for (int y = 0; y < v->scroll.h; y++)
        for (int i = 0; i < rowfile_columns(v->file); i++) {
            buf_clear(&words);
            rowfile_entry(v->file, v->scroll.top + (size_t)y, i, &words);
        }
}

static void settle(view *view_, rect area)
{
    struct file_view *v = (struct file_view *)view_;
    rect body = body_of(area);
    v->works = rowfile_work(v->file, clock_mono() + WORK_MS * CLOCK_MS);
    scroll_fit(&v->scroll, rowfile_count(v->file), rows_of(v, body).h);
    look_at_rows(v);
    sheet_settle(&v->sheet, body.w);
}

static void draw_title(const struct file_view *v, grid *g, rect area)
{
    AUTO_BUF words = {0}, doing = {0};
    const char *filter = filter_text(&v->filter);
    unsigned long long total = rowfile_total(v->file), n = rowfile_count(v->file);
    int x = area.x + 1;
    x += grid_print(g, area, x, area.y, LOOK_BOLD, "%s", v->name);
    if (*filter)
        x += grid_print(g, area, x, area.y, LOOK_WARN, "  /%s  %llu of %llu", filter, n, total);
    else
        buf_fmt(&words, "  %llu row%s", total, total == 1 ? "" : "s");
    rowfile_say(v->file, &doing);
    buf_fmt(&words, "%s%s", doing.len ? ", " : "", buf_cstr(&doing));
    sheet_say_order(&v->sheet, &words);
    sheet_say_columns(&v->sheet, &words);
    grid_put_short(g, area, x, area.y, area.x + area.w - x, buf_cstr(&words), words.len, LOOK_DIM);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct file_view *v = (const struct file_view *)view_;
    rect body = body_of(area), rows = rows_of(v, body);
    draw_title(v, g, area);
    sheet_draw_names(&v->sheet, g, body);
    sheet_draw_rows(&v->sheet, g, rows, v->scroll.top, v->scroll.at);
    if (!rowfile_count(v->file) && !rowfile_looking(v->file))
        grid_print(g, rows, rows.x, rows.y, LOOK_DIM, "%s",
            *filter_text(&v->filter) ? "nothing matches; Esc shows all" : "it has no rows");
    filter_draw(&v->filter, g, (rect){area.x, area.y + area.h - 1, area.w, 1});
}

static struct columns columns_of(struct file_view *v)
{
    return (struct columns){&v->head, &v->sheet, &v->scroll, &v->filter, v->name};
}

static void copy_row(struct file_view *v)
{
    AUTO_BUF row = {0};
    for (int i = 0; v->scroll.at < rowfile_count(v->file) && i < rowfile_columns(v->file); i++) {
        buf_str(&row, i ? "\t" : "");
        rowfile_entry(v->file, v->scroll.at, i, &row);
    }
    bench_clip(v->head.bench, buf_cstr(&row), row.len, "the row");
}

static bool act(view *view_, enum action a)
{
    struct file_view *v = (struct file_view *)view_;
    struct columns columns = columns_of(v);
    if ((a == ACT_BACK || a == ACT_CLOSE) && v->alone) {
        bench_quit(view_->bench);
        return true;
    }
    if (a == ACT_CLIP) {
        copy_row(v);
        return true;
    }
    return columns_act(&columns, a == ACT_OPEN ? ACT_ROW_FORM : a) || scroll_act(&v->scroll, a);
}

static bool mouse(view *view_, const struct mouse *m)
{
    struct file_view *v = (struct file_view *)view_;
    struct columns columns = columns_of(v);
    if (m->kind == MOUSE_CLICK && m->y == 1) {
        columns_point(&columns, m->x - 1);
        return true;
    }
    enum pointed p = scroll_point(&v->scroll, m, 2);
    return p == POINT_OPEN ? act(view_, ACT_OPEN) : p == POINT_MOVED;
}

static void filtered(view *view_)
{
    struct file_view *v = (struct file_view *)view_;
    rowfile_filter(v->file, filter_text(&v->filter));
    v->filter.wrong = rowfile_filtered(v->file)->wrong;
    v->works = true;
}

static int wait_ms(const view *view_)
{
    return ((const struct file_view *)view_)->works ? 1 : -1;
}

static void hint(const view *view_, buf *out)
{
    buf_str(out, "? keys  Enter row  / filter  s sort  # values  C columns  W CSV  q back");
}

static void done(view *view_)
{
    struct file_view *v = (struct file_view *)view_;
    rowfile_free(v->file);
    sheet_done(&v->sheet);
    filter_done(&v->filter);
    free(v->name);
}

int file_push(bench *b, const char *path, bool alone, err *e)
{
    enum rowfile_kind kind;
    if (!rowfile_kind_of(path, &kind))
        return err_set(e, ERR_USAGE,
            "%s: a table's file ends in .csv, .tsv or .jsonl; pyarrow writes Parquet as CSV", path);
    rowfile *file = rowfile_open(path, kind, false, e);
    if (!file)
        return -1;
    struct file_view *v = view_push(b, &file_view_ops, sizeof *v);
    v->file = file;
    v->alone = alone;
    v->name = path_basename(path);
    v->filter.past = bench_past(b);
    sheet_init(&v->sheet, &rows_ops, v);
    return 0;
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Enter", ACT_OPEN},
    {MODE_VIEW, "Y", ACT_CLIP},
    SHEET_KEYS,
    {MODE_VIEW, "W", ACT_SAVE_CSV},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops file_view_ops = {.name = "file",
    .keys = &keys,
    .more = &scroll_keys,
    .settle = settle,
    .draw = draw,
    .act = act,
    .mouse = mouse,
    .filter = offsetof(struct file_view, filter),
    .filtered = filtered,
    .wait_ms = wait_ms,
    .hint = hint,
    .done = done};
