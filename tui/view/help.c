// SPDX-License-Identifier: MIT
// The keys of the view below, from that view's own tables, in the groups of their actions, and the
// lines that can be typed after ":": so the help is always right. It has two columns if
// there is room; / searches.
#include "base/data/pattern.h"
#include "base/mem.h"
#include "tui/bench/command.h"
#include "tui/bench/views.h"
#include "tui/part/filter.h"
#include "tui/part/scroll.h"

#include <stdio.h>
#include <string.h>

enum { LINES = 160, TWO_COLUMNS = 110 };

// A row is a key or a line, or the heading of those after it.
struct row {
    const char *heading;
    char keys[sizeof(((struct help_line *)0)->keys)];
    const char *words; // what it does
    bool editing;      // a key of edit mode
};
struct help_view {
    view head;
    struct row *rows;
    size_t n;
    struct filter filter;
    struct scroll scroll;
};

static const struct view_ops cells_ops = {.keys = &notebook_keys}, typed_ops = {.keys = &line_keys},
                             time_ops = {.keys = &time_keys};

static size_t view_help(
    const bench *b, const struct view_ops *ops, unsigned mode, struct help_line *lines, size_t max)
{
    const struct keymap *maps[VIEW_MAPS];
    view_maps(b, ops, maps);
    return keymap_help(maps, VIEW_MAPS, mode, lines, max);
}

static void add_row(struct help_view *v, struct row row)
{
    v->rows = mem_resize(v->rows, v->n + 1, sizeof *v->rows);
    v->rows[v->n++] = row;
}

static bool matches(
    const struct pattern *filter, const char *keys, const char *name, const char *help)
{
    AUTO_BUF words = {0};
    buf_fmt(&words, "%s %s %s", keys, name, help);
    return pattern_passes(filter, buf_cstr(&words), words.len);
}

static void add_key(struct help_view *v, const char *keys, const char *words, bool editing)
{
    struct row row = {.words = words, .editing = editing};
    snprintf(row.keys, sizeof row.keys, "%s", keys);
    add_row(v, row);
}

// Groups in the order of their first key; each group's keys stay together.
static void add_groups(
    struct help_view *v, const struct view_ops *ops, unsigned mode, const struct pattern *filter)
{
    struct help_line lines[LINES];
    size_t n = view_help(v->head.bench, ops, mode, lines, LINES);
    bool editing = mode == MODE_EDIT;
    for (size_t i = 0; i < n; i++) {
        const char *group = action_group(lines[i].action);
        size_t before = 0;
        while (before < i && action_group(lines[before].action) != group)
            before++;
        if (before < i)
            continue; // it was added already
        size_t heading = v->n;
        add_row(v, (struct row){.heading = group, .editing = editing});
        for (size_t k = i; k < n; k++)
            if (action_group(lines[k].action) == group &&
                !command_is_early(v->head.bench, lines[k].action) &&
                matches(filter, lines[k].keys, action_name(lines[k].action),
                    action_help(lines[k].action)))
                add_key(v, lines[k].keys, action_help(lines[k].action), editing);
        if (v->n == heading + 1)
            v->n = heading; // no key in it matches
    }
}

static void add_lines(struct help_view *v, const struct pattern *filter)
{
    const char *name, *help;
    size_t heading = v->n;
    add_row(v, (struct row){.heading = "After :"});
    for (size_t i = 0; (name = command_nth(i, &help)); i++) {
        char keys[16];
        snprintf(keys, sizeof keys, ":%s", name);
        if (command_offers(v->head.bench, i) && matches(filter, keys, name, help))
            add_key(v, keys, help, false);
    }
    if (v->n == heading + 1)
        v->n = heading;
}

static void find(struct help_view *v)
{
    const struct view_ops *ops = v->head.below->ops;
    struct pattern filter = {0};
    pattern_set_filter(&filter, filter_text(&v->filter));
    v->n = 0;
    bool cells = ops->keys == &notebook_keys;
    if (bench_replays(v->head.bench))
        add_groups(v, &time_ops, cells ? MODE_COMMAND : MODE_VIEW, &filter);
    add_groups(v, ops, cells ? MODE_COMMAND : MODE_VIEW, &filter);
    if (cells)
        add_groups(v, ops, MODE_EDIT, &filter);
    add_lines(v, &filter);
    pattern_done(&filter);
}

static void draw_row(const struct row *row, grid *g, rect area, int y)
{
    if (row->heading) {
        grid_print(g, area, area.x + 1, y, LOOK_BOLD, "%s%s", row->heading,
            row->editing ? ", while editing" : "");
        return;
    }
    int keys = area.w >= 70 ? 22 : area.w >= 50 ? 18 : 13;
    grid_put_short(g, area, area.x + 2, y, keys - 1, row->keys, strlen(row->keys), LOOK_ACCENT);
    grid_put_short(g, area, area.x + 2 + keys, y, area.w - keys - 2, row->words, strlen(row->words),
        (style){0});
}

// The second column begins with the keys of edit mode; without them it is half of all.
static size_t second_column(const struct help_view *v)
{
    size_t at = 0;
    while (at < v->n && !v->rows[at].editing)
        at++;
    return at && at < v->n ? at : (v->n + 1) / 2;
}

// Number of rows in the longer column.
static size_t column_rows(const struct help_view *v, rect area)
{
    size_t second = second_column(v), rest = v->n - second;
    return area.w < TWO_COLUMNS ? v->n : second > rest ? second : rest;
}

static void settle(view *view_, rect area)
{
    struct help_view *v = (struct help_view *)view_;
    scroll_fit_text(&v->scroll, column_rows(v, area), area.h - 1);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct help_view *v = (const struct help_view *)view_;
    bool two = area.w >= TWO_COLUMNS;
    size_t rows = column_rows(v, area), second = two ? second_column(v) : v->n;
    rect body = {area.x, area.y + 1, two ? area.w / 2 : area.w, area.h - 1};
    rect right = {area.x + body.w, body.y, area.w - body.w, body.h};
    grid_park_cursor(g, body.x + 1, body.y);
    int x =
        grid_print(g, area, area.x + 1, area.y, LOOK_ACCENT, "Keys: %s", v->head.below->ops->name);
    if (*filter_text(&v->filter))
        grid_print(g, area, area.x + x + 2, area.y, LOOK_WARN, " /%s", filter_text(&v->filter));
    if (v->n == 0)
        grid_print(g, body, body.x + 1, body.y, LOOK_DIM, "no key and no line does that");
    for (size_t i = 0; i < (size_t)body.h && v->scroll.top + i < rows; i++) {
        size_t at = v->scroll.top + i;
        if (at < second)
            draw_row(&v->rows[at], g, body, body.y + (int)i);
        if (at + second < v->n)
            draw_row(&v->rows[at + second], g, right, body.y + (int)i);
    }
    filter_draw(&v->filter, g, (rect){area.x, area.y + area.h - 1, area.w, 1});
}

static bool act(view *view_, enum action a)
{
    struct help_view *v = (struct help_view *)view_;
    return scroll_act(&v->scroll, a);
}

static void filtered(view *v)
{
    find((struct help_view *)v);
}

static void done(view *view_)
{
    struct help_view *v = (struct help_view *)view_;
    filter_done(&v->filter);
    free(v->rows);
}

void help_push(bench *b)
{
    struct help_view *v = view_push(b, &help_view_ops, sizeof *v);
    v->filter.past = bench_past(b);
    find(v);
}

static void document(buf *out, const char *title, const struct view_ops *ops, unsigned mode)
{
    struct help_line lines[LINES];
    size_t n = view_help(NULL, ops, mode, lines, LINES);
    buf_fmt(out, "\n### %s\n\n| keys | |\n|---|---|\n", title);
    for (size_t i = 0; i < n; i++) {
        buf_str(out, "| `");
        for (const char *c = lines[i].keys; *c; c++)
            buf_fmt(out, *c == '|' ? "\\%c" : "%c", *c);
        buf_fmt(out, "` | %s |\n", action_help(lines[i].action));
    }
}

// The places where keys work, as the documentation and the palette name them.
static const struct {
    const char *title;
    const struct view_ops *ops;
    unsigned mode;
} places[] = {
    {"Among cells", &cells_ops, MODE_COMMAND},
    {"While editing a cell", &cells_ops, MODE_EDIT},
    {"In a cell's output on the full screen", &page_view_ops, MODE_VIEW},
    {"In a table on the full screen", &table_view_ops, MODE_VIEW},
    {"In the values or the columns of a table", &survey_view_ops, MODE_VIEW},
    {"In a table of a file", &file_view_ops, MODE_VIEW},
    {"In a row as a form", &form_view_ops, MODE_VIEW},
    {"In the list of runs", &runs_view_ops, MODE_VIEW},
    {"When a run is to be removed", &removal_view_ops, MODE_VIEW},
    {"In two runs side by side", &compare_view_ops, MODE_VIEW},
    {"In progress and curves on the full screen", &chart_view_ops, MODE_VIEW},
    {"In the palette and the search", &prompt_view_ops, MODE_VIEW},
    {"In the outline", &outline_view_ops, MODE_VIEW},
    {"When a cell gets or has a letter", &marks_view_ops, MODE_VIEW},
    {"When places are replaced one by one", &replace_view_ops, MODE_VIEW},
    {"When a cell asks", &ask_view_ops, MODE_VIEW},
    {"In the list of names while completing", &complete_view_ops, MODE_VIEW},
    {"In the documentation of a name", &inspect_view_ops, MODE_VIEW},
    {"In the properties of a cell", &properties_view_ops, MODE_VIEW},
    {"When something would be lost", &confirm_view_ops, MODE_VIEW},
    {"When something is unsaved", &leave_view_ops, MODE_VIEW},
    {"When the file has changed", &conflict_view_ops, MODE_VIEW},
    {"In a line that is typed: a filter, an answer", &typed_ops, MODE_LINE},
    {"In a list of notebooks and kernels", &pick_view_ops, MODE_VIEW},
    {"In the help", &help_view_ops, MODE_VIEW},
    {"In a run that has ended", &time_ops, MODE_COMMAND | MODE_VIEW},
};

const char *help_place(const bench *b, enum action a, char *out, size_t size)
{
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        view_keys(b, places[i].ops, places[i].mode, a, out, size);
        if (*out)
            return places[i].title;
    }
    return NULL;
}

void bench_document_keys(buf *out)
{
    const char *name, *help;
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        document(out, places[i].title, places[i].ops, places[i].mode);
    buf_str(out, "\n### After `:`\n\n| line | |\n|---|---|\n");
    for (size_t i = 0; (name = command_nth(i, &help)); i++)
        buf_fmt(out, "| `%s` | %s |\n", name, help);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "/", ACT_FILTER},
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
    .filter = offsetof(struct help_view, filter),
    .filtered = filtered,
    .done = done};
