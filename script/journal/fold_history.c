// SPDX-License-Identifier: MIT
// How metrics moved: every value that run.metric told, kept as numbers (a run may tell millions),
// and a training's epochs.
//
//   series ─ cell, name ─ points ─ {value, step, wall} …      found by "cell\0name"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/fold_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *key_of(const char *id, const char *name, size_t *n)
{
    AUTO_BUF key = {0};
    buf_add(&key, id, strlen(id) + 1);
    buf_str(&key, name);
    *n = key.len;
    return buf_take(&key);
}

static struct metric_series *series_of(fold *f, const char *id, const char *name)
{
    size_t n, at;
    AUTO_FREE char *key = key_of(id, name, &n);
    if (!f->by_series)
        f->by_series = hashmap_new();
    if (hashmap_get(f->by_series, key, n, &at))
        return &f->series[at];
    hashmap_set(f->by_series, key, n, f->n_series);
    f->series = mem_resize(f->series, f->n_series + 1, sizeof *f->series);
    struct metric_series *s = &f->series[f->n_series++];
    *s = (struct metric_series){.cell = mem_strdup(id), .name = mem_strdup(name)};
    return s;
}

void fold_add_point(fold *f, const char *id, const char *name, struct metric_point point)
{
    struct metric_series *s = series_of(f, id, name);
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 8;
        s->points = mem_resize(s->points, s->cap, sizeof *s->points);
    }
    s->points[s->n++] = point;
}

void fold_forget_points(fold *f, const char *id)
{
    for (size_t i = 0; i < f->n_series; i++)
        if (!id || str_eq(f->series[i].cell, id))
            f->series[i].n = 0;
}

void fold_free_points(fold *f)
{
    for (size_t i = 0; i < f->n_series; i++) {
        free(f->series[i].cell);
        free(f->series[i].name);
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
    cJSON_ArrayForEach(m, metrics) if (cJSON_IsNumber(m) || cJSON_IsString(m))
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

cJSON *fold_history(const fold *f)
{
    cJSON *history = cJSON_CreateObject();
    for (size_t i = 0; i < f->n_cells; i++) {
        const struct run_cell *c = &f->cells[i];
        for (size_t k = 0; k < c->n_outputs; k++)
            add_training(
                history, json_get(c->outputs[k].data, PROGRESS), c->ended ? c->ended : f->last);
    }
    for (size_t i = 0; i < f->n_series; i++) {
        const struct metric_series *s = &f->series[i];
        for (size_t k = 0; k < s->n; k++)
            add(history, s->name, number(s->points[k].value),
                s->points[k].has_step ? &s->points[k].step : NULL, s->points[k].wall);
    }
    return history;
}
