// SPDX-License-Identifier: MIT
#include "tui/part/curves.h"

#include "base/mem.h"
#include "base/str.h"
#include "tui/grid/plot.h"

#include <math.h>
#include <string.h>

enum { SERIES = 16, CHARTS = 17, GAP = 2, BESIDE = 60, LEAST = 8 };
#define KIND(name) "application/vnd.firesteel." name "+json"

struct chart {
    const char *name; // borrowed from a series, "" of all
    unsigned series;  // bits
};

struct curves {
    struct series series[SERIES];
    size_t n;
    struct chart charts[CHARTS];
    size_t n_charts;
    double *x; // of all series
    size_t n_x;
    const char *x_name;
    char *x_label; // what x_name is, of a plot
    bool whole, is_plot, points;
};

enum { LOOKS = 8 }; // of the series of a plot

void curves_free(curves *c)
{
    for (size_t i = 0; c && i < c->n; i++) {
        free((double *)c->series[i].values);
        free((double *)c->series[i].low);
        free((double *)c->series[i].high);
        free((char *)c->series[i].name);
    }
    if (c) {
        free(c->x);
        free(c->x_label);
    }
    free(c);
}

static double number(const cJSON *v)
{
    double value;
    return json_number(v, &value) ? value : NAN; // JSON writes NaN as null
}

static struct series *add_series(curves *c, const char *name, size_t n, style look)
{
    struct series *s = &c->series[c->n++];
    *s = (struct series){mem_array(n + 1, sizeof(double)), n, look, mem_strdup(name),
        c->x_name || c->is_plot ? c->x : NULL};
    return s;
}

static bool has_series(const curves *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (str_eq(c->series[i].name, name))
            return true;
    return false;
}

// A metric of all epochs, if any has it.
static unsigned add_metric(curves *c, const cJSON *epochs, const char *name, style look)
{
    const cJSON *e;
    size_t i = 0;
    bool any = false;
    cJSON_ArrayForEach(e, epochs)
    {
        any = any || !isnan(number(json_get(json_get(e, "metrics"), name)));
    }
    if (!any || c->n == SERIES || has_series(c, name))
        return 0;
    double *y = (double *)add_series(c, name, c->n_x, look)->values;
    cJSON_ArrayForEach(e, epochs)
    {
        y[i++] = number(json_get(json_get(e, "metrics"), name));
    }
    return 1u << (c->n - 1);
}

// A metric, and what it is on the data that was not trained with.
static void add_pair(curves *c, const cJSON *epochs, const char *name)
{
    AUTO_FREE char *other = str_fmt("val_%s", name);
    unsigned both = add_metric(c, epochs, name, plot_look(0));
    both |= add_metric(c, epochs, other, plot_look(1));
    if (!both)
        return;
    size_t first = 0;
    while (!(both >> first & 1))
        first++;
    c->charts[c->n_charts++] = (struct chart){c->series[first].name, both};
}

static void read_history(curves *c, const cJSON *epochs)
{
    const cJSON *e, *m;
    c->n_x = (size_t)cJSON_GetArraySize(epochs);
    c->x = mem_array(c->n_x + 1, sizeof *c->x);
    c->x_name = "epoch";
    c->whole = true;
    size_t i = 0;
    cJSON_ArrayForEach(e, epochs)
    {
        double at = number(json_get(e, "epoch"));
        c->x[i] = isnan(at) ? (double)i + 1 : at;
        i++;
    }
    add_pair(c, epochs, "loss");
    add_pair(c, epochs, "accuracy");
    cJSON_ArrayForEach(e, epochs)
    {
        cJSON_ArrayForEach(m, json_get(e, "metrics"))
        {
            add_pair(c, epochs, m->string + (str_starts(m->string, "val_") ? 4 : 0));
        }
    }
}

static void read_x(curves *c, const cJSON *plot)
{
    const cJSON *x = json_get(plot, "x"), *s, *v;
    cJSON_ArrayForEach(s, json_get(plot, "series"))
    {
        size_t n = (size_t)cJSON_GetArraySize(json_get(s, "y"));
        c->n_x = n > c->n_x ? n : c->n_x;
    }
    c->x = mem_array(c->n_x + 1, sizeof *c->x);
    for (size_t i = 0; i < c->n_x; i++) // as Lua counts
        c->x[i] = x ? NAN : (double)i + 1;
    c->whole = !x;
    size_t i = 0;
    cJSON_ArrayForEach(v, x)
    {
        if (i < c->n_x)
            c->x[i++] = number(v);
    }
}

// The one end of each value's interval; NULL: the series has none.
static double *read_ends(const cJSON *list, size_t n)
{
    if (!cJSON_IsArray(list))
        return NULL;
    double *ends = mem_array(n + 1, sizeof *ends);
    const cJSON *v = list->child;
    for (size_t i = 0; i < n; i++, v = v ? v->next : NULL)
        ends[i] = number(v);
    return ends;
}

static void read_plot(curves *c, const cJSON *plot)
{
    const cJSON *s, *v;
    c->is_plot = true;
    c->x_name = c->x_label = mem_strdup(json_str(plot, "x_label"));
    c->points = str_eq(json_str(plot, "kind"), "scatter");
    read_x(c, plot);
    c->charts[c->n_charts++] = (struct chart){"", 0};
    cJSON_ArrayForEach(s, json_get(plot, "series"))
    {
        const cJSON *y = json_get(s, "y");
        size_t i = 0;
        if (c->n == LOOKS)
            break;
        struct series *new = add_series(
            c, json_str_or(s, "name", ""), (size_t)cJSON_GetArraySize(y), plot_look(c->n));
        cJSON_ArrayForEach(v, y)
        {
            ((double *)new->values)[i++] = number(v);
        }
        if (cJSON_IsArray(json_get(s, "low")) && cJSON_IsArray(json_get(s, "high"))) {
            new->low = read_ends(json_get(s, "low"), new->n);
            new->high = read_ends(json_get(s, "high"), new->n);
        }
        c->charts[0].series |= 1u << (c->n - 1);
        c->charts[c->n_charts++] = (struct chart){new->name, 1u << (c->n - 1)};
    }
    c->n_charts = c->n == 1 ? 1 : c->n_charts;
}

curves *curves_new(const cJSON *bundle)
{
    const cJSON *plot = json_get(bundle, KIND("plot"));
    const cJSON *epochs = json_get(json_get(bundle, KIND("progress")), "history");
    const char *kind = json_str_or(plot, "kind", "");
    bool bars = str_eq(kind, "bars") || str_eq(kind, "histogram"); // their text draws them
    if (bars || (!plot && cJSON_GetArraySize(epochs) < 2))
        return NULL;
    curves *c = mem_alloc(sizeof *c);
    if (plot)
        read_plot(c, plot);
    else
        read_history(c, epochs);
    if (c->n)
        return c;
    curves_free(c);
    return NULL;
}

size_t curves_count(const curves *c)
{
    return c->n_charts;
}

const char *curves_name(const curves *c, size_t chart)
{
    return c->charts[chart].name;
}

const char *curves_x_name(const curves *c)
{
    return c->x_name;
}

const double *curves_points(const curves *c, size_t *n)
{
    *n = c->n_x;
    return c->x;
}

static void draw_one(
    const curves *c, size_t chart, grid *g, rect area, const struct curves_look *look)
{
    struct series shown[SERIES];
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->charts[chart].series >> i & 1)
            shown[n++] = c->series[i];
    plot_chart(g, area,
        &(struct plot){.series = shown,
            .n = n,
            .from = look->from,
            .to = look->to,
            .at = look->at,
            .x_name = c->x_name,
            .whole = c->whole,
            .log = look->log,
            .ascii = look->ascii,
            .dashes = look->dashes,
            .points = c->points});
}

static int charts_of(const curves *c, int charts)
{
    int all = c->is_plot ? 1 : (int)c->n_charts;
    return charts < all ? charts : all;
}

int curves_below(const curves *c, int columns, int charts)
{
    int n = charts_of(c, charts);
    return columns >= BESIDE ? (n + 1) / 2 : n;
}

void curves_draw(const curves *c, grid *g, rect area, const struct curves_look *look)
{
    if (look->chart >= 0 && (size_t)look->chart < c->n_charts) {
        draw_one(c, (size_t)look->chart, g, area, look);
        return;
    }
    int n = charts_of(c, look->charts), beside = area.w >= BESIDE && n > 1 ? 2 : 1;
    int rows = (n + beside - 1) / beside, most = area.h / LEAST > 0 ? area.h / LEAST : 1;
    rows = rows > most ? most : rows;
    int w = beside == 2 ? (area.w - GAP) / 2 : area.w, h = rows ? area.h / rows : 0;
    for (int i = 0; i < n && i < rows * beside; i++) {
        rect one = {area.x + i % beside * (w + GAP), area.y + i / beside * h, w, h};
        draw_one(c, (size_t)i, g, one, look);
    }
}
