// SPDX-License-Identifier: MIT
// A table display on the full screen: a cursor that stays with its row while rows change, a filter,
// an order, and the display's actions. It knows displays, but not the objects in them.
#include "base/clock.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "script/journal/html_table.h"
#include "tui/bench/cluster/objectcommand.h"
#include "tui/bench/cluster/objectedit.h"
#include "tui/bench/cluster/objectlogs.h"
#include "tui/bench/cluster/objectshell.h"
#include "tui/bench/command.h"
#include "tui/bench/desk.h"
#include "tui/bench/remote.h"
#include "tui/bench/views.h"
#include "tui/part/filter.h"
#include "tui/part/marks.h"
#include "tui/part/scroll.h"
#include "tui/part/table/tabledata.h"
#include "tui/part/table/tablevalue.h"
#include "tui/view/open.h"
#include "tui/view/table/columns.h"

#include <string.h>

enum { TICK_MS = 1000 };
static const style look_match = {.attrs = ATTR_UNDERLINE | ATTR_BOLD};

struct table_view {
    view head;
    int64_t display;
    tabledata *data;
    char *uid; // uid of the row with the cursor
    marks *marked;
    struct scroll scroll;
    struct filter filter;
    struct sheet sheet;
    char *order;  // the column that orders it as soon as it is there, from a table before it; NULL
    bool reverse; // the other way round
    cJSON *read;  // made of the display's HTML; NULL: it has a table of ours
    unsigned read_updates;
    cJSON *with; // of a table of the desk, a peek: what it was asked for with; else NULL
};

// The keys' requests to a display, and how the last row calls them; NULL: not at all.
static const struct {
    enum action action;
    const char *name, *hint;
} actions[] = {
    {ACT_DESCRIBE, "describe", "describe"},
    {ACT_WHY, "why", "why"},
    {ACT_LOGS, "logs", "logs"},
    {ACT_YAML, "yaml", "yaml"},
    {ACT_TREE, "tree", "tree"},
    {ACT_RESTART_OBJECT, "restart", "restart"},
    {ACT_DELETE_OBJECT, "delete", "delete"},
    {ACT_OPEN, "revision", "show"},
    {ACT_UNDO_ROLLOUT, "undo", "undo"},
    {ACT_HISTORY, "history", NULL},
    {ACT_INSIDE, "inside", NULL},
    {ACT_DECODE, "decode", NULL},
    {ACT_OPEN, "stop-forward", "open"},
    {ACT_DELETE_OBJECT, "stop-forward", "stop"},
};
// What is done to all marked rows.
static const char *const of_all[] = {"restart", "delete", "scale", "label", "annotate", "suspend",
    "resume", "cordon", "uncordon", "set-image"};

static const struct output *output_of(const struct table_view *v)
{
    return bench_display(v->head.bench, v->display);
}

static const cJSON *table_of(const struct table_view *v)
{
    const struct output *o = output_of(v);
    const cJSON *table = o ? open_table(o->data) : NULL;
    return table ? table : v->read;
}

// A table that another program has left as HTML does not change, or it is another one.
static void read_html(struct table_view *v)
{
    const struct output *o = output_of(v);
    const char *html = o && !open_table(o->data) ? json_str(o->data, "text/html") : NULL;
    if (html && v->read && v->read_updates == o->updates)
        return;
    cJSON_Delete(STEAL(v->read));
    v->read = html ? html_table_read(html) : NULL;
    v->read_updates = o ? o->updates : 0;
}

static void remember_row(struct table_view *v)
{
    const struct table_row *r = tabledata_at(v->data, v->scroll.at);
    free(v->uid);
    v->uid = mem_strdup(r ? r->uid : NULL);
}

// The cursor follows its row; if the row is gone, it goes to the next row.
static void follow_row(struct table_view *v)
{
    size_t at = v->uid && *v->uid ? tabledata_find(v->data, v->uid) : SIZE_MAX;
    if (at != SIZE_MAX)
        v->scroll.at = at;
    size_t n = tabledata_count(v->data);
    v->scroll.at = v->scroll.at < n ? v->scroll.at : n ? n - 1 : 0;
    remember_row(v);
}

// Rows that are gone are not marked.
static void follow_marks(struct table_view *v)
{
    size_t i = 0;
    for (const char *uid; marks_count(v->marked) && (uid = marks_next(v->marked, &i));)
        if (!tabledata_has(v->data, uid))
            marks_set(v->marked, uid, false);
}

static void keep_order(struct table_view *v)
{
    int i = v->order ? tabledata_columns(v->data) - 1 : -1;
    while (i >= 0 && !str_eq(tabledata_column(v->data, i), v->order))
        i--;
    if (i < 0)
        return;
    tabledata_sort(v->data, i, v->reverse);
    free(STEAL(v->order));
}

static void load(struct table_view *v)
{
    read_html(v);
    const cJSON *table = table_of(v);
    if (table)
        tabledata_load(v->data, table);
    keep_order(v);
    follow_marks(v);
    follow_row(v);
}

static void heard(view *view_, const cJSON *event)
{
    struct table_view *v = (struct table_view *)view_;
    if (event &&
        (!str_eq(json_str(event, "type"), "update") || json_int_or(event, "id", -1) != v->display))
        return;
    const char *hint = json_path_str(event, "table.hint");
    if (hint)
        bench_complain(view_->bench, "%s", hint);
    if (!event || json_get(event, "data") || json_path(event, "table.columns")) {
        load(v);
        return;
    }
    if (json_get(event, "rows"))
        tabledata_change(v->data, json_get(event, "rows"));
    follow_marks(v);
    follow_row(v);
}

static bool is_shown(const cJSON *row, const void *data)
{
    const char *uid = json_str(row, "uid");
    return !uid || tabledata_find(data, uid) != SIZE_MAX;
}

// "worst first: 1 Error, 34 Running": how many of the rows that are shown there are of each state.
static void add_states(const struct table_view *v, buf *out)
{
    AUTO_BUF summary = {0};
    tabletext_summary_of(table_of(v), is_shown, v->data, &summary);
    const char *states = summary.len ? strstr(buf_cstr(&summary), ": ") : NULL;
    buf_fmt(out, "  worst first%s", states ? states : "");
}

// The rows, as a sheet has them.

static int64_t now_of(const struct table_view *v)
{
    const struct output *o = output_of(v);
    return tabletext_now(table_of(v), o && o->live, bench_now(v->head.bench));
}

static int rows_columns(const void *rows)
{
    return tabledata_columns(((const struct table_view *)rows)->data);
}

static const char *rows_column(const void *rows, int i)
{
    return tabledata_column(((const struct table_view *)rows)->data, i);
}

static void rows_measure(const void *rows, struct table_column *out)
{
    tabledata_measure(((const struct table_view *)rows)->data, out);
}

static bool rows_is_right(const void *rows, int i)
{
    return tabledata_is_right(((const struct table_view *)rows)->data, i);
}

static size_t rows_count(const void *rows)
{
    return tabledata_count(((const struct table_view *)rows)->data);
}

static void rows_entry(const void *rows, size_t row, int i, buf *out)
{
    const struct table_view *v = rows;
    const struct table_row *r = tabledata_at(v->data, row);
    AUTO_BUF words = {0};
    if (!r)
        return;
    tabledata_entry(r, i, r->since && r->since[i] ? now_of(v) : 0, &words);
    buf_add(out, buf_cstr(&words), words.len);
}

static void rows_sort(void *rows, int i, bool reverse)
{
    struct table_view *v = rows;
    tabledata_sort(v->data, i, reverse);
    follow_row(v);
}

static int rows_sorted(const void *rows, bool *reverse)
{
    return tabledata_sorted(((const struct table_view *)rows)->data, reverse);
}

static const struct sheet_ops rows_ops = {.columns = rows_columns,
    .column = rows_column,
    .measure = rows_measure,
    .is_right = rows_is_right,
    .count = rows_count,
    .entry = rows_entry,
    .sort = rows_sort,
    .sorted = rows_sorted};

static struct columns columns_of(struct table_view *v)
{
    const struct output *o = output_of(v);
    const char *title = o ? json_str_or(table_of(v), "title", open_name(o->data)) : "table";
    return (struct columns){&v->head, &v->sheet, &v->scroll, &v->filter, title};
}

static void draw_title(const struct table_view *v, grid *g, rect area)
{
    const struct output *o = output_of(v);
    const char *pattern = filter_text(&v->filter), *note = json_str(table_of(v), "note");
    size_t n = tabledata_count(v->data), total = tabledata_total(v->data);
    bool reverse;
    AUTO_BUF place = {0}, words = {0}, away = {0};
    open_place(v->head.bench, NULL, v->display, &place);
    int x = area.x + 1;
    x += grid_print(g, area, x, area.y, LOOK_BOLD, "%s%s",
        o ? json_str_or(table_of(v), "title", open_name(o->data)) : "gone", buf_cstr(&place));
    if (o && !o->live && !json_bool_or(table_of(v), "still", false))
        x += grid_print(g, area, x, area.y, LOOK_DIM, "  ended");
    if (note)
        bench_away(v->head.bench, false, &away); // its age goes on counting
    if (note)
        x += grid_print(g, area, x, area.y, LOOK_ERROR, "  %s", away.len ? buf_cstr(&away) : note);
    if (marks_count(v->marked))
        x += grid_print(g, area, x, area.y, LOOK_WARN, "  %zu marked", marks_count(v->marked));
    if (*pattern)
        x += grid_print(g, area, x, area.y, LOOK_WARN, "  /%s  %zu of %zu", pattern, n, total);
    else
        buf_fmt(&words, "  %zu row%s", total, total == 1 ? "" : "s");
    if (json_int_or(table_of(v), "more", 0) > 0)
        buf_fmt(&words, " and %lld more", (long long)json_int_or(table_of(v), "more", 0));
    sheet_say_order(&v->sheet, &words);
    if (tabledata_sorted(v->data, &reverse) == TABLE_SICK_FIRST)
        add_states(v, &words);
    sheet_say_columns(&v->sheet, &words);
    if (tabledata_left_columns(v->data))
        buf_fmt(&words, "  and %d columns beyond", tabledata_left_columns(v->data));
    grid_put_short(g, area, x, area.y, area.x + area.w - x, buf_cstr(&words), words.len, LOOK_DIM);
}

// Where the filter matches in an entry that stands whole at x.
static void mark(const void *rows, grid *g, rect area, int x, int y, const char *words)
{
    const struct table_view *v = rows;
    const struct pattern *filter = &tabledata_filtered(v->data)->pattern;
    size_t n = strlen(words), next = 0, length;
    if (filter->turned || pattern_is_empty(filter))
        return;
    for (const char *hit; (hit = pattern_find(filter, words, n, next, &length));) {
        size_t from = (size_t)(hit - words);
        int left = text_width(words, from, 0), w = text_width(hit, length, 0);
        grid_restyle(g, rect_clip((rect){x + left, y, w, 1}, area), look_match);
        next = from + length + !length;
    }
}

static void draw_rows(const struct table_view *v, grid *g, rect body)
{
    for (int y = 0; y < body.h; y++) {
        size_t i = v->scroll.top + (size_t)y;
        const struct table_row *r = tabledata_at(v->data, i);
        if (!r)
            return;
        sheet_draw_row(&v->sheet, g, body, body.y + y, i, mark);
        if (marks_has(v->marked, r->uid)) {
            grid_put(g, grid_area(g), body.x - 1, body.y + y, "*", 1, LOOK_WARN);
            grid_restyle(g, (rect){body.x, body.y + y, body.w, 1}, LOOK_BOLD);
        }
        if (i != v->scroll.at)
            continue;
        grid_restyle(g, (rect){body.x - 1, body.y + y, body.w + 2, 1}, LOOK_SELECTED);
        grid_park_cursor(g, body.x, body.y + y);
    }
}

// The area below the title; and of that, the part below the header.
static rect body_of(rect area)
{
    return (rect){area.x + 1, area.y + 1, area.w - 2, area.h - 1};
}

static rect rows_of(const struct table_view *v, rect body)
{
    return (rect){body.x, body.y + 1, body.w, body.h - 1 - v->filter.typing};
}

static void settle(view *view_, rect area)
{
    struct table_view *v = (struct table_view *)view_;
    rect body = body_of(area);
    sheet_settle(&v->sheet, body.w);
    scroll_fit(&v->scroll, tabledata_count(v->data), rows_of(v, body).h);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct table_view *v = (const struct table_view *)view_;
    rect body = body_of(area), rows = rows_of(v, body);
    draw_title(v, g, area);
    sheet_draw_names(&v->sheet, g, body);
    draw_rows(v, g, rows);
    if (tabledata_count(v->data) == 0)
        grid_print(g, rows, rows.x, rows.y, LOOK_DIM, "%s",
            tabledata_total(v->data) ? "nothing matches; Esc shows all" : "nothing here yet");
    filter_draw(&v->filter, g, (rect){area.x, area.y + area.h - 1, area.w, 1});
}

static bool offers(const struct table_view *v, const char *name)
{
    const cJSON *a;
    cJSON_ArrayForEach(a, json_get(table_of(v), "actions"))
    {
        if (cJSON_IsString(a) && str_eq(a->valuestring, name))
            return true;
    }
    return false;
}

// A display's answer opens above the table, unless the person has left the table meanwhile.
static void on_acted(bench *b, const cJSON *reply)
{
    int64_t peek = json_int_or(reply, "display", 0);
    if (bench_top(b)->ops != &table_view_ops) {
        if (peek)
            remote_drop(b, peek);
        return;
    }
    const cJSON *result = json_get(reply, "result");
    const char *nothing = json_str(reply, "nothing"), *said = json_str(result, "said"),
               *shown = json_str(result, "shown");
    bench_hush(b);
    if (nothing || said)
        bench_say(b, "%s", nothing ? nothing : said);
    else if (json_str(result, "kind") && json_str(result, "name"))
        bench_say(b, "%s %s is made", json_str(result, "kind"), json_str(result, "name"));
    if (shown)
        page_push_peek(b, 0, json_str_or(result, "title", ""), shown);
    const struct output *o = peek ? bench_display(b, peek) : NULL;
    if (o && open_table(o->data))
        table_push_peek(b, peek, cJSON_CreateObject());
    else if (peek)
        page_push_peek(b, peek, json_str_or(reply, "title", ""), json_str(reply, "text"));
}

static bool is_of_all(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(of_all); i++)
        if (str_eq(of_all[i], name))
            return true;
    return false;
}

static void on_all_acted(bench *b, const cJSON *reply)
{
    on_acted(b, reply);
    if (bench_top(b)->ops == &table_view_ops)
        marks_clear(((struct table_view *)bench_top(b))->marked);
}

// The marked rows, else the one with the cursor: an array of uids; NULL: there is none.
static cJSON *chosen_rows(const struct table_view *v)
{
    const struct table_row *r = tabledata_at(v->data, v->scroll.at);
    cJSON *rows = cJSON_CreateArray();
    size_t i = 0;
    for (const char *uid; marks_count(v->marked) && (uid = marks_next(v->marked, &i));)
        cJSON_AddItemToArray(rows, cJSON_CreateString(uid));
    if (!rows->child && r && *r->uid)
        cJSON_AddItemToArray(rows, cJSON_CreateString(r->uid));
    if (rows->child)
        return rows;
    cJSON_Delete(rows);
    return NULL;
}

static void do_to_marked(struct table_view *v, const char *name, const char *words)
{
    bench *b = v->head.bench;
    cJSON *rows = chosen_rows(v);
    bench_say(b, "%s %zu rows …", name, marks_count(v->marked));
    remote_act_all(b, v->display, name, rows, words, on_all_acted);
}

static void do_action(struct table_view *v, const char *name, const char *words)
{
    bench *b = v->head.bench;
    const struct table_row *r = tabledata_at(v->data, v->scroll.at);
    if (!offers(v, name)) {
        bench_say(b, "this table has no %s", name);
    } else if (marks_count(v->marked) && is_of_all(name)) {
        do_to_marked(v, name, words);
    } else if (!r || !*r->uid) {
        bench_say(b, "there is no row for that");
    } else if (remote_ready(b, false)) {
        bench_say(b, "%s %s …", name, r->name);
        remote_act(b, v->display, name, r->uid, words, on_acted);
    }
}

static void show_logs(struct table_view *v, const char *words)
{
    bench *b = v->head.bench;
    cJSON *rows = offers(v, "logs") ? chosen_rows(v) : NULL;
    if (!rows) {
        bench_say(b, offers(v, "logs") ? "there is no row with a log" : "this table has no logs");
        return;
    }
    cJSON *wish = cJSON_CreateObject();
    json_set_int(wish, "display", v->display);
    json_set(wish, "rows", rows);
    json_object_at(wish, "with");
    if (object_logs_options(b, wish, words) == 0)
        object_logs(b, wish);
    else
        cJSON_Delete(wish);
}

// The rows are variables, not objects of a cluster.
static bool has_variables(const struct table_view *v)
{
    return str_eq(json_str(table_of(v), "enter"), "variable");
}

static void edit_row(struct table_view *v)
{
    const struct table_row *r = tabledata_at(v->data, v->scroll.at);
    if (has_variables(v) && r)
        variables_go_to(v->head.bench, r->uid);
    else if (!offers(v, "edit"))
        bench_say(v->head.bench, "this table has nothing to edit");
    else if (r && *r->uid)
        object_edit(v->head.bench, v->display, r->uid);
}

static void shell_in_row(struct table_view *v)
{
    const struct table_row *r = tabledata_at(v->data, v->scroll.at);
    if (!offers(v, "shell"))
        bench_say(v->head.bench, "a shell is opened in a pod: nothing here has pods");
    else if (r && *r->uid)
        object_shell(v->head.bench, v->display, r->uid, on_acted);
}

// A row that is a place: the desk goes there.
static void enter(struct table_view *v, const char *place)
{
    bench *b = v->head.bench;
    const struct table_row *r = tabledata_at(v->data, v->scroll.at);
    AUTO_FREE char *name = mem_strdup(r ? r->name : NULL);
    if (!name)
        return;
    if (str_eq(place, "variable")) {
        variables_enter(b, r->uid);
        return;
    }
    bool below = table_kind(v->head.below) != NULL, is_context = str_eq(place, "context");
    if (v->with)
        view_pop(&v->head);
    (is_context ? desk_use_context : desk_use_namespace)(b, name);
    if (!below)
        desk_open(b, "pods");
}

// Of the names that a key has, the one that the table offers; NULL: it is no such key.
static const char *request_of(const struct table_view *v, enum action a)
{
    const char *first = NULL;
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (actions[i].action != a)
            continue;
        if (offers(v, actions[i].name))
            return actions[i].name;
        first = first ? first : actions[i].name;
    }
    return a == ACT_OPEN ? "describe" : first;
}

// "http://127.0.0.1:8080", in a browser where there is one, and in the clipboard.
static void open_forward(struct table_view *v)
{
    const struct table_row *r = tabledata_at(v->data, v->scroll.at);
    bool secure = r && (str_eq(r->cells[1], "443") || str_eq(r->cells[1], "8443"));
    AUTO_FREE char *url = str_fmt("%s://%s", secure ? "https" : "http", r ? r->name : "");
    if (r)
        bench_browse(v->head.bench, url);
}

// Enter takes all ports that the pod declares.
static void ask_ports(struct table_view *v)
{
    if (!offers(v, "forward"))
        bench_say(v->head.bench, "ports are forwarded to a pod or a Service: nothing here has any");
    else
        prompt_push(v->head.bench, PROMPT_PALETTE, "forward ");
}

static bool act_on_row(struct table_view *v, enum action a)
{
    const char *place = json_str(table_of(v), "enter");
    if (a == ACT_OPEN && place) {
        enter(v, place);
        return true;
    }
    if (a == ACT_EDIT_OBJECT) {
        edit_row(v);
        return true;
    }
    if (a == ACT_SHELL) {
        shell_in_row(v);
        return true;
    }
    if (a == ACT_LOGS || a == ACT_LOG_PREVIOUS || (a == ACT_OPEN && offers(v, "logs"))) {
        show_logs(v, a == ACT_LOG_PREVIOUS ? "--previous" : "");
        return true;
    }
    if (a == ACT_OPEN && offers(v, "stop-forward")) {
        open_forward(v);
        return true;
    }
    if (a == ACT_OPEN && !offers(v, "logs") && !offers(v, "describe") && !offers(v, "revision")) {
        struct columns columns = columns_of(v);
        return columns_act(&columns, ACT_ROW_FORM);
    }
    if (a == ACT_FORWARD) {
        ask_ports(v);
        return true;
    }
    const char *name = request_of(v, a);
    if (name)
        do_action(v, name, NULL);
    return name != NULL;
}

// What is wrong first; once more: as they came.
static void sort_sick(struct table_view *v)
{
    bool reverse, is = tabledata_sorted(v->data, &reverse) == TABLE_SICK_FIRST;
    tabledata_sort(v->data, is ? TABLE_AS_IT_CAME : TABLE_SICK_FIRST, false);
    free(STEAL(v->uid)); // the cursor stays at its place, to see what comes there
    v->scroll.at = 0;
    follow_row(v);
}

static void mark_row(struct table_view *v)
{
    const struct table_row *r = tabledata_at(v->data, v->scroll.at);
    if (!r || !*r->uid)
        return;
    marks_set(v->marked, r->uid, !marks_has(v->marked, r->uid));
    scroll_act(&v->scroll, ACT_ROW_NEXT);
    remember_row(v);
}

static void mark_all(struct table_view *v)
{
    bool any = marks_count(v->marked) > 0;
    marks_clear(v->marked);
    for (size_t i = 0; !any && i < tabledata_count(v->data); i++)
        if (*tabledata_at(v->data, i)->uid)
            marks_set(v->marked, tabledata_at(v->data, i)->uid, true);
}

static void all_namespaces(struct table_view *v)
{
    bool all = json_bool_or(v->with, "all_namespaces", false);
    if (has_variables(v)) {
        variables_turn(v->head.bench);
        return;
    }
    if (!table_kind(&v->head)) {
        bench_say(v->head.bench, "only tables of the desk (:pods) change their namespace");
        return;
    }
    cJSON *with = cJSON_Duplicate(v->with, true);
    json_set_bool(with, "all_namespaces", !all);
    desk_replace(v->head.bench, with);
}

static void refilter(struct table_view *v)
{
    tabledata_filter(v->data, filter_text(&v->filter), now_of(v));
    v->filter.wrong = tabledata_filtered(v->data)->wrong;
    follow_row(v);
}

// The row as it is shown, a tab between two columns.
static void clip(struct table_view *v)
{
    const struct table_row *r = tabledata_at(v->data, v->scroll.at);
    AUTO_BUF row = {0};
    for (int k = 0; r && k < tabledata_columns(v->data); k++)
        buf_fmt(&row, "%s%s", k ? "\t" : "", r->cells[k]);
    bench_clip(v->head.bench, buf_cstr(&row), row.len, "the row");
}

// Those of the marked rows, else of the row, one on a line.
static void copy_names(struct table_view *v)
{
    const struct table_row *r = tabledata_at(v->data, v->scroll.at);
    size_t n = marks_count(v->marked), i = 0;
    AUTO_BUF names = {0};
    for (const char *uid; n && (uid = marks_next(v->marked, &i));) {
        const struct table_row *one = tabledata_row(v->data, uid);
        buf_fmt(&names, "%s%s", names.len ? "\n" : "", one ? one->name : "");
    }
    if (!n && r)
        buf_str(&names, r->name);
    bench_clip(v->head.bench, buf_cstr(&names), names.len, n > 1 ? "the names" : "the name");
}

// What the rows are called: does a person's command fit them?
static bool is_kind(const struct table_view *v, const char *word)
{
    const cJSON *table = table_of(v);
    const char *names[] = {
        json_path_str(table, "about.kind"), json_str(table, "many"), json_str(table, "one")};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (names[i] && strcasecmp(names[i], word) == 0)
            return true;
    return false;
}

static bool fits(const struct table_view *v, const cJSON *kinds)
{
    const cJSON *kind;
    cJSON_ArrayForEach(kind, kinds)
    {
        if (is_kind(v, cJSON_IsString(kind) ? kind->valuestring : ""))
            return true;
    }
    return !kinds;
}

// ":NAME" of a person's own: the kernel asks and records it, and it runs on this terminal.
static void run_own(struct table_view *v, const char *name)
{
    bench *b = v->head.bench;
    const cJSON *command = settings_command(bench_settings(b), name);
    const struct table_row *r = tabledata_at(v->data, v->scroll.at);
    if (!offers(v, "command") || !fits(v, json_get(command, "kinds")))
        bench_say(b, "%s is for other rows", name);
    else if (r && *r->uid)
        object_command(b, v->display, r->uid, json_get(command, "run"));
}

static bool act(view *view_, enum action a)
{
    struct table_view *v = (struct table_view *)view_;
    if (a == ACT_VIEW_NEXT || a == ACT_VIEW_PREVIOUS)
        return open_turn(view_, NULL, v->display, a == ACT_VIEW_NEXT ? 1 : -1);
    struct columns columns = columns_of(v);
    if (columns_act(&columns, a))
        return true;
    if (a == ACT_SICK_FIRST)
        sort_sick(v);
    else if (a == ACT_ALL_NAMESPACES)
        all_namespaces(v);
    else if (a == ACT_MARK_ROW)
        mark_row(v);
    else if (a == ACT_MARK_ALL)
        mark_all(v);
    else if (a == ACT_CLIP)
        clip(v);
    else if (a == ACT_COPY_NAME)
        copy_names(v);
    else if (a == ACT_TABLE_BACK || a == ACT_TABLE_FORWARD)
        desk_turn(view_->bench, a == ACT_TABLE_FORWARD);
    else if (a == ACT_FORWARDS)
        desk_forwards(view_->bench);
    else if (a == ACT_INTERRUPT)
        remote_interrupt(view_->bench);
    else if (!act_on_row(v, a)) {
        bool moved = scroll_act(&v->scroll, a);
        remember_row(v);
        return moved;
    }
    return true;
}

static bool mouse(view *view_, const struct mouse *m)
{
    struct table_view *v = (struct table_view *)view_;
    bool wheels = m->kind == MOUSE_UP || m->kind == MOUSE_DOWN;
    if (!wheels && m->y == 1) {
        struct columns columns = columns_of(v);
        if (m->kind == MOUSE_CLICK)
            columns_point(&columns, m->x - 1);
        return true;
    }
    enum pointed p = scroll_point(&v->scroll, m, 2);
    remember_row(v);
    return p == POINT_OPEN ? act_on_row(v, ACT_OPEN) : p == POINT_MOVED;
}

static void request(view *v, const char *action, const char *words)
{
    struct table_view *t = (struct table_view *)v;
    if (str_eq(action, "logs"))
        show_logs(t, words);
    else if (str_eq(action, "command"))
        run_own(t, words);
    else
        do_action(t, action, *words ? words : NULL);
}

// A key of a person's own command (config.yaml).
static bool type(view *view_, key k)
{
    const char *name = settings_command_key(bench_settings(view_->bench), k);
    if (name)
        own_command(view_->bench, name);
    return name != NULL;
}

static void filtered(view *v)
{
    refilter((struct table_view *)v);
}

// Visible ages grow.
static int wait_ms(const view *view_)
{
    const struct table_view *v = (const struct table_view *)view_;
    const struct output *o = output_of(v);
    return o && o->live && tabledata_ages(v->data) ? TICK_MS : -1;
}

static void hint(const view *view_, buf *out)
{
    const struct table_view *v = (const struct table_view *)view_;
    buf_str(out, "? keys");
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        char keys[24];
        view_keys(view_->bench, view_->ops, MODE_VIEW, actions[i].action, keys, sizeof keys);
        bool elsewhere = actions[i].action == ACT_UNDO_ROLLOUT && !offers(v, "revision");
        if (actions[i].hint && offers(v, actions[i].name) && !elsewhere)
            buf_fmt(out, "  %s %s", keys, actions[i].hint);
    }
    buf_str(out, "  / filter  q back");
}

static void done(view *view_)
{
    struct table_view *v = (struct table_view *)view_;
    if (v->with)
        remote_drop(view_->bench, v->display);
    cJSON_Delete(v->with);
    cJSON_Delete(v->read);
    filter_done(&v->filter);
    sheet_done(&v->sheet);
    tabledata_free(v->data);
    marks_free(v->marked);
    free(v->order);
    free(v->uid);
}

static struct table_view *push(bench *b, int64_t display)
{
    struct table_view *v = view_push(b, &table_view_ops, sizeof *v);
    v->display = display;
    v->data = tabledata_new();
    sheet_init(&v->sheet, &rows_ops, v);
    v->marked = marks_new();
    v->filter.past = bench_past(b);
    load(v);
    const char *hint = json_str(table_of(v), "hint"); // it came before the view
    if (hint)
        bench_complain(b, "%s", hint);
    return v;
}

void table_push(bench *b, int64_t display)
{
    push(b, display);
}

void table_push_peek(bench *b, int64_t display, cJSON *with)
{
    push(b, display)->with = with;
}

void table_replace_peek(view *top, int64_t display, cJSON *with)
{
    bench *b = top->bench;
    struct table_view *old = (struct table_view *)top;
    AUTO_FREE char *filter = mem_strdup(filter_text(&old->filter));
    bool reverse;
    int sorted = tabledata_sorted(old->data, &reverse);
    if (old->order) // its own columns are not there yet
        reverse = old->reverse;
    char *order = old->order    ? STEAL(old->order)
                  : sorted >= 0 ? mem_strdup(tabledata_column(old->data, sorted))
                                : NULL;
    view_pop(top);
    struct table_view *v = push(b, display);
    v->with = with;
    v->order = order;
    v->reverse = reverse;
    if (*filter)
        v->filter.line = line_new(filter);
    if (sorted == TABLE_SICK_FIRST)
        tabledata_sort(v->data, sorted, reverse);
    keep_order(v);
    refilter(v);
}

int64_t table_display(const view *v)
{
    bool is = v && v->ops == &table_view_ops;
    return is ? ((const struct table_view *)v)->display : 0;
}

const char *table_kind(const view *v)
{
    bool is = v && v->ops == &table_view_ops;
    return is ? json_str(((const struct table_view *)v)->with, "kind") : NULL;
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Enter", ACT_OPEN},
    {MODE_VIEW, "l", ACT_LOGS},
    {MODE_VIEW, "p", ACT_LOG_PREVIOUS},
    {MODE_VIEW, "d", ACT_DESCRIBE},
    {MODE_VIEW, "W", ACT_WHY},
    {MODE_VIEW, "y", ACT_YAML},
    {MODE_VIEW, "t", ACT_TREE},
    {MODE_VIEW, "e", ACT_EDIT_OBJECT},
    {MODE_VIEW, "x", ACT_SHELL},
    {MODE_VIEW, "i", ACT_INSIDE},
    {MODE_VIEW, "h", ACT_HISTORY},
    {MODE_VIEW, "u", ACT_UNDO_ROLLOUT},
    {MODE_VIEW, "F", ACT_FORWARD},
    {MODE_VIEW, "f", ACT_FORWARDS},
    {MODE_VIEW, "X", ACT_DECODE},
    {MODE_VIEW, "R", ACT_RESTART_OBJECT},
    {MODE_VIEW, "C-d", ACT_DELETE_OBJECT},
    {MODE_VIEW, "c", ACT_COPY_NAME},
    {MODE_VIEW, "Y", ACT_CLIP},
    {MODE_VIEW, "[", ACT_TABLE_BACK},
    {MODE_VIEW, "]", ACT_TABLE_FORWARD},
    {MODE_VIEW, "w", ACT_SICK_FIRST},
    {MODE_VIEW, "a", ACT_ALL_NAMESPACES},
    {MODE_VIEW, "Space", ACT_MARK_ROW},
    {MODE_VIEW, "*", ACT_MARK_ALL},
    SHEET_KEYS,
    {MODE_VIEW, "C-s", ACT_SAVE_CSV}, // W, as in other tables, says why
    {MODE_VIEW, "Tab", ACT_VIEW_NEXT},
    {MODE_VIEW, "S-Tab", ACT_VIEW_PREVIOUS},
    {MODE_VIEW, "C-c", ACT_INTERRUPT},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops table_view_ops = {.name = "table",
    .keys = &keys,
    .more = &scroll_keys,
    .settle = settle,
    .draw = draw,
    .act = act,
    .request = request,
    .type = type,
    .mouse = mouse,
    .filter = offsetof(struct table_view, filter),
    .filtered = filtered,
    .heard = heard,
    .wait_ms = wait_ms,
    .hint = hint,
    .done = done};
