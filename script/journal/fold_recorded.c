// SPDX-License-Identifier: MIT
// What cells recorded of a run, and what its trainings measured.
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/fold_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *kind, *list;
} kinds[] = {
    {"metric", "metrics"},
    {"param", "params"},
    {"tag", "tags"},
    {"artifact", "artifacts"},
    {"input", "inputs"},
    {"output", "outputs"},
    {"image", "images"},
    {"environment", "environment"},
    {"variable", "variables"},
    {"object", "objects"},
    {"version", "versions"},
    {"program", "programs"},
};

static const char *list_of(const char *kind)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_eq(kind, kinds[i].kind))
            return kinds[i].list;
    return NULL;
}

// A metric's value; false if it is no number. JSON has no nan.
static bool number_of(const cJSON *value, double *number)
{
    if (cJSON_IsNumber(value)) {
        *number = value->valuedouble;
        return true;
    }
    const char *text = cJSON_IsString(value) ? value->valuestring : "";
    if (!str_eq(text, "nan") && !str_eq(text, "inf") && !str_eq(text, "-inf"))
        return false;
    *number = strtod(text, NULL);
    return true;
}

// Counts a metric's value, and keeps the smallest and the largest that is a number.
static void count(cJSON *entry, const cJSON *value)
{
    double now, least;
    json_set_int(entry, "n", json_int_or(entry, "n", 0) + 1);
    if (!number_of(value, &now) || isnan(now))
        return;
    static const char *const ends[] = {"min", "max"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (!number_of(json_get(entry, ends[i]), &least) || (i == 0 ? now < least : now > least))
            json_set(entry, ends[i], cJSON_Duplicate(value, true));
}

// The place of a metric's value; NULL: it has none.
static void set_step(cJSON *entry, const cJSON *step)
{
    if (step)
        json_set(entry, "step", cJSON_Duplicate(step, true));
    else
        cJSON_DeleteItemFromObjectCaseSensitive(entry, "step");
}

// Does each cell have a value of its own of it?
static bool is_of_cells(const char *list)
{
    static const char *const lists[] = {
        "inputs", "outputs", "images", "versions", "programs", "variables", "objects"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (str_eq(list, lists[i]))
            return true;
    return false;
}

static cJSON *record_in(cJSON **recorded, const char *list, const cJSON *r)
{
    const cJSON *value = json_get(r, "value");
    if (!*recorded)
        *recorded = cJSON_CreateObject();
    cJSON *entry = json_object_at(json_object_at(*recorded, list), json_str(r, "name"));
    json_set_str(entry, "cell", json_str_or(r, "cell", ""));
    json_set(entry, "value", cJSON_Duplicate(value, true));
    set_step(entry, json_get(r, "step"));
    if (str_eq(list, "metrics"))
        count(entry, value);
    return entry;
}

static void add_point(fold *f, const cJSON *r, const char *child, double value)
{
    struct metric_point point = {.value = value, .wall = f->last};
    point.has_step = json_int(json_get(r, "step"), &point.step);
    fold_add_point(
        f, &(struct metric_of){json_str_or(r, "cell", ""), child, json_str(r, "name")}, point);
}

int fold_record(fold *f, const cJSON *r, err *e)
{
    const char *kind = json_str_or(r, "kind", ""), *list = list_of(kind),
               *name = json_str(r, "name"), *id = json_str_or(r, "cell", "");
    const cJSON *value = json_get(r, "value");
    double number = 0;
    if (str_eq(kind, "child"))
        return fold_add_child(f, r, e);
    if (!list || !name || !value)
        return err_set(e, ERR_INVALID, "something recorded without kind, name or value");
    bool metric = str_eq(list, "metrics");
    if (metric && !number_of(value, &number))
        return err_set(e, ERR_INVALID, "the metric %.60s is no number", name);
    struct fold_child *child = fold_child_of(f, id, json_str(r, "branch"));
    if (child)
        record_in(&child->recorded, list, r);
    if (is_of_cells(list)) { // the cell depends on it, whatever its branches are
        cJSON *entry = record_in(&f->recorded, list, r);
        json_set(json_object_at(entry, "cells"), id, cJSON_Duplicate(value, true));
        json_set_int(json_object_at(entry, "at"), id, f->last);
    } else if (!child || str_eq(kind, "environment")) {
        record_in(&f->recorded, list, r);
    }
    if (metric)
        add_point(f, r, child ? child->name : NULL, number);
    return 0;
}

void fold_forget_recorded(fold *f, const char *id)
{
    fold_forget_points(f, id);
    fold_forget_children(f, id);
    cJSON *list;
    cJSON_ArrayForEach(list, f->recorded)
    {
        for (cJSON *entry = list->child, *next; entry; entry = next) {
            next = entry->next;
            cJSON *cells = (cJSON *)json_get(entry, "cells");
            cJSON_DeleteItemFromObjectCaseSensitive(cells, id);
            if (cells && cells->child)
                json_set_str(entry, "cell", cells->child->string); // it depends on it still
            if (str_eq(json_str(entry, "cell"), id))
                cJSON_Delete(cJSON_DetachItemViaPointer(list, entry));
        }
    }
}

static void add_metrics(cJSON *metrics, const cJSON *measured, const cJSON *epoch)
{
    const cJSON *m;
    cJSON_ArrayForEach(m, measured)
    {
        double number;
        if (!number_of(m, &number))
            continue;
        cJSON *entry = json_object_at(metrics, m->string);
        json_set(entry, "value", cJSON_Duplicate(m, true));
        set_step(entry, epoch);
        count(entry, m);
    }
}

// Of a training below a cell: its epochs, then its evaluation.
static void add_training(cJSON *metrics, const cJSON *shown)
{
    const cJSON *epoch;
    cJSON_ArrayForEach(epoch, json_get(shown, "history"))
    {
        add_metrics(metrics, json_get(epoch, "metrics"), json_get(epoch, "epoch"));
    }
    add_metrics(metrics, json_get(shown, "evaluated"), NULL);
}

static void add_recorded(cJSON *results, const cJSON *recorded)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        cJSON *to = json_object_at(results, kinds[i].list);
        const cJSON *entry;
        cJSON_ArrayForEach(entry, json_get(recorded, kinds[i].list))
        {
            bool metric = str_eq(kinds[i].kind, "metric");
            cJSON *value = cJSON_Duplicate(metric ? entry : json_get(entry, "value"), true);
            if (metric)
                cJSON_DeleteItemFromObjectCaseSensitive(value, "cell");
            json_set(to, entry->string, value);
        }
    }
}

cJSON *fold_results(const fold *f)
{
    cJSON *results = cJSON_CreateObject(), *metrics = json_object_at(results, "metrics");
    for (size_t i = 0; i < f->n_cells; i++)
        for (size_t k = 0; k < f->cells[i].n_outputs; k++)
            if (!fold_child_of(f, f->cells[i].id, f->cells[i].outputs[k].branch))
                add_training(metrics, json_get(f->cells[i].outputs[k].data, PROGRESS));
    json_set(results, "params", fold_params(f));
    static const char *const begun[] = {"environment", "versions"};
    for (size_t i = 0; i < ARRAY_LEN(begun); i++) {
        const cJSON *first = json_get(f->first, begun[i]);
        json_set(results, begun[i], first ? cJSON_Duplicate(first, true) : cJSON_CreateObject());
    }
    add_recorded(results, f->recorded);
    return results;
}

cJSON *fold_child_results(const fold *f, const struct fold_child *c)
{
    static const char *const lists[] = {"params", "metrics", "tags", "artifacts"};
    AUTO_JSON *all = cJSON_CreateObject();
    cJSON *metrics = json_object_at(all, "metrics"), *results = cJSON_CreateObject();
    const struct run_cell *in = fold_find_cell(f, c->cell);
    for (size_t k = 0; in && k < in->n_outputs; k++)
        if (fold_child_of(f, c->cell, in->outputs[k].branch) == c)
            add_training(metrics, json_get(in->outputs[k].data, PROGRESS));
    add_recorded(all, c->recorded);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        json_set(results, lists[i], cJSON_DetachItemFromObjectCaseSensitive(all, lists[i]));
    return results;
}

static bool has_metric(const cJSON *shown, const char *name)
{
    const cJSON *epochs = json_get(shown, "history"), *last = epochs ? epochs->child : NULL;
    last = last ? last->prev : NULL; // of a list's first item: the last one
    return json_get(json_get(last, "metrics"), name) ||
           json_get(json_get(shown, "evaluated"), name);
}

cJSON *fold_depends(const fold *f, const char *id)
{
    static const char *const lists_of[] = {
        "inputs", "images", "versions", "programs", "variables", "objects"};
    cJSON *depends = cJSON_CreateObject();
    for (size_t i = 0; i < ARRAY_LEN(lists_of); i++) {
        cJSON *to = json_object_at(depends, lists_of[i]);
        const cJSON *entry;
        cJSON_ArrayForEach(entry, json_get(f->recorded, lists_of[i]))
        {
            const cJSON *value = json_get(json_get(entry, "cells"), id);
            if (value)
                json_set(to, entry->string, cJSON_Duplicate(value, true));
        }
    }
    return depends;
}

const char *fold_metric_cell(const fold *f, const char *name)
{
    const cJSON *entry = json_get(json_get(f->recorded, "metrics"), name);
    if (entry)
        return json_str(entry, "cell");
    for (size_t i = f->n_cells; i-- > 0;)
        for (size_t k = f->cells[i].n_outputs; k-- > 0;)
            if (!fold_child_of(f, f->cells[i].id, f->cells[i].outputs[k].branch) &&
                has_metric(json_get(f->cells[i].outputs[k].data, PROGRESS), name))
                return f->cells[i].id;
    return NULL;
}

// Adds the members of an object to another; they win.
static void add_members(cJSON *to, const cJSON *from)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, from) json_set(to, member->string, cJSON_Duplicate(member, true));
}

int fold_learn(fold *f, const cJSON *record, err *e)
{
    static const char *const parts[] = {"git", "cluster"};
    if (!f->learned)
        f->learned = cJSON_CreateObject();
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (json_get(record, parts[i]))
            add_members(json_object_at(f->learned, parts[i]), json_get(record, parts[i]));
    return 0;
}

bool fold_uses_images(const fold *f)
{
    return json_get(f->recorded, "images") != NULL;
}

cJSON *fold_origin(const fold *f)
{
    static const char *const copied[] = {
        "command", "allow", "seed", "git", "machine", "host", "cwd", "path", "from", "sandbox"};
    cJSON *origin = cJSON_CreateObject();
    for (size_t i = 0; i < ARRAY_LEN(copied); i++) {
        const cJSON *value = json_get(f->first, copied[i]);
        if (value)
            json_set(origin, copied[i], cJSON_Duplicate(value, true));
    }
    if (json_get(origin, "git"))
        add_members(json_object_at(origin, "git"), json_get(f->learned, "git"));
    static const char *const of_cluster[] = {"context", "namespace", "server", "sandbox"};
    for (size_t i = 0; f->cluster && i < ARRAY_LEN(of_cluster); i++) {
        const cJSON *value = json_get(f->cluster, of_cluster[i]);
        if (value)
            json_set(
                json_object_at(origin, "cluster"), of_cluster[i], cJSON_Duplicate(value, true));
    }
    if (json_get(f->learned, "cluster"))
        add_members(json_object_at(origin, "cluster"), json_get(f->learned, "cluster"));
    return origin;
}
