// SPDX-License-Identifier: MIT
//   digits: 6 trials, the best first by val_accuracy
//   NAME  STATE  TOOK  parameters …  metrics …
//   a chart for each metric with a curve
#include "script/report/html/html_children.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/runs/runs.h"
#include "script/report/html/html_charts.h"
#include "script/report/html/html_text.h"
#include "script/report/html/svg.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 200, COLUMNS = 24 };

struct group {
    const char *of;
    cJSON **rows; // borrowed
    size_t n;
    char **params, **metrics; // names; NULL: none
};

static bool has(char **list, const char *name)
{
    for (; list && *list; list++)
        if (str_eq(*list, name))
            return true;
    return false;
}

static void add_names(char ***list, const cJSON *values)
{
    const cJSON *v;
    cJSON_ArrayForEach(
        v, values) if (!has(*list, v->string) && (!*list || strv_len(*list) < COLUMNS)) *list =
        strv_add(*list, v->string);
}

static void group_done(struct group *g)
{
    free(g->rows);
    strv_free(g->params);
    strv_free(g->metrics);
}

static struct group group_of(const cJSON *all, const char *of)
{
    struct group g = {.of = of};
    cJSON *row;
    g.rows = mem_array((size_t)cJSON_GetArraySize(all) + 1, sizeof *g.rows);
    cJSON_ArrayForEach(row, all)
    {
        if (!str_eq(json_str_or(row, "of", ""), of))
            continue;
        g.rows[g.n++] = row;
        add_names(&g.params, json_get(row, "params"));
        add_names(&g.metrics, json_get(row, "metrics"));
    }
    return g;
}

static bool has_failed(const cJSON *row)
{
    return json_str(row, "error") || str_eq(json_str(row, "state"), "failed");
}

// Moves failed children to the end, since their metrics mean nothing. The others keep their order.
static void put_failed_last(struct group *g)
{
    AUTO_FREE cJSON **ordered = mem_array(g->n + 1, sizeof *ordered);
    size_t n = 0;
    for (int failed = 0; failed <= 1; failed++)
        for (size_t i = 0; i < g->n; i++)
            if (has_failed(g->rows[i]) == failed)
                ordered[n++] = g->rows[i];
    memcpy(g->rows, ordered, n * sizeof *ordered);
}

// Sorts trials, the best first, by the metric and direction that they record.
static const char *put_in_order(struct group *g)
{
    const char *by = g->n ? json_str(g->rows[0], "by") : NULL;
    if (!by)
        return NULL;
    bool most = str_eq(json_str(g->rows[0], "mode"), "max");
    AUTO_FREE char *field = str_fmt("%smetrics.%s", most ? "-" : "", by);
    runs_sort(g->rows, g->n, field);
    put_failed_last(g);
    return by;
}

static void entry(buf *out, const char *tag, bool right, const char *text)
{
    buf_fmt(out, "<%s%s>", tag, right ? " class=\"n\"" : "");
    html_string(out, text);
    buf_fmt(out, "</%s>", tag);
}

static void value(buf *out, const cJSON *v)
{
    AUTO_FREE char *text = html_value(v);
    entry(out, "td", true, text);
}

static void header(buf *out, const struct group *g)
{
    buf_str(out, "<div class=\"wide\"><table><thead><tr><th>name</th><th>state</th>"
                 "<th class=\"n\">took</th>");
    for (char **name = g->params; name && *name; name++)
        entry(out, "th", true, *name);
    for (char **name = g->metrics; name && *name; name++)
        entry(out, "th", true, *name);
    buf_str(out, "</tr></thead>\n<tbody>\n");
}

// Without the run's name before it.
static const char *name_of(const cJSON *row)
{
    const char *run = json_str_or(row, "run", ""), *slash = strchr(run, '/');
    return slash ? slash + 1 : run;
}

static void print_row(buf *out, const struct group *g, const cJSON *row)
{
    AUTO_BUF took = {0};
    const cJSON *seconds = json_get(row, "seconds");
    const char *error = json_str(row, "error");
    if (cJSON_IsNumber(seconds))
        duration_format(&took, clock_of_seconds(seconds->valuedouble));
    AUTO_FREE char *first = mem_strndup(error ? error : "", error ? strcspn(error, "\n") : 0);
    AUTO_FREE char *state =
        str_fmt("%s%s%s", json_str_or(row, "state", ""), error ? ": " : "", first);
    buf_str(out, error ? "<tr class=\"sick\">" : "<tr>");
    entry(out, "td", false, name_of(row));
    entry(out, "td", false, state);
    entry(out, "td", true, buf_cstr(&took));
    for (char **name = g->params; name && *name; name++)
        value(out, json_get(json_get(row, "params"), *name));
    for (char **name = g->metrics; name && *name; name++)
        value(out, json_get(json_get(json_get(row, "metrics"), *name), "value"));
    buf_str(out, "</tr>\n");
}

static void print_curves(buf *out, const fold *f, const struct group *g)
{
    const char *names[SVG_COLOURS];
    cJSON *histories[SVG_COLOURS];
    AUTO_BUF charts = {0};
    size_t n = 0;
    for (; n < g->n && n < SVG_COLOURS; n++) {
        names[n] = name_of(g->rows[n]);
        histories[n] = fold_child_history(f, names[n]);
    }
    html_side_by_side(names, histories, n, &charts);
    for (size_t i = 0; i < n; i++)
        cJSON_Delete(histories[i]);
    if (charts.len)
        buf_fmt(out, "<div class=\"curves\">\n%s</div>\n", buf_cstr(&charts));
}

// Warm-ups do not count.
static size_t count_of(const struct group *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++)
        n += !json_get(json_get(g->rows[i], "tags"), "warm_up");
    return n;
}

static void print_group(buf *out, const fold *f, const cJSON *all, const char *of)
{
    CLEANUP(group_done) struct group g = group_of(all, of);
    const char *by = put_in_order(&g);
    buf_str(out, "<h3>");
    html_string(out, of);
    size_t n = count_of(&g);
    buf_fmt(out, ": %zu %s%s", n, by ? "trial" : "measurement", n == 1 ? "" : "s");
    if (by && g.n > 1) {
        buf_str(out, ", the best first by ");
        html_string(out, by);
    }
    buf_str(out, "</h3>\n");
    header(out, &g);
    for (size_t i = 0; i < g.n && i < ROWS; i++)
        print_row(out, &g, g.rows[i]);
    buf_str(out, "</tbody></table></div>\n");
    if (g.n > ROWS)
        buf_fmt(out,
            "<p class=\"note\">%zu more are not shown; <code>firesteel runs --children</code> "
            "lists them</p>\n",
            g.n - ROWS);
    print_curves(out, f, &g);
}

void html_children(const fold *f, buf *out)
{
    AUTO_JSON *all = fold_children(f);
    char **seen = NULL;
    const cJSON *row;
    cJSON_ArrayForEach(row, all)
    {
        const char *of = json_str_or(row, "of", "");
        if (has(seen, of))
            continue;
        seen = strv_add(seen, of);
        print_group(out, f, all, of);
    }
    strv_free(seen);
}
