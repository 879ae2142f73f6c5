// SPDX-License-Identifier: MIT
// What cells have left: files of their effects, files that they wrote directly, variables that they
// set, and objects of a cluster.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/fold/fold_private.h"

const struct run_cell *fold_ended(const fold *f, const char *id)
{
    const struct run_cell *c = fold_cell_by_id(f, id, NULL);
    return c && c->ran && (c->state == STATE_OK || c->state == STATE_FAILED) ? c : NULL;
}

char *fold_path(const fold *f, const char *name)
{
    AUTO_FREE char *path = path_join(json_str_or(f->first, "cwd", "."), name);
    return path_plain(path);
}

// A cell counts even if its text has changed since.
static const struct run_cell *leaver(const fold *f, const char *id)
{
    const struct run_cell *c = fold_cell_by_id(f, id, NULL);
    return c && c->ran && c->state == STATE_STALE ? c : fold_ended(f, id);
}

// state: {sha256} or {size, mtime}; or its digest alone.
static void add(cJSON *list, const char *id, const char *name, const cJSON *state)
{
    cJSON *one = cJSON_IsObject(state) ? cJSON_Duplicate(state, true) : cJSON_CreateObject();
    json_set_str(one, "sha256", cJSON_GetStringValue(state));
    json_set_str(one, "name", name);
    json_set_str(one, "cell", id);
    cJSON_AddItemToArray(list, one);
}

// For a declared command only its outputs; its inputs are recorded as inputs.
static void add_effect(
    const fold *f, cJSON *list, const struct ledger_entry *e, const struct run_cell *c)
{
    const cJSON *digest = json_get(e->result, "sha256"), *file;
    const char *path = json_str(e->result, "path"), *below = json_str(e->result, "cwd");
    if (path && cJSON_IsString(digest))
        add(list, c->id, path, digest);
    cJSON_ArrayForEach(file, json_get(e->result, "files"))
    {
        AUTO_FREE char *name = below ? path_join(below, file->string) : mem_strdup(file->string);
        const cJSON *entry = json_get(json_get(f->recorded, "inputs"), name);
        if (cJSON_IsString(file) && !json_get(json_get(entry, "cells"), c->id))
            add(list, c->id, name, file);
    }
}

cJSON *fold_left(const fold *f)
{
    cJSON *list = cJSON_CreateArray();
    const cJSON *entry, *value;
    for (size_t i = 0; i < f->n_ledger; i++) {
        const struct ledger_entry *e = &f->ledger[i];
        const struct run_cell *c = e->outcome && !e->failed ? leaver(f, e->cell) : NULL;
        if (c && str_eq(e->source, c->hash))
            add_effect(f, list, e, c);
    }
    cJSON_ArrayForEach(entry, json_get(f->recorded, "outputs"))
    {
        cJSON_ArrayForEach(value, json_get(entry, "cells"))
        {
            if (leaver(f, value->string))
                add(list, value->string, entry->string, value);
        }
    }
    return list;
}

// {"kind", "name", "namespace"} as a result of the k8s bindings has them.
char *fold_object(const struct ledger_entry *e)
{
    const cJSON *object = json_get(e->result, "object");
    const cJSON *ref = json_str(object, "kind") ? object : e->result;
    const char *kind = json_str(ref, "kind"), *name = json_str(ref, "name");
    const char *ns = json_str(ref, "namespace");
    return kind && name && json_str(ref, "uid")
               ? str_fmt("%s %s%s%s", kind, name, ns ? " in namespace " : "", ns ? ns : "")
               : NULL;
}

static void add_name(cJSON *all, const char *id, const char *what, const char *name)
{
    AUTO_FREE char *text = str_fmt("%s %s", what, name);
    cJSON_AddItemToArray(json_array_at(all, id), cJSON_CreateString(text));
}

cJSON *fold_left_by_cells(const fold *f)
{
    cJSON *all = cJSON_CreateObject();
    AUTO_JSON *files = fold_left(f);
    const cJSON *one;
    cJSON_ArrayForEach(one, files)
    {
        AUTO_FREE char *path = fold_path(f, json_str_or(one, "name", ""));
        add_name(all, json_str(one, "cell"), "file", path);
    }
    cJSON_ArrayForEach(one, json_get(f->recorded, "environment"))
        add_name(all, json_str_or(one, "cell", ""), "variable", one->string);
    for (size_t i = 0; i < f->n_ledger; i++) {
        AUTO_FREE char *name = fold_object(&f->ledger[i]);
        if (name && f->ledger[i].cell)
            add_name(all, f->ledger[i].cell, "object", name);
    }
    return all;
}
