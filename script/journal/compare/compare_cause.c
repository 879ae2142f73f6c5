// SPDX-License-Identifier: MIT
// Finds the change that reaches a metric: follows, from the changed inputs on, what cells recorded
// of their reads and writes, in the order in which the cells ran.
//   parameter lr ──> global lr ──read──> cell "Train" ──writes──> global loss ──> …
// A cell passes every change that has reached it on to everything it writes. Exception: a text, a
// number or a boolean that is the same in both runs passes on nothing. A table that was only read
// may have been changed in place, so it counts as written.
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/compare/compare.h"

#include <stdlib.h>
#include <string.h>

// Sets of changes are objects {text = place}; the smallest place is the earliest.
enum {
    PLACE_SEED = 1,
    PLACE_VERSION,
    PLACE_PARAMETER,
    PLACE_VARIABLE,
    PLACE_FILE,
    PLACE_CELL = 1000
};

struct flow {
    const struct compared *a, *b;
    const notebook *nb_a, *nb_b;
    size_t *partner;     // of b's cells: in a
    cJSON *globals;      // name → set
    cJSON *left;         // left by cells: files (their paths), variables, objects; text → set
    cJSON *leaves;       // id of a cell → these texts
    cJSON *earlier;      // all changes that have reached a cell so far
    cJSON *cells;        // id → set
    bool seed, recorded; // the seeds differ; did the cells record their reads?
};

static void add(cJSON *set, const char *what, const char *name, int64_t place)
{
    AUTO_FREE char *text = str_fmt("%s%s%s", what, *name ? " " : "", name);
    json_set_int(set, text, place);
}

static void merge(cJSON *set, const cJSON *from)
{
    const cJSON *change;
    cJSON_ArrayForEach(change, from) json_set(set, change->string, cJSON_Duplicate(change, true));
}

static const struct run_cell *partner_of(const struct flow *w, size_t i)
{
    size_t k = w->partner[i];
    return k == SIZE_MAX ? NULL : fold_cell_by_id(w->a->fold, notebook_cell(w->nb_a, k)->id, NULL);
}

static void add_source(const struct flow *w, size_t i, cJSON *set)
{
    size_t k = w->partner[i];
    const cell *c = notebook_cell(w->nb_b, i);
    if (k != SIZE_MAX && str_eq(notebook_cell(w->nb_a, k)->source, c->source) &&
        str_eq(notebook_cell(w->nb_a, k)->marker, c->marker))
        return;
    AUTO_FREE char *title = notebook_cell_title(w->nb_b, i);
    AUTO_FREE char *quoted = str_fmt("\"%s\"", title);
    add(set, "cell", quoted, PLACE_CELL + (int64_t)i);
}

static void add_reads(const struct flow *w, const struct run_cell *c, cJSON *set)
{
    const cJSON *name;
    cJSON_ArrayForEach(name, json_get(c->used, "reads"))
        merge(set, json_get(w->globals, name->valuestring));
    if (json_bool_or(c->used, "unknown", false))
        merge(set, w->earlier);
    if (w->seed && json_bool_or(c->used, "random", false))
        add(set, "seed", "", PLACE_SEED);
}

// What the same cell has used in the other run, or else any cell.
static const cJSON *used_then(
    const cJSON *own, const cJSON *all, const char *list, const char *name)
{
    const cJSON *used = json_get(json_get(own, list), name);
    return used ? used : json_get(json_get(all, list), name);
}

// The changes that have reached the cell that left this thing; NULL: no cell left it.
static const cJSON *left_of(
    const struct flow *w, const char *list, const char *what, const char *name)
{
    bool file = str_eq(list, "inputs") || str_eq(list, "programs");
    AUTO_FREE char *path = file ? fold_path(w->b->fold, name) : NULL;
    AUTO_FREE char *text = str_fmt("%s %s", file ? "file" : what, path ? path : name);
    return json_get(w->left, text);
}

// Adds the changes that come with things that an earlier cell left. An object that the run made
// differs in each run, so only the changes of its cell count.
static void add_used(const struct flow *w, size_t i, const struct run_cell *b, cJSON *set)
{
    static const struct {
        const char *list, *what;
        int64_t place;
    } kinds[] = {{"inputs", "file", PLACE_FILE}, {"images", "image", PLACE_FILE},
        {"variables", "variable", PLACE_VARIABLE}, {"objects", "object", PLACE_FILE},
        {"versions", "version of", PLACE_VERSION}, {"programs", "program", PLACE_VERSION}};
    const struct run_cell *a = partner_of(w, i);
    AUTO_JSON *all_a = fold_results(w->a->fold);
    AUTO_JSON *own_a = a ? fold_depends(w->a->fold, a->id) : NULL;
    AUTO_JSON *now = fold_depends(w->b->fold, b->id);
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        const cJSON *used;
        cJSON_ArrayForEach(used, json_get(now, kinds[k].list))
        {
            const cJSON *was = used_then(own_a, all_a, kinds[k].list, used->string);
            const cJSON *left = left_of(w, kinds[k].list, kinds[k].what, used->string);
            bool object = left && str_eq(kinds[k].list, "objects");
            if (was && json_equal(was, used) && !object)
                continue;
            if (left)
                merge(set, left);
            else
                add(set, kinds[k].what, used->string, kinds[k].place);
        }
    }
}

static void pass_on(struct flow *w, const char *name, const cJSON *set)
{
    if (set->child)
        json_set(w->globals, name, cJSON_Duplicate(set, true));
    else
        cJSON_DeleteItemFromObjectCaseSensitive(w->globals, name);
}

static void pass_on_all(struct flow *w, size_t i, const struct run_cell *c, const cJSON *set)
{
    const struct run_cell *was = partner_of(w, i);
    const cJSON *written, *name, *then = was ? json_get(was->used, "writes") : NULL;
    const cell *source = notebook_cell(w->nb_b, i);
    if (cell_has_tag(source, "parameters") || cell_has_tag(source, "injected-parameters"))
        return; // changes of the parameters themselves are there already
    static const cJSON nothing;
    cJSON_ArrayForEach(written, json_get(c->used, "writes"))
    {
        const char *before = json_str_or(then, written->string, "");
        bool same = *before && str_eq(before, written->valuestring);
        pass_on(w, written->string, same ? &nothing : set);
    }
    cJSON_ArrayForEach(name, json_get(c->used, "touched"))
    {
        if (set->child)
            merge(json_object_at(w->globals, name->valuestring), set);
    }
    cJSON_ArrayForEach(name, json_get(w->leaves, c->id))
        json_set(w->left, name->valuestring, cJSON_Duplicate(set, true));
}

static void follow(struct flow *w, size_t i, const struct run_cell *c)
{
    cJSON *set = json_object_at(w->cells, c->id);
    if (!cell_has_tag(notebook_cell(w->nb_b, i), "injected-parameters"))
        add_source(w, i, set);
    add_reads(w, c, set);
    add_used(w, i, c, set);
    pass_on_all(w, i, c, set);
    merge(w->earlier, set);
}

struct ran {
    const struct run_cell *cell;
    size_t at;
};

static int by_count(const void *a, const void *b)
{
    const struct run_cell *x = ((const struct ran *)a)->cell, *y = ((const struct ran *)b)->cell;
    return (x->count > y->count) - (x->count < y->count);
}

// The cells of b, in the order in which they ran.
static void follow_all(struct flow *w)
{
    size_t n = 0, all = notebook_count(w->nb_b);
    AUTO_FREE struct ran *ran = mem_array(all + 1, sizeof *ran);
    for (size_t i = 0; i < all; i++) {
        const struct run_cell *c = fold_cell_by_id(w->b->fold, notebook_cell(w->nb_b, i)->id, NULL);
        if (c && c->started && notebook_cell(w->nb_b, i)->kind == CELL_CODE)
            ran[n++] = (struct ran){c, i};
    }
    qsort(ran, n, sizeof *ran, by_count);
    for (size_t i = 0; i < n; i++) {
        w->recorded |= ran[i].cell->used != NULL;
        follow(w, ran[i].at, ran[i].cell);
    }
}

// The earliest of a set, NULL for an empty one; borrowed.
static const char *earliest(const cJSON *set)
{
    const cJSON *change, *first = NULL;
    cJSON_ArrayForEach(change,
        set) if (!first || json_int_or(set, change->string, 0) < json_int_or(set, first->string, 0))
        first = change;
    return first ? first->string : NULL;
}

// id: the cell that recorded the metric.
static cJSON *cause_of(const struct flow *w, const char *id)
{
    const cJSON *set = id ? json_get(w->cells, id) : NULL, *change;
    cJSON *cause = cJSON_CreateObject();
    size_t i;
    if (id && notebook_find(w->nb_b, id, &i)) {
        AUTO_FREE char *title = notebook_cell_title(w->nb_b, i);
        json_set_str(cause, "cell", title);
    }
    if (!w->recorded && !(set && set->child))
        json_set_str(cause, "unknown", "the cells of this run recorded no reads");
    else
        json_set_str(cause, "earliest", earliest(set));
    cJSON *all = json_array_at(cause, "all");
    cJSON_ArrayForEach(change, set) cJSON_AddItemToArray(all, cJSON_CreateString(change->string));
    return cause;
}

cJSON *compare_causes(const struct compared *a, const struct compared *b, const cJSON *difference)
{
    struct flow w = {.a = a,
        .b = b,
        .nb_a = fold_notebook(a->fold),
        .nb_b = fold_notebook(b->fold),
        .globals = cJSON_CreateObject(),
        .left = cJSON_CreateObject(),
        .leaves = fold_left_by_cells(b->fold),
        .earlier = cJSON_CreateObject(),
        .cells = cJSON_CreateObject(),
        .seed = json_path(difference, "origin.seed") != NULL};
    const cJSON *m;
    w.partner = compare_match(w.nb_b, w.nb_a);
    cJSON_ArrayForEach(m, json_get(difference, "params"))
        add(json_object_at(w.globals, m->string), "parameter", m->string, PLACE_PARAMETER);
    follow_all(&w);
    cJSON *causes = cJSON_CreateObject();
    AUTO_FREE size_t *partner = compare_match(w.nb_a, w.nb_b);
    AUTO_JSON *told =
        compare_recorded(&(struct paired){a->fold, b->fold, partner}, b->fold, "metrics");
    cJSON_ArrayForEach(m, json_get(difference, "metrics")) if (json_get(m, "b"))
        json_set(causes, m->string, cause_of(&w, json_str(json_get(told, m->string), "cell")));
    free(w.partner);
    cJSON_Delete(w.globals);
    cJSON_Delete(w.left);
    cJSON_Delete(w.leaves);
    cJSON_Delete(w.earlier);
    cJSON_Delete(w.cells);
    return causes;
}
