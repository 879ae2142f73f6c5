// SPDX-License-Identifier: MIT
// The history of metrics: every value of run.metric, kept as numbers (a run may record millions),
// and a training's epochs.
//   series ─ cell, name ─ points ─ {value, step, wall} …  found by "cell\0child\0branch\0name"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/fold/fold_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_key(buf *key, const struct metric_of *of)
{
    buf_add(key, of->cell, strlen(of->cell) + 1);
    if (of->child)
        buf_str(key, of->child);
    buf_char(key, '\0');
    if (of->branch)
        buf_str(key, of->branch);
    buf_char(key, '\0');
    buf_str(key, of->name);
}

void fold_index_series(fold *f, size_t at)
{
    const struct metric_series *s = &f->series[at];
    AUTO_BUF key = {0};
    if (!f->by_series)
        f->by_series = hashmap_new();
    add_key(&key, &(struct metric_of){s->cell, s->child, s->branch, s->name});
    hashmap_set(f->by_series, key.data, key.len, at);
}

static struct metric_series *series_of(fold *f, const struct metric_of *of)
{
    size_t at;
    AUTO_BUF key = {0};
    add_key(&key, of);
    if (f->by_series && hashmap_get(f->by_series, key.data, key.len, &at))
        return &f->series[at];
    at = f->n_series++;
    f->series = mem_resize(f->series, f->n_series, sizeof *f->series);
    f->series[at] = (struct metric_series){.cell = mem_strdup(of->cell),
        .child = mem_strdup(of->child),
        .branch = mem_strdup(of->branch),
        .name = mem_strdup(of->name)};
    fold_index_series(f, at);
    return &f->series[at];
}

void fold_add_point(fold *f, const struct metric_of *of, struct metric_point point)
{
    struct metric_series *s = series_of(f, of);
    if (s->n == s->cap) {
        s->cap = s->cap ? s->cap + s->cap / 2 : 8;
        s->points = mem_resize(s->points, s->cap, sizeof *s->points);
    }
    s->points[s->n++] = point;
}

void fold_forget_points(fold *f, const char *id)
{
    for (size_t i = 0; i < f->n_series; i++)
        if (!id || str_eq(f->series[i].cell, id)) {
            f->series[i].n = 0;
            f->series[i].age++;
        }
}

void fold_free_points(fold *f)
{
    for (size_t i = 0; i < f->n_series; i++) {
        free(f->series[i].cell);
        free(f->series[i].name);
        free(f->series[i].child);
        free(f->series[i].branch);
        free(f->series[i].points);
    }
    free(f->series);
    hashmap_free(f->by_series);
}

static cJSON *number(double value)
{
    return isnan(value)   ? cJSON_CreateString("nan")
           : isinf(value) ? cJSON_CreateString(value > 0 ? "inf" : "-inf")
                          : cJSON_CreateNumber(value);
}

static void add(cJSON *history, const char *name, cJSON *value, const int64_t *step, int64_t wall)
{
    cJSON *point = cJSON_CreateObject();
    json_set(point, "value", value);
    if (step)
        json_set_int(point, "step", *step);
    json_set_int(point, "wall", wall);
    cJSON_AddItemToArray(json_array_at(history, name), point);
}

static void add_measured(cJSON *history, const cJSON *metrics, const int64_t *step, int64_t wall)
{
    const cJSON *m;
    double ignored;
    cJSON_ArrayForEach(m, metrics) if (json_number(m, &ignored) || cJSON_IsString(m))
        add(history, m->string, cJSON_Duplicate(m, true), step, wall);
}

static void add_training(cJSON *history, const cJSON *shown, int64_t wall)
{
    const cJSON *epoch;
    cJSON_ArrayForEach(epoch, json_get(shown, "history"))
    {
        int64_t step = json_int_or(epoch, "epoch", 0);
        add_measured(history, json_get(epoch, "metrics"), &step, wall);
    }
    add_measured(history, json_get(shown, "evaluated"), NULL, wall);
}

// Of one child, or (NULL) of the run itself.
static cJSON *history_of(const fold *f, const struct fold_child *child)
{
    cJSON *history = cJSON_CreateObject();
    const char *name = child ? child->name : NULL;
    for (size_t i = 0; i < f->n_cells; i++) {
        const struct run_cell *c = &f->cells[i];
        for (size_t k = 0; k < c->n_outputs; k++)
            if (fold_child_of(f, c->id, c->outputs[k].branch) == child)
                add_training(
                    history, json_get(c->outputs[k].data, PROGRESS), c->ended ? c->ended : f->last);
    }
    for (size_t i = 0; i < f->n_series; i++) {
        const struct metric_series *s = &f->series[i];
        for (size_t k = 0; k < s->n && str_eq(s->child, name); k++)
            add(history, s->name, number(s->points[k].value),
                s->points[k].step != METRIC_NO_STEP ? &s->points[k].step : NULL, s->points[k].wall);
    }
    return history;
}

cJSON *fold_history(const fold *f)
{
    return history_of(f, NULL);
}

cJSON *fold_child_history(const fold *f, const char *name)
{
    const struct fold_child *child = fold_child_named(f, name);
    return child ? history_of(f, child) : cJSON_CreateObject();
}

size_t fold_series_count(const fold *f)
{
    return f->n_series;
}

struct fold_series fold_series(const fold *f, size_t i)
{
    const struct metric_series *s = &f->series[i];
    return (struct fold_series){s->name, s->child, s->branch, s->points, s->n, s->age};
}

// The values of a metric in all epochs; without those that do not have it.
static size_t epochs_of(
    const cJSON *epochs, const char *name, int64_t wall, struct metric_point *to)
{
    size_t n = 0;
    const cJSON *epoch;
    cJSON_ArrayForEach(epoch, epochs)
    {
        const cJSON *value = json_get(json_get(epoch, "metrics"), name);
        struct metric_point p = {.step = json_int_or(epoch, "epoch", 0), .wall = wall};
        if (cJSON_IsString(value))
            p.value = strtod(value->valuestring, NULL);
        if (cJSON_IsString(value) || json_number(value, &p.value))
            to[n++] = p;
    }
    return n;
}

static void each_training(const fold *f, const struct run_cell *c, const struct output *o,
    void (*each)(void *arg, const struct fold_shown_series *s), void *arg)
{
    const cJSON *epochs = json_get(json_get(o->data, PROGRESS), "history"), *epoch, *m;
    const struct fold_child *child = fold_child_of(f, c->id, o->branch);
    struct metric_point *points = mem_array((size_t)cJSON_GetArraySize(epochs) + 1, sizeof *points);
    AUTO_JSON *done = cJSON_CreateObject();
    cJSON_ArrayForEach(epoch, epochs)
    {
        cJSON_ArrayForEach(m, json_get(epoch, "metrics"))
        {
            if (json_get(done, m->string))
                continue;
            json_set(done, m->string, cJSON_CreateTrue());
            size_t n = epochs_of(epochs, m->string, c->ended ? c->ended : f->last, points);
            struct fold_series s = {.name = m->string,
                .child = child ? child->name : NULL,
                .branch = child ? NULL : o->branch,
                .points = points,
                .n = n};
            each(arg, &(struct fold_shown_series){s, o->id, o->updates});
        }
    }
    free(points);
}

void fold_trainings(
    const fold *f, void (*each)(void *arg, const struct fold_shown_series *s), void *arg)
{
    for (size_t i = 0; i < f->n_cells; i++)
        for (size_t k = 0; k < f->cells[i].n_outputs; k++)
            if (json_get(f->cells[i].outputs[k].data, PROGRESS))
                each_training(f, &f->cells[i], &f->cells[i].outputs[k], each, arg);
}
