// SPDX-License-Identifier: MIT
// The runs of a notebook, or of all of its folder: a table with their parameters and metrics. The
// newest are read first, a few milliseconds at a time, so that many runs are there at once. A
// filter may be a condition, as `firesteel runs --where` has it. Below a run that is opened stand
// its children, trials and measurements.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/file/reader.h"
#include "tui/part/table/tablevalue.h"
#include "tui/view/runs/runs_private.h"
#include "tui/view/table/columns.h"

#include <string.h>

static rect body_of(rect area)
{
    return (rect){area.x + 1, area.y + 1, area.w - 2, area.h - 1};
}

static rect rows_of(const struct runs_view *v, rect body)
{
    return (rect){body.x, body.y + 1, body.w, body.h - 1 - v->filter.typing};
}

static void settle(view *view_, rect area)
{
    struct runs_view *v = (struct runs_view *)view_;
    rect body = body_of(area);
    runs_rows_read(v);
    sheet_settle(&v->sheet, body.w);
    scroll_fit(&v->scroll, tabledata_count(v->data), rows_of(v, body).h);
}

static void draw_title(const struct runs_view *v, grid *g, rect area)
{
    AUTO_BUF words = {0};
    const char *filter = filter_text(&v->filter);
    AUTO_FREE char *name = path_basename(v->path ? v->path : v->folder);
    int x = area.x + 1;
    x += grid_print(g, area, x, area.y, LOOK_BOLD, "Runs of %s%s", v->path ? "" : "all in ", name);
    if (*filter)
        x += grid_print(g, area, x, area.y, LOOK_WARN, "  /%s", filter);
    buf_fmt(&words, "  %zu", tabledata_count(v->data));
    if (v->read < v->n)
        buf_fmt(&words, "  %zu of %zu read", v->read, v->n);
    sheet_say_order(&v->sheet, &words);
    sheet_say_columns(&v->sheet, &words);
    grid_put_short(g, area, x, area.y, area.x + area.w - x, buf_cstr(&words), words.len, LOOK_DIM);
}

static void draw_row(const struct runs_view *v, grid *g, rect body, int y, size_t i)
{
    if (i >= tabledata_count(v->data))
        return;
    sheet_draw_row(&v->sheet, g, body, y, i, NULL);
    if (i != v->scroll.at)
        return;
    grid_restyle(g, (rect){body.x - 1, y, body.w + 2, 1}, LOOK_SELECTED);
    grid_park_cursor(g, body.x, y);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct runs_view *v = (const struct runs_view *)view_;
    rect body = body_of(area), rows = rows_of(v, body);
    draw_title(v, g, area);
    sheet_draw_names(&v->sheet, g, body);
    for (int y = 0; y < rows.h; y++)
        draw_row(v, g, rows, rows.y + y, v->scroll.top + (size_t)y);
    if (!tabledata_count(v->data) && v->read == v->n)
        grid_print(g, rows, rows.x, rows.y, LOOK_DIM, "%s",
            *filter_text(&v->filter) ? "no run is so; Esc shows all"
            : v->path                ? "it has no runs yet; a shows those of other notebooks"
                                     : "there are no runs yet");
    filter_draw(&v->filter, g, (rect){area.x, area.y + area.h - 1, area.w, 1});
}

// The run at the cursor, also where one of its children is; new; NULL: there is none.
static char *selected_run(const struct runs_view *v)
{
    return v->uid ? mem_strndup(v->uid, strcspn(v->uid, "/")) : NULL;
}

static void open_selected(struct runs_view *v)
{
    bench *b = v->head.bench;
    AUTO_FREE char *run = selected_run(v);
    const cJSON *row = run ? runs_rows_of(v, run) : NULL;
    if (!row)
        return;
    AUTO_FREE char *path = journal_file(v->folder, run);
    if (str_eq(run, bench_run(b)))
        bench_say(b, "this is the run that is open: q goes back to it");
    else if (str_eq(json_str(row, "state"), "running") && journal_is_written(path))
        bench_run_deed(b, RUN_ATTACH, v->folder, run);
    else if (!bench_open_run(b, path))
        bench_say(b, "runs cannot be opened here");
}

static void mark(struct runs_view *v)
{
    if (!v->uid)
        return;
    marks_set(v->marks, v->uid, !marks_has(v->marks, v->uid));
    runs_rows_load(v);
    if (v->scroll.at + 1 < tabledata_count(v->data))
        v->scroll.at++;
    runs_rows_remember(v);
}

static void mark_all(struct runs_view *v)
{
    bool all = true;
    size_t n = tabledata_count(v->data);
    for (size_t i = 0; i < n; i++)
        all = all && marks_has(v->marks, tabledata_at(v->data, i)->uid);
    for (size_t i = 0; i < n; i++)
        marks_set(v->marks, tabledata_at(v->data, i)->uid, !all);
    runs_rows_load(v);
}

// From a child to its run.
static void toggle_children(struct runs_view *v)
{
    AUTO_FREE char *run = selected_run(v);
    size_t at = 0;
    if (!run || !runs_rows_children(runs_rows_of(v, run))) {
        bench_say(v->head.bench, "it has no trials or measurements");
        return;
    }
    if (!runs_rows_is_open(v, run)) {
        v->opened = strv_add(v->opened, run);
    } else {
        while (!str_eq(v->opened[at], run))
            at++;
        free(v->opened[at]);
        do
            v->opened[at] = v->opened[at + 1];
        while (v->opened[at++]);
        free(v->uid);
        v->uid = STEAL(run);
    }
    runs_rows_load(v);
}

// The next row of the same kind: a run, or a trial.
static const struct table_row *next_like(const struct runs_view *v)
{
    const struct table_row *row = NULL;
    bool child = v->uid && strchr(v->uid, '/');
    for (size_t i = v->scroll.at + 1; (row = tabledata_at(v->data, i)); i++)
        if ((strchr(row->uid, '/') != NULL) == child)
            break;
    return row;
}

// The marked ones, in the order in which they were marked; new, NULL: none.
static char **marked(const struct runs_view *v)
{
    char **runs = NULL;
    size_t i = 0;
    for (const char *uid; (uid = marks_next(v->marks, &i));)
        runs = strv_add(runs, uid);
    return runs;
}

// Two marked ones, or one with that at the cursor; without a mark, with the one before it in time.
// More than two as a table.
static void compare(struct runs_view *v)
{
    bench *b = v->head.bench;
    const struct table_row *next = next_like(v);
    char **runs = marked(v);
    size_t n = runs ? strv_len(runs) : 0;
    const char *other = n ? runs[0] : next ? next->uid : NULL, *one = n > 1 ? runs[1] : v->uid;
    if (n > 2)
        beside_push(b, v->folder, runs);
    else if (!one || !other || str_eq(other, one))
        bench_say(b, "Space marks runs; c compares two of them, or more in a table");
    else
        compare_push(b, v->folder, other, one);
    strv_free(runs);
}

// The marked ones; without marks the one at the cursor with its trials.
static void show_chart(struct runs_view *v)
{
    char **runs = marked(v);
    if (!runs && v->uid)
        runs = strv_add(runs, v->uid);
    if (runs)
        metrics_push(v->head.bench, v->folder, runs);
    strv_free(runs);
}

// Before a run is removed: it cannot be brought back.
static void remove_selected(struct runs_view *v)
{
    AUTO_FREE char *run = selected_run(v);
    if (run && str_eq(run, bench_run(v->head.bench)))
        bench_say(v->head.bench, "this is the run that is open");
    else if (run)
        removal_push(v, run);
}

static void export_selected(struct runs_view *v)
{
    AUTO_FREE char *run = selected_run(v);
    if (run)
        bench_run_deed(v->head.bench, RUN_EXPORT, v->folder, run);
}

// The rows, as a sheet has them.

static int rows_columns(const void *rows)
{
    return tabledata_columns(((const struct runs_view *)rows)->data);
}

static const char *rows_column(const void *rows, int i)
{
    return tabledata_column(((const struct runs_view *)rows)->data, i);
}

static void rows_measure(const void *rows, struct table_column *out)
{
    tabledata_measure(((const struct runs_view *)rows)->data, out);
}

static size_t rows_count(const void *rows)
{
    return tabledata_count(((const struct runs_view *)rows)->data);
}

static void rows_entry(const void *rows, size_t row, int i, buf *out)
{
    const struct table_row *r = tabledata_at(((const struct runs_view *)rows)->data, row);
    buf_str(out, r ? r->cells[i] : "");
}

static style rows_look(const void *rows, int i, const char *words)
{
    return i == 1 ? tablevalue_look(words) : i == 0 && *words == '*' ? LOOK_WARN : (style){0};
}

static void rows_sort(void *rows, int i, bool reverse)
{
    struct runs_view *v = rows;
    v->sort = i;
    v->reverse = reverse;
    runs_rows_load(v);
}

static int rows_sorted(const void *rows, bool *reverse)
{
    *reverse = ((const struct runs_view *)rows)->reverse;
    return ((const struct runs_view *)rows)->sort;
}

static const struct sheet_ops rows_ops = {.columns = rows_columns,
    .column = rows_column,
    .measure = rows_measure,
    .count = rows_count,
    .entry = rows_entry,
    .look = rows_look,
    .sort = rows_sort,
    .sorted = rows_sorted};

static struct columns columns_of(struct runs_view *v)
{
    return (struct columns){&v->head, &v->sheet, &v->scroll, &v->filter, "runs"};
}

static bool act_on(struct runs_view *v, enum action a)
{
    switch ((int)a) {
    case ACT_OPEN:
        open_selected(v);
        return true;
    case ACT_MARK_RUN:
    case ACT_MARK_ROW:
        mark(v);
        return true;
    case ACT_RUN_CHILDREN:
        toggle_children(v);
        return true;
    case ACT_MARK_ALL:
        mark_all(v);
        return true;
    case ACT_COMPARE:
        compare(v);
        return true;
    case ACT_CHART:
        show_chart(v);
        return true;
    case ACT_REMOVE_RUN:
        remove_selected(v);
        return true;
    case ACT_EXPORT_RUN:
        export_selected(v);
        return true;
    case ACT_ALL_RUNS:
        runs_rows_show_all(v, v->path != NULL);
        runs_rows_load(v);
        return true;
    }
    return false;
}

static bool act(view *view_, enum action a)
{
    struct runs_view *v = (struct runs_view *)view_;
    struct columns columns = columns_of(v);
    if (act_on(v, a) || columns_act(&columns, a))
        return true;
    bool moved = scroll_act(&v->scroll, a);
    runs_rows_remember(v);
    return moved;
}

static bool mouse(view *view_, const struct mouse *m)
{
    struct runs_view *v = (struct runs_view *)view_;
    struct columns columns = columns_of(v);
    if (m->kind == MOUSE_CLICK && m->y == 1) {
        columns_point(&columns, m->x - 1);
        return true;
    }
    enum pointed p = scroll_point(&v->scroll, m, 2);
    runs_rows_remember(v);
    return p == POINT_OPEN ? act_on(v, ACT_OPEN) : p == POINT_MOVED;
}

static void filtered(view *v)
{
    runs_rows_load((struct runs_view *)v);
}

static int wait_ms(const view *view_)
{
    const struct runs_view *v = (const struct runs_view *)view_;
    return v->read < v->n ? 1 : -1;
}

static void hint(const view *v, buf *out)
{
    buf_str(out, "Enter opens  / lr<0.1  s sort  t trials  Space mark  c compare  p chart  q back");
}

static void done(view *view_)
{
    struct runs_view *v = (struct runs_view *)view_;
    for (size_t i = 0; i < v->read; i++)
        cJSON_Delete(v->rows[i]);
    runs_rows_forget_fields(v);
    filter_done(&v->filter);
    sheet_done(&v->sheet);
    tabledata_free(v->data);
    runs_list_close(v->runs);
    free(v->rows);
    free(v->folder);
    free(v->notebook);
    marks_free(v->marks);
    free(v->uid);
    strv_free(v->opened);
}

void runs_push(bench *b)
{
    err e = {0};
    AUTO_FREE char *folder = bench_folder(b);
    runs_list *runs = folder ? runs_list_open(folder, &e) : NULL;
    if (!runs) {
        bench_complain(b, "%s", e.code ? e.text : "the kernel is starting");
        return;
    }
    struct runs_view *v = view_push(b, &runs_view_ops, sizeof *v);
    v->folder = STEAL(folder);
    v->path = v->notebook = mem_strdup(bench_path(b));
    v->runs = runs;
    v->n = runs_list_count(runs);
    v->rows = mem_array(v->n + 1, sizeof *v->rows);
    v->data = tabledata_new();
    v->marks = marks_new();
    v->sort = -1;
    sheet_init(&v->sheet, &rows_ops, v);
    v->filter.past = bench_past(b);
    runs_rows_load(v);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Enter", ACT_OPEN},
    {MODE_VIEW, "t", ACT_RUN_CHILDREN},
    {MODE_VIEW, "m", ACT_MARK_RUN},
    {MODE_VIEW, "Space", ACT_MARK_ROW},
    {MODE_VIEW, "*", ACT_MARK_ALL},
    {MODE_VIEW, "c", ACT_COMPARE},
    {MODE_VIEW, "p", ACT_CHART},
    {MODE_VIEW, "a", ACT_ALL_RUNS},
    {MODE_VIEW, "D", ACT_REMOVE_RUN},
    {MODE_VIEW, "e", ACT_EXPORT_RUN},
    SHEET_KEYS,
    {MODE_VIEW, "W", ACT_SAVE_CSV},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops runs_view_ops = {.name = "runs",
    .keys = &keys,
    .more = &scroll_keys,
    .settle = settle,
    .draw = draw,
    .act = act,
    .mouse = mouse,
    .filter = offsetof(struct runs_view, filter),
    .filtered = filtered,
    .wait_ms = wait_ms,
    .hint = hint,
    .done = done};
