// SPDX-License-Identifier: MIT
// What cells recorded about a run, and what its trainings measured.
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/fold/fold_private.h"

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
    {"pod", "pods"},
};

static const char *list_of(const char *kind)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_eq(kind, kinds[i].kind))
            return kinds[i].list;
    return NULL;
}

// A metric's value; false if it is not a number. JSON has no nan.
static bool number_of(const cJSON *value, double *number)
{
    if (json_number(value, number))
        return true;
    const char *text = cJSON_IsString(value) ? value->valuestring : "";
    if (!str_eq(text, "nan") && !str_eq(text, "inf") && !str_eq(text, "-inf"))
        return false;
    *number = strtod(text, NULL);
    return true;
}

// Counts a metric's value, and keeps the smallest and the largest number.
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

// Sets the step of a metric's value; step NULL: removes it.
static void set_step(cJSON *entry, const cJSON *step)
{
    if (step)
        json_set(entry, "step", cJSON_Duplicate(step, true));
    else
        cJSON_DeleteItemFromObjectCaseSensitive(entry, "step");
}

// Does each cell have its own value in this list?
static bool is_of_cells(const char *list)
{
    static const char *const lists[] = {
        "inputs", "outputs", "images", "versions", "programs", "variables", "objects"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (str_eq(list, lists[i]))
            return true;
    return false;
}

int fold_branch_order(const char *a, const char *b)
{
    size_t at = 0, same = 0; // where the first differing parts begin
    a = a ? a : "";
    b = b ? b : "";
    for (; a[at] && a[at] == b[at]; at++)
        same = a[at] == '/' ? at + 1 : same;
    if (a[at] == b[at])
        return 0;
    if (!a[at] && (b[at] == '/' || at == 0)) // one is a parent of the other
        return 1;
    if (!b[at] && (a[at] == '/' || at == 0))
        return -1;
    AUTO_FREE char *x = mem_strndup(a + same, strcspn(a + same, "/"));
    AUTO_FREE char *y = mem_strndup(b + same, strcspn(b + same, "/"));
    return strverscmp(x, y);
}

// Does this record lose against another branch of the same cell, which has the name already?
static bool yields(const cJSON *r, const cJSON *entry)
{
    return str_eq(json_str(entry, "cell"), json_str_or(r, "cell", "")) &&
           fold_branch_order(json_str(r, "branch"), json_str(entry, "branch")) < 0;
}

static cJSON *record_in(cJSON **recorded, const char *list, const cJSON *r)
{
    const cJSON *value = json_get(r, "value");
    if (!*recorded)
        *recorded = cJSON_CreateObject();
    cJSON *entry = json_object_at(json_object_at(*recorded, list), json_str(r, "name"));
    if (is_of_cells(list) || !yields(r, entry)) {
        json_set_str(entry, "cell", json_str_or(r, "cell", ""));
        cJSON_DeleteItemFromObjectCaseSensitive(entry, "branch");
        json_set_str(entry, "branch", json_str(r, "branch")); // if there is one
        json_set(entry, "value", cJSON_Duplicate(value, true));
        set_step(entry, json_get(r, "step"));
    }
    if (str_eq(list, "metrics"))
        count(entry, value);
    return entry;
}

static void record_of_branch(fold *f, const char *list, const cJSON *r)
{
    if (!f->branches)
        f->branches = cJSON_CreateObject();
    cJSON *of_cell = json_object_at(f->branches, json_str_or(r, "cell", ""));
    cJSON *own = json_object_at(of_cell, json_str(r, "branch"));
    record_in(&own, list, r);
}

static void add_point(fold *f, const cJSON *r, const char *child, double value)
{
    struct metric_point point = {.value = value, .wall = f->last};
    if (!json_int(json_get(r, "step"), &point.step))
        point.step = METRIC_NO_STEP;
    const char *branch = child ? NULL : json_str(r, "branch");
    fold_add_point(f,
        &(struct metric_of){json_str_or(r, "cell", ""), child, branch, json_str(r, "name")}, point);
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
        return err_set(e, ERR_INVALID, "the metric %s is no number", str_short(name, 60).text);
    struct fold_child *child = fold_child_of(f, id, json_str(r, "branch"));
    if (child)
        record_in(&child->recorded, list, r);
    if (is_of_cells(list)) { // the cell depends on it, whichever of its branches recorded it
        cJSON *entry = record_in(&f->recorded, list, r);
        json_set(json_object_at(entry, "cells"), id, cJSON_Duplicate(value, true));
        json_set_int(json_object_at(entry, "at"), id, f->last);
    } else if (!child || str_eq(kind, "environment")) {
        record_in(&f->recorded, list, r);
    }
    if (!child && !is_of_cells(list) && json_str(r, "branch"))
        record_of_branch(f, list, r);
    if (metric)
        add_point(f, r, child ? child->name : NULL, number);
    return 0;
}

void fold_forget_recorded(fold *f, const char *id)
{
    fold_forget_points(f, id);
    fold_forget_children(f, id);
    cJSON_DeleteItemFromObjectCaseSensitive(f->branches, id);
    cJSON *list;
    cJSON_ArrayForEach(list, f->recorded)
    {
        for (cJSON *entry = list->child, *next; entry; entry = next) {
            next = entry->next;
            cJSON *cells = (cJSON *)json_get(entry, "cells");
            cJSON_DeleteItemFromObjectCaseSensitive(cells, id);
            if (cells && cells->child)
                json_set_str(entry, "cell", cells->child->string); // another cell still depends on
                                                                   // it
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

// A training below a cell: its epochs, then its evaluation.
static void add_training(cJSON *metrics, const cJSON *shown)
{
    const cJSON *epoch;
    cJSON_ArrayForEach(epoch, json_get(shown, "history"))
    {
        add_metrics(metrics, json_get(epoch, "metrics"), json_get(epoch, "epoch"));
    }
    add_metrics(metrics, json_get(shown, "evaluated"), NULL);
}

static void drop_teller(cJSON *entry)
{
    cJSON_DeleteItemFromObjectCaseSensitive(entry, "cell");
    cJSON_DeleteItemFromObjectCaseSensitive(entry, "branch");
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
                drop_teller(value);
            json_set(to, entry->string, value);
        }
    }
}

// The trainings below a cell, of the run itself or of a child.
struct trainings {
    const struct output **list;
    size_t n;
};

static int by_branch(const void *a, const void *b)
{
    const struct output *x = *(const struct output *const *)a,
                        *y = *(const struct output *const *)b;
    int order = fold_branch_order(x->branch, y->branch);
    return order ? order : (x > y) - (x < y);
}

static struct trainings trainings_of(
    const fold *f, const struct run_cell *c, const struct fold_child *child)
{
    struct trainings t = {0};
    for (size_t k = 0; k < c->n_outputs; k++) {
        const struct output *o = &c->outputs[k];
        if (!json_get(o->data, PROGRESS) || fold_child_of(f, c->id, o->branch) != child)
            continue;
        if ((t.n & (t.n - 1)) == 0)
            t.list = mem_resize(t.list, t.n ? t.n * 2 : 1, sizeof(struct output *));
        t.list[t.n++] = o;
    }
    if (t.n)
        qsort(t.list, t.n, sizeof *t.list, by_branch);
    return t;
}

static void add_trainings(
    cJSON *metrics, const fold *f, const struct run_cell *c, const struct fold_child *child)
{
    struct trainings t = trainings_of(f, c, child);
    for (size_t k = 0; k < t.n; k++)
        add_training(metrics, json_get(t.list[k]->data, PROGRESS));
    free(t.list);
}

cJSON *fold_results(const fold *f)
{
    cJSON *results = cJSON_CreateObject(), *metrics = json_object_at(results, "metrics");
    for (size_t i = 0; i < f->n_cells; i++)
        add_trainings(metrics, f, &f->cells[i], NULL);
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
    if (in)
        add_trainings(metrics, f, in, c);
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

struct teller fold_teller(const fold *f, const char *list, const char *name)
{
    const cJSON *entry = json_get(json_get(f->recorded, list), name);
    if (entry)
        return (struct teller){json_str(entry, "cell"), json_str(entry, "branch")};
    for (size_t i = str_eq(list, "metrics") ? f->n_cells : 0; i-- > 0;) {
        struct trainings t = trainings_of(f, &f->cells[i], NULL);
        size_t k = t.n;
        while (k > 0 && !has_metric(json_get(t.list[k - 1]->data, PROGRESS), name))
            k--;
        const char *branch = k ? t.list[k - 1]->branch : NULL;
        free(t.list);
        if (k)
            return (struct teller){f->cells[i].id, branch};
    }
    return (struct teller){0};
}

cJSON *fold_branches(const fold *f)
{
    cJSON *all = cJSON_CreateObject();
    const cJSON *of_cell, *of_branch;
    for (size_t i = 0; i < f->n_cells; i++) {
        struct trainings t = trainings_of(f, &f->cells[i], NULL);
        for (size_t k = 0; k < t.n && t.list[k]->branch; k++) {
            cJSON *own = json_object_at(json_object_at(all, f->cells[i].id), t.list[k]->branch);
            add_training(json_object_at(own, "metrics"), json_get(t.list[k]->data, PROGRESS));
        }
        free(t.list);
    }
    cJSON_ArrayForEach(of_cell, f->branches)
    {
        cJSON_ArrayForEach(of_branch, of_cell) add_recorded(
            json_object_at(json_object_at(all, of_cell->string), of_branch->string), of_branch);
    }
    return all;
}

// Adds the members of an object to another, replacing those of the same name.
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
    static const char *const copied[] = {"command", "allow", "seed", "git", "machine", "host",
        "user", "cwd", "path", "from", "sandbox"};
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
