// SPDX-License-Identifier: MIT
#include "cli/run/stale.h"

#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/printable.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "cli/say.h"
#include "script/journal/file/reader.h"
#include "script/journal/mask/mask.h"
#include "script/journal/runs/runs.h"
#include "script/journal/stale/outside.h"
#include "script/journal/stale/staleplan.h"
#include "script/notebook/params.h"

#include <string.h>

// The newest run of this document that has passed; *f is its state.
static char *newest(const char *cwd, const char *path, fold **f, err *e)
{
    char **runs = journal_list(cwd, e), *found = NULL;
    for (char **run = runs; run && *run && !found; run++) {
        AUTO_FREE char *file = journal_file(cwd, *run);
        AUTO_JSON *first = journal_first(file);
        if (!first || !str_eq(json_str(first, "path"), path) || journal_is_written(file) ||
            !json_bool_or(first, "headless", false))
            continue;
        *f = fold_file(file, NULL, NULL);
        bool complete = *f && (fold_state(*f) == RUN_OK || json_get(fold_last_start(*f), "kept"));
        if (complete) // or that had passed, before a run of what was stale failed
            found = mem_strdup(*run);
        else
            fold_free(STEAL(*f));
    }
    if (runs && !found)
        err_set(e, ERR_USAGE,
            "--stale: %s has no run of this notebook in which all cells passed; `firesteel run` "
            "makes one",
            cwd);
    strv_free(runs);
    return found;
}

static char *named(const char *cwd, const char *path, const char *word, fold **f, err *e)
{
    AUTO_FREE char *run = runs_pick(cwd, NULL, word, e);
    AUTO_FREE char *file = run ? journal_file(cwd, run) : NULL;
    if (!file)
        return NULL;
    if (journal_is_written(file)) {
        err_set(e, ERR_USAGE, "--from %s: the run is still going on", run);
        return NULL;
    }
    *f = fold_file(file, NULL, e);
    if (*f && !str_eq(json_str(fold_first(*f), "path"), path)) {
        err_set(e, ERR_USAGE, "--from %s: that is a run of another notebook, %s", run,
            json_str_or(fold_first(*f), "path", "unknown"));
        fold_free(STEAL(*f));
    }
    return *f ? STEAL(run) : NULL;
}

// The notebook as the kernel will have it, with the run's parameters where none are given.
static int inject(notebook *nb, const fold *f, char *const *given, cJSON **values, err *e)
{
    struct params params;
    const cJSON *value;
    if (params_find(nb, &params, e) < 0)
        return -1;
    cJSON_ArrayForEach(value, json_get(fold_last_start(f), "given"))
    {
        AUTO_FREE char *text = param_text(value);
        AUTO_FREE char *assignment = params_assignment(&params, value);
        if (!env_get((const char *const *)given, value->string) && !strstr(text, MASK_TEXT))
            params_give(&params, assignment, NULL); // a parameter that was removed
    }
    int result = 0;
    for (; result == 0 && given && *given; given++)
        result = params_give(&params, *given, e);
    if (result == 0)
        result = params_inject(&params, nb, e);
    *values = result == 0 ? params_values(&params) : NULL;
    params_done(&params);
    return result;
}

static void take_plan(struct stale *s)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, s->plan)
    {
        const char *does = json_str_or(one, "does", ""), *id = json_str_or(one, "cell", "");
        if (str_eq(does, "keep"))
            s->keep = strv_add(s->keep, id);
        if (str_eq(does, "anew"))
            s->again = strv_add(s->again, id);
    }
}

int stale_open(const char *cwd, const char *path, const char *word, char *const *given,
    struct stale *s, err *e)
{
    ERR_GUARD(e);
    fold *f = NULL;
    *s = (struct stale){0};
    AUTO_FREE char *file = path_absolute(path, e);
    if (!file)
        return -1;
    s->run = word ? named(cwd, file, word, &f, e) : newest(cwd, file, &f, e);
    notebook *nb = f ? notebook_load(path, e) : NULL;
    AUTO_JSON *params = NULL;
    int result = nb ? inject(nb, f, given, &params, e) : -1;
    if (result == 0) {
        notebook_adopt_ids(nb, fold_notebook(f));
        AUTO_JSON *list = outside_list(f);
        AUTO_JSON *outside = outside_look(list);
        s->plan = stale_plan(f, nb, outside, params);
        take_plan(s);
    }
    notebook_free(nb);
    fold_free(f);
    if (result < 0)
        e->code = ERR_USAGE; // nothing was run
    return result;
}

void stale_done(struct stale *s)
{
    free(s->run);
    cJSON_Delete(s->plan);
    strv_free(s->keep);
    strv_free(s->again);
    *s = (struct stale){0};
}

bool stale_holds(const struct stale *s)
{
    return stale_plan_count(s->plan, "keep") == (size_t)cJSON_GetArraySize(s->plan);
}

static const char *verb_of(const char *does)
{
    return str_eq(does, "anew")      ? "runs"
           : str_eq(does, "rebuild") ? "rebuilds"
           : str_eq(does, "verify")  ? "verifies"
                                     : "stays";
}

static int title_width(const cJSON *plan)
{
    enum { MOST = 32 };
    const cJSON *one;
    int w = 0;
    cJSON_ArrayForEach(one, plan)
    {
        const char *title = json_str_or(one, "title", "");
        int now = text_width(title, strlen(title), 0);
        w = now > w ? now : w;
    }
    return w < MOST ? w : MOST;
}

void stale_print(const struct stale *s, FILE *to)
{
    int w = title_width(s->plan);
    const cJSON *one;
    AUTO_BUF text = {0}, shown = {0};
    buf_fmt(&text, "stale against %s: %zu of %d cells\n", s->run, stale_plan_count(s->plan, "anew"),
        cJSON_GetArraySize(s->plan));
    cJSON_ArrayForEach(one, s->plan)
    {
        const char *title = json_str_or(one, "title", "");
        int pad = w - text_width(title, strlen(title), 0);
        buf_fmt(&text, "  %-8s  %s%*s  %s\n", verb_of(json_str_or(one, "does", "")), title,
            pad > 0 ? pad : 0, "", json_str_or(one, "why", ""));
    }
    printable(&shown, text.data, text.len);
    say(to, "%s", buf_cstr(&shown));
}

void stale_print_json(const struct stale *s)
{
    AUTO_JSON *all = cJSON_CreateObject();
    json_set_str(all, "run", s->run);
    json_set(all, "cells", cJSON_Duplicate(s->plan, true));
    say_json(all, 0);
}
