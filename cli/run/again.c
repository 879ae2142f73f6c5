// SPDX-License-Identifier: MIT
#include "cli/run/again.h"

#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/printable.h"
#include "base/str.h"
#include "cli/say.h"
#include "script/journal/compare/compare.h"
#include "script/journal/file/reader.h"
#include "script/journal/mask/mask.h"
#include "script/journal/runs/runs.h"
#include "script/notebook/params.h"

#include <string.h>

// A source that is partly masked cannot be run.
static int check_source(const struct again *a, err *e)
{
    const notebook *nb = fold_notebook(a->then);
    for (size_t i = 0; nb && i < notebook_count(nb); i++) {
        const cell *c = notebook_cell(nb, i);
        if (cell_has_tag(c, "injected-parameters") || !strstr(c->source, MASK_TEXT))
            continue;
        AUTO_FREE char *title = notebook_cell_title(nb, i);
        return err_set(e, ERR_USAGE,
            "--from %s: the journal hides a secret in the source of \"%s\", so it cannot be run "
            "from there; a secret belongs into the environment: secret(\"NAME\")",
            a->run, title);
    }
    return nb ? 0 : err_set(e, ERR_USAGE, "--from %s: its journal has no notebook", a->run);
}

static int find(const char *folder, const char *word, struct again *a, err *e)
{
    a->run = runs_pick(folder, NULL, word, e);
    AUTO_FREE char *file = a->run ? journal_file(folder, a->run) : NULL;
    a->journal = file ? path_absolute(file, e) : NULL; // for a kernel that works in another folder
    if (a->journal && journal_is_written(a->journal))
        return err_set(e, ERR_USAGE, "--from %s: the run is still going on", a->run);
    a->then = a->journal ? fold_shown(a->journal, NULL, e) : NULL;
    return a->then ? 0 : -1;
}

int again_open(const char *folder, const char *word, struct again *a, err *e)
{
    ERR_GUARD(e);
    int64_t seed;
    *a = (struct again){0};
    if (find(folder, word, a, e) < 0 || check_source(a, e) < 0) {
        e->code = ERR_USAGE; // nothing was run
        return -1;
    }
    const cJSON *first = fold_first(a->then);
    a->spools = mem_strndup(a->journal, strlen(a->journal) - strlen(".jsonl"));
    a->path = json_str(first, "path");
    a->cwd = json_str(first, "cwd");
    a->sandbox = json_bool_or(first, "sandbox", false);
    if (json_int(json_get(first, "seed"), &seed))
        a->seed = str_fmt("%lld", (long long)seed);
    return a->path ? 0 : err_set(e, ERR_USAGE, "--from %s: its journal names no notebook", a->run);
}

void again_done(struct again *a)
{
    fold_free(a->then);
    free(a->run);
    free(a->journal);
    free(a->spools);
    free(a->seed);
    *a = (struct again){0};
}

int again_parameters(const struct again *a, char ***given, err *e)
{
    char **all = NULL;
    CLEANUP(params_done) struct params then;
    params_find(fold_notebook(a->then), &then, NULL);
    AUTO_JSON *params = fold_params(a->then); // a given parameter may have been edited
    const cJSON *given_then, *value;
    cJSON_ArrayForEach(given_then, json_get(fold_last_start(a->then), "given"))
    {
        value = json_get(params, given_then->string);
        if (!value)
            continue;
        AUTO_FREE char *text = param_text(value);
        AUTO_FREE char *assignment = params_assignment(&then, value);
        if (env_get((const char *const *)*given, value->string))
            continue;
        if (strstr(text, MASK_TEXT)) {
            strv_free(all);
            return err_set(e, ERR_USAGE,
                "the journal hides the value of parameter %s: give it again with -p %s=…",
                value->string, value->string);
        }
        all = strv_add(all, assignment);
    }
    for (char **g = *given; g && *g; g++)
        all = strv_add(all, *g);
    strv_free(*given);
    *given = all;
    return 0;
}

// What has changed since then, which may explain why results have moved.
static void print_others(const struct compared *then, const struct compared *now, buf *out)
{
    static const struct {
        const char *list, *name;
    } kinds[] = {{"inputs", "input"}, {"images", "image"}, {"versions", "version of"},
        {"environment", "variable"}};
    enum { TOLD = 8 };
    AUTO_JSON *difference = compare_runs(then, now);
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const cJSON *pair;
        cJSON_ArrayForEach(pair, json_get(difference, kinds[i].list))
        {
            if (n++ < TOLD)
                buf_fmt(out, "%s%s %s", n > 1 ? ", " : "  others than then: ", kinds[i].name,
                    pair->string);
        }
    }
    if (n > TOLD)
        buf_fmt(out, " and %zu more", n - TOLD);
    if (n)
        buf_char(out, '\n');
}

bool again_compare(const struct again *a, const fold *now, const char *spools, FILE *to)
{
    const struct compared then = {a->then, a->spools}, today = {now, spools};
    AUTO_JSON *found = compare_again(&then, &today);
    AUTO_BUF text = {0}, shown = {0};
    compare_again_print(found, &text);
    print_others(&then, &today, &text);
    printable(&shown, text.data, text.len);
    say(to, "%s", buf_cstr(&shown));
    return json_int_or(found, "moved", 0) > 0;
}
