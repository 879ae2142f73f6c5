// SPDX-License-Identifier: MIT
// Which global a cell read, and another cell has set to something else since.
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/fold_private.h"

#include <string.h>

static struct fold_global *global_at(fold *f, const char *name)
{
    size_t i, n = strlen(name);
    if (!f->by_global)
        f->by_global = hashmap_new();
    if (hashmap_get(f->by_global, name, n, &i))
        return &f->globals[i];
    f->globals = mem_resize(f->globals, f->n_globals + 1, sizeof *f->globals);
    f->globals[f->n_globals] = (struct fold_global){.name = mem_strdup(name)};
    hashmap_set(f->by_global, name, n, f->n_globals);
    return &f->globals[f->n_globals++];
}

void fold_note_writes(fold *f, const struct run_cell *c)
{
    const cJSON *written;
    cJSON_ArrayForEach(written, json_get(c->used, "writes"))
    {
        struct fold_global *g = global_at(f, written->string);
        const char *digest = cJSON_IsString(written) ? written->valuestring : "";
        if (g->digest && *digest && str_eq(g->digest, digest))
            continue; // the same value again
        free(g->digest);
        free(g->cell);
        g->digest = mem_strdup(digest);
        g->cell = mem_strdup(c->id);
        g->changed = f->seq;
    }
}

const char *fold_moved(const fold *f, const struct run_cell *c)
{
    const cJSON *name;
    size_t i;
    cJSON_ArrayForEach(name, json_get(c->used, "reads"))
    {
        if (!cJSON_IsString(name) || !f->by_global ||
            !hashmap_get(f->by_global, name->valuestring, strlen(name->valuestring), &i))
            continue;
        const struct fold_global *g = &f->globals[i];
        if (g->changed > c->ran && !str_eq(g->cell, c->id))
            return g->name;
    }
    return NULL;
}

void fold_free_globals(fold *f)
{
    for (size_t i = 0; i < f->n_globals; i++) {
        free(f->globals[i].name);
        free(f->globals[i].digest);
        free(f->globals[i].cell);
    }
    free(STEAL(f->globals));
    f->n_globals = 0;
    hashmap_free(STEAL(f->by_global));
}

void fold_copy_globals(fold *f, const fold *from)
{
    f->by_global = NULL;
    f->globals = NULL;
    f->n_globals = 0;
    for (size_t i = 0; i < from->n_globals; i++) {
        struct fold_global *g = global_at(f, from->globals[i].name);
        g->digest = mem_strdup(from->globals[i].digest);
        g->cell = mem_strdup(from->globals[i].cell);
        g->changed = from->globals[i].changed;
    }
}
