// SPDX-License-Identifier: MIT
#include "script/report/html/html_charts.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/report/html/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A metric's value in a history: JSON has no nan.
double html_number(const cJSON *value)
{
    double number;
    return json_number(value, &number) ? number
           : cJSON_IsString(value)     ? strtod(value->valuestring, NULL)
                                       : NAN;
}

char *html_value(const cJSON *value)
{
    return cJSON_IsString(value)   ? mem_strdup(value->valuestring)
           : cJSON_IsNumber(value) ? str_fmt("%.10g", value->valuedouble)
           : value                 ? json_to_str(value)
                                   : mem_strdup("");
}

struct curves {
    struct svg_series *list;
    size_t n;
    const char **labels; // NULL: none
};

static double *numbers(const cJSON *list, size_t n)
{
    double *to = mem_array(n + 1, sizeof *to);
    size_t i = 0;
    const cJSON *v;
    cJSON_ArrayForEach(v, list) if (i < n) to[i++] = html_number(v);
    while (i < n)
        to[i++] = NAN;
    return to;
}

static double *places(size_t n)
{
    double *to = mem_array(n + 1, sizeof *to);
    for (size_t i = 0; i < n; i++)
        to[i] = (double)i + 1;
    return to;
}

static struct svg_series *more(struct curves *c, const char *name, size_t n)
{
    c->list = mem_resize(c->list, c->n + 1, sizeof *c->list);
    struct svg_series *s = &c->list[c->n++];
    *s = (struct svg_series){.name = name, .n = n};
    return s;
}

static void curves_done(struct curves *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free((void *)c->list[i].x);
        free((void *)c->list[i].y);
        free((void *)c->list[i].low);
        free((void *)c->list[i].high);
    }
    free(c->list);
    free(c->labels);
}

static enum svg_kind kind_of(const char *name)
{
    return str_eq(name, "bar") || str_eq(name, "bars") || str_eq(name, "histogram") ? SVG_BARS
           : str_eq(name, "scatter") || str_eq(name, "points")                      ? SVG_POINTS
                                                                                    : SVG_LINE;
}

// Labels that are words stand below the bars.
static const char **labels_of(const cJSON *x)
{
    if (!x || !cJSON_IsString(x->child))
        return NULL;
    const char **labels = mem_array((size_t)cJSON_GetArraySize(x) + 1, sizeof *labels);
    size_t i = 0;
    const cJSON *v;
    cJSON_ArrayForEach(v, x) labels[i++] = cJSON_IsString(v) ? v->valuestring : "";
    return labels;
}

// A histogram lists the bounds of its bins; a bar stands in the middle of its bin.
static void to_middles(double *x, size_t n)
{
    double half = n > 1 ? (x[1] - x[0]) / 2 : 0;
    for (size_t i = 0; i < n; i++)
        x[i] += half;
}

static void add_series(struct curves *c, const cJSON *p)
{
    const cJSON *s, *shared = json_get(p, "x");
    c->labels = labels_of(shared);
    size_t least = c->labels ? (size_t)cJSON_GetArraySize(shared) : SIZE_MAX;
    cJSON_ArrayForEach(s, json_get(p, "series"))
    {
        const cJSON *y = json_get(s, "y"), *x = json_get(s, "x");
        size_t n = (size_t)cJSON_GetArraySize(y);
        struct svg_series *to = more(c, json_str_or(s, "name", ""), n < least ? n : least);
        x = x ? x : shared;
        double *at = x && !c->labels ? numbers(x, n) : places(n);
        if (str_eq(json_str(p, "kind"), "histogram"))
            to_middles(at, n);
        to->x = at;
        to->y = numbers(y, n);
        if (json_get(s, "low") && json_get(s, "high")) {
            to->low = numbers(json_get(s, "low"), n);
            to->high = numbers(json_get(s, "high"), n);
        }
    }
}

// Borrowed from both.
static struct svg_chart chart_of(const cJSON *p, const struct curves *c)
{
    return (struct svg_chart){.title = json_str(p, "title"),
        .x_label = json_str(p, "x_label"),
        .y_label = json_str(p, "y_label"),
        .kind = kind_of(json_str_or(p, "kind", "")),
        .labels = c->n ? c->labels : NULL,
        .series = c->list,
        .n = c->n};
}

void html_plot(const cJSON *p, buf *out)
{
    CLEANUP(curves_done) struct curves c = {0};
    add_series(&c, p);
    struct svg_chart chart = chart_of(p, &c);
    svg_chart(&chart, out);
}

bool html_plot_image(const cJSON *p, buf *out)
{
    CLEANUP(curves_done) struct curves c = {0};
    add_series(&c, p);
    struct svg_chart chart = chart_of(p, &c);
    return svg_image(&chart, out);
}

static double place_of(const cJSON *point, double otherwise)
{
    return json_get(point, "step") ? (double)json_int_or(point, "step", 0) : otherwise;
}

// If several trainings reported a metric, each of them gets its own line.
static void add_curves(struct curves *c, const char *name, const cJSON *points)
{
    struct svg_series *s = NULL;
    double *x = NULL, *y = NULL, last = 0;
    size_t most = (size_t)cJSON_GetArraySize(points);
    const cJSON *p;
    cJSON_ArrayForEach(p, points)
    {
        double at = place_of(p, s ? last + 1 : 1);
        if (!s || at <= last) {
            s = more(c, name, 0);
            s->x = x = mem_array(most + 1, sizeof *x);
            s->y = y = mem_array(most + 1, sizeof *y);
        }
        x[s->n] = last = at;
        y[s->n++] = html_number(json_get(p, "value"));
        most--;
    }
}

// Values of an evaluation have no step, so they are not part of a curve.
static cJSON *stepped(const cJSON *history)
{
    cJSON *all = cJSON_CreateObject();
    const cJSON *points, *p;
    cJSON_ArrayForEach(points, history)
    {
        bool any = false;
        cJSON_ArrayForEach(p, points) any = any || json_get(p, "step");
        cJSON *list = cJSON_CreateArray();
        cJSON_ArrayForEach(p, points) if (!any || json_get(p, "step"))
            cJSON_AddItemToArray(list, cJSON_Duplicate(p, true));
        cJSON_AddItemToObject(all, points->string, list);
    }
    return all;
}

void html_curves(const cJSON *history, buf *out)
{
    AUTO_JSON *all = stepped(history);
    const cJSON *points;
    cJSON_ArrayForEach(points, all)
    {
        CLEANUP(curves_done) struct curves c = {0};
        const char *base = str_starts(points->string, "val_") ? points->string + 4 : NULL;
        if (cJSON_GetArraySize(points) < 2 || (base && json_get(all, base)))
            continue;
        AUTO_FREE char *twin = str_fmt("val_%s", points->string);
        add_curves(&c, points->string, points);
        add_curves(&c, twin, json_get(all, twin));
        svg_chart(&(struct svg_chart){.title = points->string, .series = c.list, .n = c.n}, out);
    }
}

void html_side_by_side(const char *const *names, cJSON *const *histories, size_t n, buf *out)
{
    AUTO_JSON *metrics = cJSON_CreateObject(); // by name the history of each that has a curve
    const cJSON *points, *one;
    for (size_t i = 0; i < n; i++) {
        cJSON *all = stepped(histories[i]);
        while (all->child) {
            cJSON *list = cJSON_DetachItemViaPointer(all, all->child);
            cJSON *curve = cJSON_CreateObject();
            bool drawn = cJSON_GetArraySize(list) > 1;
            AUTO_FREE char *metric = mem_strdup(list->string);
            json_set(curve, names[i], list);
            if (drawn)
                cJSON_AddItemToArray(json_array_at(metrics, metric), curve);
            else
                cJSON_Delete(curve);
        }
        cJSON_Delete(all);
    }
    cJSON_ArrayForEach(points, metrics)
    {
        CLEANUP(curves_done) struct curves c = {0};
        cJSON_ArrayForEach(one, points) add_curves(&c, one->child->string, one->child);
        svg_chart(&(struct svg_chart){.title = points->string, .series = c.list, .n = c.n}, out);
    }
}

// The epochs of a training in the form that fold_history has.
static cJSON *history_of(const cJSON *shown)
{
    cJSON *history = cJSON_CreateObject();
    const cJSON *epoch, *m;
    cJSON_ArrayForEach(epoch, json_get(shown, "history"))
    {
        cJSON_ArrayForEach(m, json_get(epoch, "metrics"))
        {
            cJSON *point = cJSON_CreateObject();
            json_set_int(point, "step", json_int_or(epoch, "epoch", 0));
            json_set(point, "value", cJSON_Duplicate(m, true));
            cJSON_AddItemToArray(json_array_at(history, m->string), point);
        }
    }
    return history;
}

void html_training(const cJSON *shown, buf *out)
{
    AUTO_JSON *history = history_of(shown);
    html_curves(history, out);
}
