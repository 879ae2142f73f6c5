// SPDX-License-Identifier: MIT
#include "script/journal/runs/lineage.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/data/hashmap.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>
#include <strings.h>

enum { DIGITS_LEAST = 8 };

static cJSON *new_thing(const char *key, const char *kind, const char *name, const char *by)
{
    cJSON *t = cJSON_CreateObject();
    json_set_str(t, "key", key);
    json_set_str(t, "kind", kind);
    json_set_str(t, "name", name);
    if (by && *by)
        json_set_str(t, "cell", by);
    return t;
}

static bool has_key(const cJSON *list, const char *key)
{
    const cJSON *j;
    cJSON_ArrayForEach(j, list) if (str_eq(json_str(j, "key"), key)) return true;
    return false;
}

// Adds the thing, and takes it, unless it is there already.
static void add_thing(cJSON *list, cJSON *thing)
{
    if (has_key(list, json_str(thing, "key")))
        cJSON_Delete(thing);
    else
        cJSON_AddItemToArray(list, thing);
}

static char *file_key(const char *hex)
{
    return str_starts(hex, "sha256:") ? mem_strdup(hex) : str_fmt("sha256:%s", hex);
}

// {name: {sha256, …}} or {name: digest}, as fold_results has them.
static void add_recorded(cJSON *list, const cJSON *recorded, const char *kind)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, recorded)
    {
        const char *digest = cJSON_IsString(item) ? item->valuestring : json_str(item, "sha256");
        if (!digest)
            continue;
        AUTO_FREE char *key = file_key(digest);
        const char *path = json_str(item, "path");
        add_thing(list, new_thing(key, kind, path ? path : item->string, json_str(item, "cell")));
    }
}

// An image that contains a model was made of the model's files, too.
static void add_parts(cJSON *thing, const cJSON *files)
{
    const cJSON *file;
    cJSON_ArrayForEach(file, files)
    {
        AUTO_FREE char *key = cJSON_IsString(file) ? file_key(file->valuestring) : NULL;
        if (key)
            cJSON_AddItemToArray(json_array_at(thing, "of"), cJSON_CreateString(key));
    }
}

// What an effect has made, by what its result says of it.
static void add_made(cJSON *list, const struct ledger_entry *l)
{
    const char *digest = json_str(l->result, "digest"), *uid = json_str(l->result, "uid");
    const char *hex = json_str(l->result, "sha256");
    cJSON *thing = NULL;
    if (!l->outcome || l->failed)
        return;
    if (digest && json_str(l->result, "ref") && !str_eq(l->binding, "image.pull")) {
        const char *tagged = json_str(l->result, "tagged");
        thing = new_thing(digest, "image", tagged ? tagged : json_str(l->result, "ref"), l->cell);
        add_parts(thing, json_get(l->result, "files"));
    } else if (uid && json_str(l->result, "kind")) {
        AUTO_FREE char *key = str_fmt("uid:%s", uid);
        AUTO_FREE char *name =
            str_fmt("%s %s", json_str(l->result, "kind"), json_str_or(l->result, "name", ""));
        thing = new_thing(key, "object", name, l->cell);
        json_set_str(thing, "namespace", json_str(l->result, "namespace"));
        if (l->undone)
            json_set_bool(thing, "gone", true);
    } else if (hex && json_str(l->result, "path")) {
        AUTO_FREE char *key = file_key(hex);
        thing = new_thing(key, "file", json_str(l->result, "path"), l->cell);
    }
    if (thing)
        add_thing(list, thing);
}

static cJSON *cells_of(const fold *f)
{
    cJSON *list = cJSON_CreateArray();
    const notebook *nb = fold_notebook(f);
    for (size_t i = 0; i < fold_count(f); i++) {
        const struct run_cell *c = fold_cell(f, i);
        size_t at;
        if (!*c->hash)
            continue;
        cJSON *told = cJSON_CreateObject();
        json_set_str(told, "id", c->id);
        if (notebook_find(nb, c->id, &at) && notebook_cell(nb, at)->title)
            json_set_str(told, "title", notebook_cell(nb, at)->title);
        json_set_str(told, "sha256", c->hash);
        cJSON_AddItemToArray(list, told);
    }
    return list;
}

static void copy(cJSON *to, const char *name, const cJSON *value)
{
    if (value)
        json_set(to, name, cJSON_Duplicate(value, true));
}

static void tell_run(cJSON *l, const fold *f, const cJSON *results)
{
    AUTO_JSON *origin = fold_origin(f);
    AUTO_BUF when = {0};
    const char *source = json_str(fold_first(f), "notebook"), *path = json_str(origin, "path");
    json_set_str(l, "run", fold_run(f));
    json_set_str(l, "state", run_state_name(fold_state(f)));
    clock_rfc3339(&when, fold_started(f), CLOCK_MICROS);
    json_set_str(l, "started", buf_cstr(&when));
    if (path) {
        const char *slash = strrchr(path, '/');
        json_set_str(l, "notebook", slash ? slash + 1 : path);
        json_set_str(l, "path", path);
    }
    if (source) {
        char hex[SHA256_HEX];
        sha256_hex(source, strlen(source), hex);
        json_set_str(l, "source", hex);
    }
    static const char *const copied[] = {"command", "git", "seed", "cluster", "from"};
    for (size_t i = 0; i < ARRAY_LEN(copied); i++)
        copy(l, copied[i], json_get(origin, copied[i]));
    copy(l, "parameters", json_get(results, "params"));
    copy(l, "versions", json_get(results, "versions"));
    json_set(l, "cells", cells_of(f));
}

cJSON *lineage_of(const fold *f)
{
    cJSON *l = cJSON_CreateObject();
    AUTO_JSON *results = fold_results(f);
    tell_run(l, f, results);
    cJSON *used = json_array_at(l, "used"), *made = json_array_at(l, "made");
    add_recorded(used, json_get(results, "inputs"), "file");
    add_recorded(used, json_get(results, "images"), "image");
    add_recorded(made, json_get(results, "outputs"), "file");
    add_recorded(made, json_get(results, "artifacts"), "file");
    for (size_t i = 0; i < fold_ledger_count(f); i++)
        add_made(made, fold_ledger(f, i));
    return l;
}

// Finding.

static bool is_name(const cJSON *thing, const char *word)
{
    const char *name = json_str_or(thing, "name", ""), *space = strchr(name, ' ');
    const char *slash = strchr(word, '/');
    if (str_eq(name, word))
        return true;
    if (str_eq(json_str(thing, "kind"), "image")) { // without its registry, or without ":latest"
        const char *at = strstr(name, word);
        return at && (at == name || at[-1] == '/') &&
               (!at[strlen(word)] || str_eq(at + strlen(word), ":latest"));
    }
    if (!space || !slash || !str_eq(json_str(thing, "kind"), "object"))
        return false;
    // "deploy/rain": the kind, its plural, or a beginning of it
    size_t n = (size_t)(slash - word), kind = (size_t)(space - name);
    bool plural = n == kind + 1 && word[n - 1] == 's';
    return n >= 2 && str_eq(slash + 1, space + 1) &&
           strncasecmp(name, word, plural ? kind : n) == 0 && (plural || n <= kind);
}

static bool is_digest(const char *key, const char *word)
{
    static const char algorithm[] = "sha256:";
    const char *digits = str_starts(word, algorithm) ? word + strlen(algorithm) : word;
    return strlen(digits) >= DIGITS_LEAST && str_starts(key, algorithm) &&
           str_starts(key + strlen(algorithm), digits);
}

char *lineage_find(const cJSON *runs, const char *word)
{
    static const char *const lists[] = {"made", "used"};
    const char *at = strstr(word, "@sha256:"); // a name with its digest
    const char *meant = at ? at + 1 : word;
    const cJSON *run, *thing;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        cJSON_ArrayForEach(run, runs) cJSON_ArrayForEach(thing, json_get(run, lists[i]))
        {
            const char *key = json_str_or(thing, "key", "");
            if (str_eq(key, meant) || is_digest(key, meant) || is_name(thing, meant))
                return mem_strdup(key);
        }
    return NULL;
}

// The graph.

struct graph {
    const cJSON *all;
    cJSON *runs, *things, *edges;
    hashmap *taken;       // what is in these three: keys of things and runs, "from\nto" of edges
    hashmap *made, *used; // keys that any run has made; used, or put into what it made
};

// true: it was added.
static bool put_new(hashmap *map, const char *key)
{
    size_t was, n = strlen(key);
    if (hashmap_get(map, key, n, &was))
        return false;
    hashmap_set(map, key, n, 0);
    return true;
}

static bool is_in(const hashmap *map, const char *key)
{
    size_t was;
    return hashmap_get(map, key, strlen(key), &was);
}

// Most things are end points: nobody need look for who made or used them.
static void note_ends(struct graph *g)
{
    const cJSON *run, *thing, *part;
    cJSON_ArrayForEach(run, g->all)
    {
        cJSON_ArrayForEach(thing, json_get(run, "used"))
            put_new(g->used, json_str_or(thing, "key", ""));
        cJSON_ArrayForEach(thing, json_get(run, "made"))
        {
            put_new(g->made, json_str_or(thing, "key", ""));
            cJSON_ArrayForEach(part, json_get(thing, "of")) if (cJSON_IsString(part))
                put_new(g->used, part->valuestring);
        }
    }
}

static void add_edge(struct graph *g, const char *from, const char *to, const char *kind)
{
    AUTO_FREE char *both = str_fmt("%s\n%s", from, to);
    if (!put_new(g->taken, both))
        return;
    cJSON *edge = cJSON_CreateObject();
    json_set_str(edge, "from", from);
    json_set_str(edge, "to", to);
    json_set_str(edge, "kind", kind);
    cJSON_AddItemToArray(g->edges, edge);
}

static bool take_thing(struct graph *g, const cJSON *thing)
{
    if (!put_new(g->taken, json_str_or(thing, "key", "")))
        return false;
    cJSON_AddItemToArray(g->things, cJSON_Duplicate(thing, true));
    return true;
}

static char *run_key(const cJSON *run)
{
    return str_fmt("run:%s", json_str_or(run, "run", ""));
}

static bool take_run(struct graph *g, const cJSON *run)
{
    AUTO_FREE char *key = run_key(run);
    if (!put_new(g->taken, key))
        return false;
    cJSON *about = cJSON_Duplicate(run, true);
    cJSON_DeleteItemFromObjectCaseSensitive(about, "used");
    cJSON_DeleteItemFromObjectCaseSensitive(about, "made");
    cJSON_AddItemToArray(g->runs, about);
    return true;
}

static bool has_part(const cJSON *thing, const char *key)
{
    const cJSON *j;
    cJSON_ArrayForEach(
        j, json_get(thing, "of")) if (cJSON_IsString(j) && str_eq(j->valuestring, key)) return true;
    return false;
}

static void go_back(struct graph *g, const char *key);

static void run_back(struct graph *g, const cJSON *run)
{
    AUTO_FREE char *key = run_key(run);
    const cJSON *thing;
    if (!take_run(g, run))
        return;
    cJSON_ArrayForEach(thing, json_get(run, "used"))
    {
        const char *used = json_str(thing, "key");
        if (has_key(json_get(run, "made"), used))
            continue; // its own, from a cell before
        add_edge(g, used, key, "used");
        if (take_thing(g, thing))
            go_back(g, used);
    }
}

// The runs that made it.
static void go_back(struct graph *g, const char *key)
{
    const cJSON *run, *thing;
    if (!is_in(g->made, key))
        return;
    cJSON_ArrayForEach(run, g->all) cJSON_ArrayForEach(thing, json_get(run, "made"))
    {
        if (!str_eq(json_str(thing, "key"), key))
            continue;
        AUTO_FREE char *by = run_key(run);
        take_thing(g, thing);
        add_edge(g, by, key, "made");
        run_back(g, run);
    }
}

static void go_on(struct graph *g, const char *key);

static void run_on(struct graph *g, const cJSON *run)
{
    AUTO_FREE char *key = run_key(run);
    const cJSON *thing;
    cJSON_ArrayForEach(thing, json_get(run, "made"))
    {
        add_edge(g, key, json_str(thing, "key"), "made");
        if (take_thing(g, thing))
            go_on(g, json_str(thing, "key"));
    }
}

// Those that used it, and what it is a part of.
static void go_on(struct graph *g, const char *key)
{
    const cJSON *run, *thing;
    if (!is_in(g->used, key))
        return;
    cJSON_ArrayForEach(run, g->all)
    {
        AUTO_FREE char *by = run_key(run);
        bool own = has_key(json_get(run, "made"), key);
        cJSON_ArrayForEach(thing, json_get(run, "made")) if (has_part(thing, key))
        {
            add_edge(g, key, json_str(thing, "key"), "part");
            if (take_thing(g, thing))
                go_on(g, json_str(thing, "key"));
        }
        if (own || !has_key(json_get(run, "used"), key))
            continue;
        add_edge(g, key, by, "used");
        if (take_run(g, run))
            run_on(g, run);
    }
}

cJSON *lineage_around(const cJSON *runs, const char *key)
{
    cJSON *result = cJSON_CreateObject();
    json_set_str(result, "subject", key);
    struct graph g = {runs, json_array_at(result, "runs"), json_array_at(result, "things"),
        json_array_at(result, "edges"), hashmap_new(), hashmap_new(), hashmap_new()};
    note_ends(&g);
    const cJSON *run, *thing;
    bool is_run = str_starts(key, "run:");
    cJSON_ArrayForEach(run, runs)
    {
        AUTO_FREE char *own = run_key(run);
        if (is_run && str_eq(own, key)) {
            run_back(&g, run);
            run_on(&g, run);
        }
        cJSON_ArrayForEach(thing, json_get(run, "used")) if (str_eq(json_str(thing, "key"), key))
            take_thing(&g, thing);
    }
    if (!is_run) {
        go_back(&g, key);
        go_on(&g, key);
    }
    hashmap_free(g.taken);
    hashmap_free(g.made);
    hashmap_free(g.used);
    return result;
}
