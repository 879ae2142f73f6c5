// SPDX-License-Identifier: MIT
// Finds globals that a cell read and another cell has set to something else since.
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/fold/fold_private.h"

#include <ctype.h>
#include <string.h>

bool fold_is_field(const char *name)
{
    return strchr(name, '.');
}

static struct fold_global *global_at(fold *f, const char *name)
{
    size_t i, n = strlen(name);
    if (!f->by_global)
        f->by_global = hashmap_new();
    if (hashmap_get(f->by_global, name, n, &i))
        return &f->globals[i];
    f->globals = mem_resize(f->globals, f->n_globals + 1, sizeof *f->globals);
    f->globals[f->n_globals] =
        (struct fold_global){.name = mem_strdup(name), .by_cell = hashmap_new()};
    hashmap_set(f->by_global, name, n, f->n_globals);
    if (fold_is_field(name)) {
        f->fields = mem_resize(f->fields, f->n_fields + 1, sizeof *f->fields);
        f->fields[f->n_fields++] = f->n_globals;
    }
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

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool fold_has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text; n && (at = strstr(at, word)); at += n)
        if ((at == text || !is_word(at[-1])) && !is_word(at[n]))
            return true;
    return false;
}

const char *fold_field(const char *name)
{
    const char *dot = strchr(name, '.');
    return dot ? dot + 1 : name;
}

bool fold_uses_field(const fold *f, const struct run_cell *c, const char *name)
{
    size_t i;
    const notebook *nb = fold_is_field(name) ? fold_notebook(f) : NULL;
    return nb && notebook_find(nb, c->id, &i) &&
           fold_has_word(notebook_cell(nb, i)->source, fold_field(name));
}

// Did a resumed run execute it only to rebuild its values, with all effects verified? Then its
// values are the same, also those that have no digest.
static bool is_rebuilt(const fold *f, const struct run_cell *c)
{
    const cJSON *again = json_get(f->resumed, "again");
    return again && !fold_names(again, c->id) && !str_eq(c->how, "done");
}

const struct fold_own *fold_own_of(const struct fold_global *g, const char *id)
{
    size_t at;
    return hashmap_get(g->by_cell, id, strlen(id), &at) ? &g->own[at] : NULL;
}

static void set_own(struct fold_global *g, const char *id, const char *digest, uint64_t changed)
{
    struct fold_own *own = (struct fold_own *)fold_own_of(g, id);
    if (!own) {
        if ((g->n_own & (g->n_own - 1)) == 0)
            g->own = mem_resize(g->own, g->n_own ? g->n_own * 2 : 1, sizeof *g->own);
        hashmap_set(g->by_cell, id, strlen(id), g->n_own);
        own = &g->own[g->n_own++];
        *own = (struct fold_own){.cell = mem_strdup(id)};
    }
    free(own->digest);
    own->digest = mem_strdup(digest);
    own->changed = changed;
}

static void note_own(
    const fold *f, struct fold_global *g, const char *id, const char *digest, bool rebuilt)
{
    const struct fold_own *own = fold_own_of(g, id);
    bool same = own && str_eq(own->digest, digest) && (*digest || rebuilt);
    if (!same)
        set_own(g, id, digest, f->seq);
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
    for (i = 0; i < f->n_fields; i++) {
        const struct fold_global *g = &f->globals[f->fields[i]];
        if (g->changed > c->ran && !str_eq(g->cell, c->id) && fold_uses_field(f, c, g->name))
            return g->name;
    }
    return NULL;
}

// The last cell above `at` that sets it; NULL: none does.
static const struct fold_own *setter_above(const fold *f, const struct fold_global *g, size_t at)
{
    const struct fold_own *last = NULL;
    size_t i, highest = 0;
    for (size_t k = 0; k < g->n_own; k++)
        if (fold_cell_by_id(f, g->own[k].cell, &i) && i < at && (!last || i > highest))
            last = &g->own[k], highest = i;
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
        const struct fold_own *last = setter_above(f, &f->globals[i], at);
        if (last && last->changed > c->ran)
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
        for (size_t k = 0; k < f->globals[i].n_own; k++) {
            free(f->globals[i].own[k].cell);
            free(f->globals[i].own[k].digest);
        }
        free(f->globals[i].own);
        hashmap_free(f->globals[i].by_cell);
    }
    free(STEAL(f->globals));
    free(STEAL(f->fields));
    f->n_globals = f->n_fields = 0;
    hashmap_free(STEAL(f->by_global));
}

void fold_copy_globals(fold *f, const fold *from)
{
    f->by_global = NULL;
    f->globals = NULL;
    f->fields = NULL;
    f->n_globals = f->n_fields = 0;
    for (size_t i = 0; i < from->n_globals; i++) {
        struct fold_global *g = global_at(f, from->globals[i].name);
        g->digest = mem_strdup(from->globals[i].digest);
        g->cell = mem_strdup(from->globals[i].cell);
        g->changed = from->globals[i].changed;
        for (size_t k = 0; k < from->globals[i].n_own; k++) {
            const struct fold_own *own = &from->globals[i].own[k];
            set_own(g, own->cell, own->digest, own->changed);
        }
    }
}
