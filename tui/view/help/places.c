// SPDX-License-Identifier: MIT
#include "tui/view/help/places.h"

#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/command.h"
#include "tui/bench/views.h"
#include "tui/view/help/tasks.h"

static const struct view_ops cells_ops = {.name = "notebook", .keys = &notebook_keys},
                             typed_ops = {.name = "line", .keys = &line_keys},
                             time_ops = {.name = "time", .keys = &time_keys};

static const struct help_place places[] = {
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
    {"In the table of several runs", &beside_view_ops, MODE_VIEW},
    {"In the chart of metrics", &metrics_view_ops, MODE_VIEW},
    {"In the list of what a chart shows", &choose_view_ops, MODE_VIEW},
    {"In progress and curves on the full screen", &chart_view_ops, MODE_VIEW},
    {"In the palette and the search", &prompt_view_ops, MODE_VIEW},
    {"In the outline", &outline_view_ops, MODE_VIEW},
    {"In the list of problems", &problem_view_ops, MODE_VIEW},
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

const struct help_place *help_place_nth(size_t i)
{
    return i < ARRAY_LEN(places) ? &places[i] : NULL;
}

size_t help_keys(
    const bench *b, const struct view_ops *ops, unsigned mode, struct help_line *lines, size_t max)
{
    const struct keymap *maps[VIEW_MAPS];
    view_maps(b, ops, maps);
    return keymap_help(maps, VIEW_MAPS, mode, lines, max);
}

void help_keys_of(const bench *b, const char *name, enum action a, char *out, size_t size)
{
    *out = '\0';
    for (size_t i = 0; i < ARRAY_LEN(places) && !*out; i++)
        if (!name || str_eq(places[i].ops->name, name))
            view_keys(b, places[i].ops, places[i].mode, a, out, size);
}

const char *help_place(const bench *b, enum action a, char *out, size_t size)
{
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        view_keys(b, places[i].ops, places[i].mode, a, out, size);
        if (*out)
            return places[i].title;
    }
    return NULL;
}

static void document(buf *out, const struct help_place *place)
{
    struct help_line lines[HELP_LINES];
    size_t n = help_keys(NULL, place->ops, place->mode, lines, HELP_LINES);
    buf_fmt(out, "\n### %s\n\n| keys | |\n|---|---|\n", place->title);
    for (size_t i = 0; i < n; i++) {
        buf_str(out, "| `");
        for (const char *c = lines[i].keys; *c; c++)
            buf_fmt(out, *c == '|' ? "\\%c" : "%c", *c);
        buf_fmt(out, "` | %s |\n", action_help(lines[i].action));
    }
}

void bench_document_keys(buf *out)
{
    const char *name, *help;
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        document(out, &places[i]);
    buf_str(out, "\n### After `:`\n\n| line | |\n|---|---|\n");
    for (size_t i = 0; (name = command_nth(i, &help)); i++)
        buf_fmt(out, "| `%s` | %s |\n", name, help);
    buf_str(out, "\n### By task\n\n| to | |\n|---|---|\n");
    for (size_t i = 0; (name = task_nth(i)); i++) {
        buf_fmt(out, "| %s | ", name);
        task_text(NULL, i, out);
        buf_str(out, " |\n");
    }
}
