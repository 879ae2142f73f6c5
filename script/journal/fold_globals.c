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

bool fold_names(const cJSON *ids, const char *id)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, ids)
    {
        if (id && str_eq(cJSON_GetStringValue(one), id))
            return true;
    }
    return false;
}

// Has a resumed run executed it only for what it leaves to others, and found all as it was? Then
// its values are the same, also those that have no digest.
static bool is_rebuilt(const fold *f, const struct run_cell *c)
{
    const cJSON *again = json_get(f->resumed, "again");
    return again && !fold_names(again, c->id) && !str_eq(c->how, "done");
}

static void note_own(
    const fold *f, struct fold_global *g, const char *id, const char *digest, bool rebuilt)
{
    if (!g->by)
        g->by = cJSON_CreateObject();
    const char *was = json_str(json_get(g->by, id), "digest");
    bool same = was && str_eq(was, digest) && (*digest || rebuilt);
    if (same)
        return;
    cJSON *own = json_object_at(g->by, id);
    json_set_str(own, "digest", digest);
    json_set_int(own, "changed", (int64_t)f->seq);
}

void fold_note_writes(fold *f, const struct run_cell *c)
{
    bool rebuilt = is_rebuilt(f, c);
    const cJSON *written;
    cJSON_ArrayForEach(written, json_get(c->used, "writes"))
    {
        struct fold_global *g = global_at(f, written->string);
        const char *digest = cJSON_IsString(written) ? written->valuestring : "";
        note_own(f, g, c->id, digest, rebuilt);
        if (g->digest && *digest && str_eq(g->digest, digest))
            continue; // the same value again
        if (rebuilt && g->digest && !*g->digest && !*digest && str_eq(g->cell, c->id))
            continue;
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

// The last cell above `at` that sets it; NULL: none does.
static const cJSON *setter_above(const fold *f, const struct fold_global *g, size_t at)
{
    const cJSON *own, *last = NULL;
    size_t i, highest = 0;
    cJSON_ArrayForEach(own, g->by)
    {
        if (fold_cell_by_id(f, own->string, &i) && i < at && (!last || i > highest))
            last = own, highest = i;
    }
    return last;
}

const char *fold_moved_above(const fold *f, const struct run_cell *c)
{
    const cJSON *name;
    size_t i, at;
    if (!f->by_global || !fold_cell_by_id(f, c->id, &at))
        return NULL;
    cJSON_ArrayForEach(name, json_get(c->used, "reads"))
    {
        if (!cJSON_IsString(name) ||
            !hashmap_get(f->by_global, name->valuestring, strlen(name->valuestring), &i))
            continue;
        const cJSON *last = setter_above(f, &f->globals[i], at);
        if (last && (uint64_t)json_int_or(last, "changed", 0) > c->ran)
            return f->globals[i].name;
    }
    return NULL;
}

void fold_free_globals(fold *f)
{
    for (size_t i = 0; i < f->n_globals; i++) {
        free(f->globals[i].name);
        free(f->globals[i].digest);
        free(f->globals[i].cell);
        cJSON_Delete(f->globals[i].by);
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
        g->by = from->globals[i].by ? cJSON_Duplicate(from->globals[i].by, true) : NULL;
    }
}
