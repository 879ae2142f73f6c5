// SPDX-License-Identifier: MIT
#include "script/journal/compare/lastgood.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/compare/compare.h"
#include "script/journal/file/reader.h"
#include "script/journal/runs/runs.h"

#include <string.h>

enum { LOOKED_AT = 24, READ = 6, SAID = 6 };

struct asking {
    const fold *now;
    size_t cell; // its place in the notebook
    bool whole;  // it is all of it that is asked for
    const char *folder, *run, *path;
};

// Did the cell end well in that run, and none badly?
static bool was_good(const struct asking *a, const fold *then)
{
    if (fold_in_state(then, STATE_FAILED) || !fold_in_state(then, STATE_OK))
        return false;
    if (a->whole)
        return true;
    const notebook *nb = fold_notebook(then);
    AUTO_FREE size_t *partner = compare_match(fold_notebook(a->now), nb);
    size_t k = partner[a->cell];
    const struct run_cell *c =
        k == SIZE_MAX ? NULL : fold_cell_by_id(then, notebook_cell(nb, k)->id, NULL);
    return c && c->state == STATE_OK;
}

__attribute__((format(printf, 2, 3))) static void add(cJSON *list, const char *fmt, ...)
{
    AUTO_BUF text = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&text, fmt, args);
    va_end(args);
    cJSON_AddItemToArray(list, cJSON_CreateString(buf_cstr(&text)));
}

static void add_pairs(cJSON *list, const cJSON *difference, const char *name, const char *word)
{
    const cJSON *pair;
    cJSON_ArrayForEach(pair, json_get(difference, name))
    {
        AUTO_FREE char *a = compare_value_text(json_get(pair, "a"));
        AUTO_FREE char *b = compare_value_text(json_get(pair, "b"));
        if (json_get(pair, "b"))
            add(list, "%s%s%s: %s → %s", word, *word ? " " : "", pair->string, a, b);
    }
}

// Cells up to this one: those behind it have not run.
static void add_sources(cJSON *list, const struct asking *a, const cJSON *difference)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, json_get(difference, "cells"))
    {
        const char *title = json_str_or(entry, "title", ""),
                   *change = json_str_or(entry, "change", "");
        bool before = str_eq(change, "removed");
        for (size_t i = 0; i <= a->cell && !before; i++) {
            AUTO_FREE char *own = notebook_cell_title(fold_notebook(a->now), i);
            before = str_eq(own, title);
        }
        if (before)
            add(list, "cell %s was %s", title, str_eq(change, "source") ? "changed" : change);
    }
}

static void add_origin(cJSON *list, const cJSON *difference)
{
    static const char *const told[] = {"context", "namespace", "uid", "version", "commit", "host"};
    static const char *const words[] = {
        "context", "namespace", "cluster", "server's version", "git's commit", "host"};
    for (size_t i = 0; i < ARRAY_LEN(told); i++) {
        const cJSON *pair = json_get(json_get(difference, "origin"), told[i]);
        AUTO_FREE char *a = compare_value_text(json_get(pair, "a"));
        AUTO_FREE char *b = compare_value_text(json_get(pair, "b"));
        if (json_get(pair, "b"))
            add(list, "%s: %s → %s", words[i], a, b);
    }
}

static cJSON *differences(const struct asking *a, const fold *then)
{
    const struct compared before = {.fold = then}, now = {.fold = a->now};
    AUTO_JSON *difference = compare_runs(&before, &now);
    cJSON *found = cJSON_CreateObject(), *list = json_array_at(found, "differs");
    json_set_str(found, "run", fold_run(then));
    add_pairs(list, difference, "params", "parameter");
    add_sources(list, a, difference);
    add_pairs(list, difference, "images", "image");
    add_pairs(list, difference, "inputs", "input");
    add_pairs(list, difference, "variables", "variable");
    add_pairs(list, difference, "environment", "variable");
    add_pairs(list, difference, "versions", "version of");
    add_origin(list, difference);
    return found;
}

static cJSON *look(const struct asking *a, runs_list *runs)
{
    size_t n = runs_list_count(runs), read = 0;
    for (size_t i = 0; i < n && i < LOOKED_AT && read < READ; i++) {
        AUTO_FREE char *path = runs_list_notebook(runs, i);
        const char *run = runs_list_run(runs, i);
        if (str_eq(run, a->run) || !str_eq(path, a->path))
            continue;
        AUTO_FREE char *file = journal_file(a->folder, run);
        fold *then = fold_without_outputs(file, NULL);
        read++;
        cJSON *found = then && was_good(a, then) ? differences(a, then) : NULL;
        fold_free(then);
        if (found)
            return found;
    }
    return NULL;
}

cJSON *lastgood_find(const char *journal, const char *id)
{
    AUTO_FREE char *hidden = path_dirname(journal), *folder = path_dirname(hidden);
    fold *now = fold_without_outputs(journal, NULL);
    struct asking a = {.now = now, .folder = folder, .run = now ? fold_run(now) : NULL};
    a.path = now ? json_str_or(fold_first(now), "path", "") : "";
    a.whole = now && !(id && notebook_find(fold_notebook(now), id, &a.cell));
    if (a.whole)
        a.cell = notebook_count(fold_notebook(now)) - 1;
    runs_list *runs =
        now && *a.path && notebook_count(fold_notebook(now)) ? runs_list_open(folder, NULL) : NULL;
    cJSON *found = runs ? look(&a, runs) : NULL;
    runs_list_close(runs);
    fold_free(now);
    return found;
}

char *lastgood_say(const cJSON *found)
{
    AUTO_BUF text = {0};
    const cJSON *one, *all = json_get(found, "differs");
    int n = cJSON_GetArraySize(all), said = 0;
    if (!found)
        return NULL;
    buf_fmt(&text, "%s: ", json_str_or(found, "run", "?"));
    if (!n)
        buf_str(&text, "nothing that is recorded, so look outside: the cluster, data, registries");
    cJSON_ArrayForEach(one, all)
    {
        if (said == SAID)
            break;
        buf_fmt(&text, "%s%s", said++ ? "; " : "", str_short(one->valuestring, 160).text);
    }
    if (n > said)
        buf_fmt(&text, "; and %d more (firesteel diff %s)", n - said, json_str(found, "run"));
    return mem_strdup(buf_cstr(&text));
}
