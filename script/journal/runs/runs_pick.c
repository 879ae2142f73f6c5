// SPDX-License-Identifier: MIT
// Which run a word means, beside its name.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/file/reader.h"
#include "script/journal/fold/fold.h"
#include "script/journal/runs/runs.h"

#include <stdlib.h>
#include <string.h>

// The n-th newest beside `own`, from 1.
static char *nth_newest(const char *folder, const char *own, int64_t n, err *e)
{
    char **runs = journal_list(folder, e), *found = NULL;
    size_t all = 0;
    for (char **run = runs; run && *run; run++)
        if (!found && !str_eq(*run, own) && journal_ran(folder, *run) && (int64_t)++all == n)
            found = mem_strdup(*run);
    if (runs && !found)
        err_set(e, ERR_NOT_FOUND, "there is no run -%lld in %s/.firesteel, which has %zu of them",
            (long long)n, folder, all);
    strv_free(runs);
    return found;
}

static void has_none(const char *folder, const char *shown, err *e)
{
    ERR_GUARD(e);
    AUTO_FREE char *beside = path_dirname(shown);
    err_set(e, ERR_NOT_FOUND, "%s has no run of %s", folder, shown);
    if (strchr(shown, '/') && !str_eq(beside, folder))
        err_set(
            e, ERR_NOT_FOUND, "%s; runs stand where the notebook does: --cwd %s", e->text, beside);
}

static char *newest_of(
    const char *folder, const char *own, const char *path, const char *shown, err *e)
{
    runs_list *runs = runs_list_open(folder, e);
    char *found = NULL;
    for (size_t i = 0; runs && i < runs_list_count(runs) && !found; i++) {
        const char *run = runs_list_run(runs, i);
        AUTO_FREE char *of = str_eq(run, own) ? NULL : runs_list_notebook(runs, i);
        if (str_eq(of, path) && runs_list_ran(runs, i))
            found = mem_strdup(run);
    }
    if (runs && !found)
        has_none(folder, shown, e);
    runs_list_close(runs);
    return found;
}

bool runs_is_notebook(const char *word)
{
    return str_ends(word, ".lua") || str_ends(word, ".ipynb");
}

char *runs_pick(const char *folder, const char *own, const char *word, err *e)
{
    int64_t n;
    if (journal_means_newest(word))
        return own ? nth_newest(folder, own, 1, e) : journal_find(folder, NULL, e);
    if (*word == '-' && str_to_int(word + 1, &n))
        return nth_newest(folder, own, n, e);
    AUTO_FREE char *path = path_absolute(word, NULL);
    return path && runs_is_notebook(word) ? newest_of(folder, own, path, word, e)
                                          : journal_find(folder, word, e);
}

char *runs_pick_child(const char *folder, const char *own, const char *word, char **child, err *e)
{
    const char *slash = word ? strchr(word, '/') : NULL;
    *child = NULL;
    if (!slash || runs_is_notebook(word) || slash == word)
        return runs_pick(folder, own, word, e);
    AUTO_FREE char *of = mem_strndup(word, (size_t)(slash - word));
    char *run = runs_pick(folder, own, of, e);
    if (run)
        *child = mem_strdup(slash + 1);
    return run;
}

fold *runs_open(const char *folder, const char *word, char **spools, err *first_bad, err *e)
{
    AUTO_FREE char *child = NULL;
    AUTO_FREE char *run = runs_pick_child(folder, NULL, word, &child, e);
    AUTO_FREE char *path = run ? journal_file(folder, run) : NULL;
    fold *f = path ? fold_shown(path, first_bad, e) : NULL;
    if (f && child && fold_narrow(f, child, e) < 0) {
        fold_free(f);
        return NULL;
    }
    *spools = f ? mem_strndup(path, strlen(path) - strlen(".jsonl")) : NULL;
    return f;
}

cJSON *runs_child_row(const char *folder, const char *run, const char *child, err *e)
{
    err unread = {0};
    AUTO_JSON *row = runs_row(folder, run, &unread);
    AUTO_FREE char *name = str_fmt("%s/%s", run, child);
    cJSON *list = cJSON_DetachItemFromObjectCaseSensitive(row, "children"), *found = NULL;
    for (cJSON *c = list ? list->child : NULL; c && !found; c = c->next)
        if (str_eq(json_str(c, "run"), name))
            found = cJSON_DetachItemViaPointer(list, c);
    cJSON_Delete(list);
    if (!found)
        err_set(e, ERR_NOT_FOUND,
            "the run %s has no child \"%s\"; `firesteel runs --children` lists them", run, child);
    return found;
}
