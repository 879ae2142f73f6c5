// SPDX-License-Identifier: MIT
#include "script/journal/stale/stale.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/journal/fold/fold_private.h"

#include <stdlib.h>
#include <string.h>

// Goes through the cells in the order in which they ran. What a stale cell has written makes its
// readers stale, until a cell that is not stale writes it again.
struct left {
    const struct run_cell *cell;
    char *path, *sha256; // NULL: it has no digest
};
struct search {
    const fold *fold;
    struct left *left; // the files that cells have left
    size_t n_left;
    cJSON *leaves; // {id: what the cell has left, "variable LR", "object Job x"…}
    const struct stale_now *now;
    cJSON *found;
    // {name, or path: id of the stale cell that has written it}
    cJSON *globals, *fields, *files, *things;
    const char *any;    // a stale cell whose writes are not known
    const char *random; // a stale cell that used math.random
    const char *first;  // the first stale cell
};

static int by_end(const void *a, const void *b)
{
    const struct run_cell *const *x = a, *const *y = b;
    return ((*x)->ran > (*y)->ran) - ((*x)->ran < (*y)->ran);
}

// As if they had run from the top.
static int by_place(const void *a, const void *b)
{
    const struct run_cell *const *x = a, *const *y = b;
    return (*x > *y) - (*x < *y);
}

static void tell(struct search *s, const char *id, const char *by, const char *why)
{
    cJSON *one = json_object_at(s->found, id);
    json_set_str(one, "why", why);
    json_set_str(one, "by", by);
}

static void tell_by(struct search *s, const char *id, const char *by)
{
    const notebook *nb = fold_notebook(s->fold);
    AUTO_BUF name = {0};
    size_t i;
    const char *title = nb && notebook_find(nb, by, &i) ? notebook_cell(nb, i)->title : NULL;
    if (title)
        buf_str(&name, title);
    else if (nb && notebook_find(nb, by, &i))
        notebook_cell_name(nb, i, &name);
    AUTO_FREE char *why = str_fmt("%s is stale", name.len ? buf_cstr(&name) : "an earlier cell");
    tell(s, id, by, why);
}

static const char *const lists_of_files[] = {"inputs", "programs"};

// A stale cell that wrote a file which this cell has read, or written: then the stale cell will
// overwrite it.
static const char *file_giver(const struct search *s, const struct run_cell *c)
{
    const cJSON *entry;
    const char *by = NULL;
    for (size_t i = 0; i < s->n_left && !by; i++)
        if (s->left[i].cell == c)
            by = json_str(s->files, s->left[i].path);
    for (size_t k = 0; k < ARRAY_LEN(lists_of_files) && s->files->child; k++)
        cJSON_ArrayForEach(entry, json_get(s->fold->recorded, lists_of_files[k]))
        {
            if (by || !json_get(json_get(entry, "cells"), c->id))
                continue;
            AUTO_FREE char *path = fold_path(s->fold, entry->string);
            by = json_str(s->files, path);
        }
    return by;
}

// A stale cell that set an environment variable, or made an object, that this cell has read.
static const char *thing_giver(const struct search *s, const struct run_cell *c)
{
    static const struct {
        const char *list, *what;
    } kinds[] = {{"variables", "variable"}, {"objects", "object"}};
    const cJSON *entry;
    const char *by = NULL;
    for (size_t k = 0; k < ARRAY_LEN(kinds) && s->things->child; k++)
        cJSON_ArrayForEach(entry, json_get(s->fold->recorded, kinds[k].list))
        {
            if (by || !json_get(json_get(entry, "cells"), c->id))
                continue;
            AUTO_FREE char *text = str_fmt("%s %s", kinds[k].what, entry->string);
            by = json_str(s->things, text);
        }
    return by;
}

// The stale cell whose results this one uses; NULL: none.
static const char *giver(const struct search *s, const struct run_cell *c)
{
    const cJSON *name;
    const char *by = NULL;
    if (json_bool_or(c->used, "unknown", false))
        by = s->first;
    if (!by && json_bool_or(c->used, "random", false))
        by = s->random;
    cJSON_ArrayForEach(name, json_get(c->used, "reads"))
    {
        if (!by && s->any)
            by = s->any;
        if (!by && cJSON_IsString(name))
            by = json_str(s->globals, name->valuestring);
    }
    for (const cJSON *field = s->fields->child; field && !by; field = field->next)
        if (fold_uses_field(s->fold, c, field->string))
            by = field->valuestring;
    if (!by)
        by = file_giver(s, c);
    if (!by)
        by = thing_giver(s, c);
    return by && !str_eq(by, c->id) ? by : NULL;
}

static const char *moved_parameter(const struct search *s, const struct run_cell *c)
{
    const cJSON *name;
    cJSON_ArrayForEach(name, json_get(c->used, "reads"))
    {
        if (cJSON_IsString(name) && json_get(s->now->params, name->valuestring))
            return name->valuestring;
    }
    return NULL;
}

// The last cell above this one that left the file; NULL: none.
static const struct left *left_above(
    const struct search *s, const struct run_cell *c, const char *path)
{
    const struct left *last = NULL;
    for (size_t i = 0; i < s->n_left; i++)
        if (s->left[i].cell < c && str_eq(s->left[i].path, path) &&
            (!last || s->left[i].cell >= last->cell))
            last = &s->left[i];
    return last;
}

static bool is_newer_above(const struct search *s, const struct run_cell *c)
{
    for (size_t i = 0; i < s->n_left; i++)
        if (s->left[i].cell < c && s->left[i].cell->ran > c->ran)
            return true;
    return false;
}

// A file that the cell has read, and that a cell above it has changed since.
static const char *moved_file(const struct search *s, const struct run_cell *c)
{
    const cJSON *entry;
    for (size_t k = 0; k < ARRAY_LEN(lists_of_files) && is_newer_above(s, c); k++)
        cJSON_ArrayForEach(entry, json_get(s->fold->recorded, lists_of_files[k]))
        {
            const char *was = json_str(json_get(json_get(entry, "cells"), c->id), "sha256");
            if (!was)
                continue;
            AUTO_FREE char *path = fold_path(s->fold, entry->string);
            const struct left *left = left_above(s, c, path);
            if (left && left->cell->ran > c->ran && left->sha256 && !str_eq(left->sha256, was))
                return entry->string;
        }
    return NULL;
}

// An object that the cell has read, and for which another's change was accepted since; new.
static char *moved_object(const struct search *s, const struct run_cell *c)
{
    for (size_t i = 0; i < fold_ledger_count(s->fold); i++) {
        const struct ledger_entry *e = fold_ledger(s->fold, i);
        if (e->drifted <= c->ran || str_eq(e->cell, c->id))
            continue;
        AUTO_FREE char *name = fold_object(e);
        const cJSON *entry = name ? json_get(json_get(s->fold->recorded, "objects"), name) : NULL;
        if (json_get(json_get(entry, "cells"), c->id))
            return STEAL(name);
    }
    return NULL;
}

static bool judge(struct search *s, const struct run_cell *c)
{
    const char *outside = json_str(s->now->outside, c->id), *by;
    const char *moved = moved_parameter(s, c);
    if (c->state == STATE_STALE ||
        (s->now->edited && s->now->edited(s->now->arg, c->id, c->hash))) {
        tell(s, c->id, NULL, "its text has changed");
        return true;
    }
    if (!moved)
        moved = s->now->from_top ? fold_moved_above(s->fold, c) : fold_moved(s->fold, c);
    if (!moved)
        moved = moved_file(s, c);
    AUTO_FREE char *object = moved ? NULL : moved_object(s, c);
    if (!moved)
        moved = object;
    if (moved) {
        AUTO_FREE char *why = str_fmt("%s has changed", moved);
        tell(s, c->id, NULL, why);
    } else if (outside) {
        tell(s, c->id, NULL, outside);
    } else if ((by = giver(s, c))) {
        tell_by(s, c->id, by);
    } else {
        return false;
    }
    return true;
}

static void mark_written(cJSON *to, const char *name, const char *id)
{
    if (id)
        json_set_str(to, name, id);
    else
        cJSON_DeleteItemFromObjectCaseSensitive(to, name);
}

// Marks what a cell leaves: with id as stale, with NULL as valid.
static void leave(struct search *s, const struct run_cell *c, const char *id)
{
    const cJSON *item;
    size_t i;
    cJSON_ArrayForEach(item, json_get(c->used, "writes"))
        mark_written(fold_is_field(item->string) ? s->fields : s->globals, item->string, id);
    cJSON_ArrayForEach(item, json_get(c->used, "touched"))
    {
        if (id && cJSON_IsString(item))
            mark_written(s->globals, item->valuestring, id);
    }
    if (notebook_find(fold_notebook(s->fold), c->id, &i)) {
        const cell *source = notebook_cell(fold_notebook(s->fold), i);
        const char *file = source->options.file ? source->options.file : source->options.template_;
        AUTO_FREE char *path = file ? fold_path(s->fold, file) : NULL;
        if (path)
            mark_written(s->files, path, id);
    }
    for (i = 0; i < s->n_left; i++)
        if (s->left[i].cell == c)
            mark_written(s->files, s->left[i].path, id);
    cJSON_ArrayForEach(item, json_get(s->leaves, c->id))
        mark_written(s->things, item->valuestring, id);
    if (!id)
        return;
    s->first = s->first ? s->first : id;
    if (json_bool_or(c->used, "unknown", false))
        s->any = id;
    if (json_bool_or(c->used, "random", false))
        s->random = id;
}

static void find_left(struct search *s)
{
    AUTO_JSON *all = fold_left(s->fold);
    const cJSON *one;
    s->left = mem_array((size_t)cJSON_GetArraySize(all) + 1, sizeof *s->left);
    cJSON_ArrayForEach(one, all)
    {
        s->left[s->n_left++] =
            (struct left){.cell = fold_cell_by_id(s->fold, json_str(one, "cell"), NULL),
                .path = fold_path(s->fold, json_str_or(one, "name", "")),
                .sha256 = mem_strdup(json_str(one, "sha256"))};
    }
}

static void search_done(struct search *s)
{
    for (size_t i = 0; i < s->n_left; i++) {
        free(s->left[i].path);
        free(s->left[i].sha256);
    }
    free(s->left);
    cJSON_Delete(s->globals);
    cJSON_Delete(s->fields);
    cJSON_Delete(s->files);
    cJSON_Delete(s->things);
    cJSON_Delete(s->leaves);
}

cJSON *stale_find(const fold *f, const struct stale_now *now)
{
    struct search s = {.fold = f,
        .now = now,
        .found = cJSON_CreateObject(),
        .globals = cJSON_CreateObject(),
        .fields = cJSON_CreateObject(),
        .files = cJSON_CreateObject(),
        .things = cJSON_CreateObject(),
        .leaves = fold_left_by_cells(f)};
    AUTO_FREE const struct run_cell **ran = mem_array(f->n_cells + 1, sizeof *ran);
    size_t n = 0;
    find_left(&s);
    for (size_t i = 0; i < f->n_cells; i++) {
        enum cell_state state = f->cells[i].state;
        bool ended = state == STATE_OK || state == STATE_FAILED || state == STATE_STALE;
        if (ended && f->cells[i].ran)
            ran[n++] = &f->cells[i];
    }
    bool from_top = now->from_top || json_get(f->resumed, "kept");
    qsort(ran, n, sizeof *ran, from_top ? by_place : by_end);
    for (size_t i = 0; i < n; i++)
        leave(&s, ran[i], judge(&s, ran[i]) ? ran[i]->id : NULL);
    search_done(&s);
    return s.found;
}
