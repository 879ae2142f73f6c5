// SPDX-License-Identifier: MIT
#include "script/kernel/session/file/left.h"

#include "base/data/hashmap.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/file/reader.h"
#include "script/journal/jupyter.h"

#include <string.h>

struct giving {
    notebook *nb;
    hashmap *known; // ids of cells that a newer run has reported
    int64_t saved;
    bool cleared;
    int runs; // that have left something
    err unread;
};

const char *left_run(const fold *recovered)
{
    const cJSON *first = fold_first(recovered);
    const char *own = json_str_or(first, "run", "");
    return *own ? own : json_str(first, "before"); // of a run that has only the text, and has lost
                                                   // its kernel
}

static void note_unread(struct giving *g, const err *why)
{
    if (why->code && !g->unread.code)
        g->unread = *why;
}

// Did it run, or was it cleared?
static bool give_cell(struct giving *g, const struct run_cell *c, const char *spools)
{
    size_t n = strlen(c->id), ignored;
    bool cleared = c->cleared && !c->n_outputs;
    int64_t changed = cleared ? c->cleared : c->ended ? c->ended : c->started;
    if (!c->count && !cleared)
        return false;
    if (hashmap_get(g->known, c->id, n, &ignored))
        return true;
    hashmap_set(g->known, c->id, n, 0);
    if (changed <= g->saved) // the file has it
        return true;
    err why = {0};
    cJSON *outputs = jupyter_outputs(c, spools, 0, &why);
    note_unread(g, &why);
    g->cleared |= cleared;
    if (why.code)
        cJSON_Delete(outputs);
    else
        notebook_set_outputs(g->nb, c->id, outputs, c->count > 0 ? c->count : -1);
    return true;
}

// Returns the run before this one, new; NULL: no earlier run matters.
static char *give_run(struct giving *g, const char *folder, const char *run)
{
    AUTO_FREE char *path = journal_file(folder, run);
    AUTO_FREE char *spools = mem_strndup(path, strlen(path) - strlen(".jsonl"));
    err why = {0};
    fold *f = fold_file(path, NULL, &why);
    char *before = NULL;
    note_unread(g, &why);
    if (f && fold_last(f) > g->saved) {
        bool any = false;
        for (size_t i = 0; i < fold_count(f); i++)
            any |= give_cell(g, fold_cell(f, i), spools);
        for (size_t i = 0; i < fold_gone_count(f); i++)
            any |= give_cell(g, fold_gone(f, i), spools);
        g->runs += any;
        before = mem_strdup(json_str(fold_first(f), "before"));
    }
    fold_free(f);
    return before;
}

bool left_give(notebook *nb, const char *folder, const char *run, int64_t saved, err *unread)
{
    struct giving g = {.nb = nb, .known = hashmap_new(), .saved = saved};
    char *next = mem_strdup(run);
    for (int i = 0; next && i < LEFT_STEPS_MOST && g.runs < LEFT_RUNS_MOST; i++) {
        AUTO_FREE char *now = next;
        next = give_run(&g, folder, now);
    }
    free(next);
    hashmap_free(g.known);
    err_give(unread, &g.unread);
    return !g.cleared;
}
