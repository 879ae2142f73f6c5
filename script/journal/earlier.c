// SPDX-License-Identifier: MIT
#include "script/journal/earlier.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/journal/reader.h"
#include "script/journal/writer.h"
#include "script/notebook/params.h"

#include <string.h>

// STAMP: the part of a run's name "20260102-030405-1a2b". Only so many journals are looked into.
enum { STAMP = 20, TRIED_MOST = 64 };

struct earlier {
    char *folder, *path, *own;
    char *like;    // the run's names up to their stamp
    cJSON *values; // of the parameters
    char **runs;   // NULL: not listed yet
    size_t next, tried;
    struct earlier_run now; // one that is being gone through
    cJSON *first;           // its first record
};

// The values of the parameters that a notebook has, with those that were given: {name = value}.
static cJSON *values_of(const notebook *nb, const char *const *given)
{
    struct params params;
    if (params_find(nb, &params, NULL) < 0)
        return cJSON_CreateObject();
    for (; given && *given; given++)
        params_give(&params, *given, NULL);
    cJSON *values = params_values(&params);
    params_done(&params);
    return values;
}

earlier *earlier_new(const struct earlier_of *of)
{
    earlier *e = mem_alloc(sizeof *e);
    AUTO_FREE char *like = journal_run_name(of->name, 0);
    *e = (earlier){.folder = mem_strdup(of->folder),
        .path = mem_strdup(of->path),
        .own = mem_strdup(of->own),
        .like = mem_strndup(like, strlen(like) - STAMP),
        .values = values_of(of->notebook, of->given)};
    return e;
}

void earlier_done(struct earlier_run *r)
{
    replay_free(r->replay);
    fold_free(r->outline);
    free(r->run);
    free(r->spools);
    *r = (struct earlier_run){0};
}

void earlier_free(earlier *e)
{
    if (!e)
        return;
    earlier_done(&e->now);
    cJSON_Delete(e->first);
    cJSON_Delete(e->values);
    if (e->runs)
        strv_free(e->runs);
    free(e->folder);
    free(e->path);
    free(e->own);
    free(e->like);
    free(e);
}

// A run that has begun with these parameters, or where somebody could change them.
static bool may_be(const earlier *e, const cJSON *first)
{
    return str_eq(json_str(first, "path"), e->path) &&
           (!json_bool_or(first, "headless", false) ||
               json_equal(json_get(first, "parameters"), e->values));
}

// Opens the next run that may be one. false: there are no more.
static bool open_next(earlier *e)
{
    size_t prefix = strlen(e->like);
    while (e->runs && e->runs[e->next] && e->tried < TRIED_MOST) {
        const char *run = e->runs[e->next++];
        if (strlen(run) != prefix + STAMP || strncmp(run, e->like, prefix) != 0 ||
            str_eq(run, e->own))
            continue;
        e->tried++;
        AUTO_FREE char *path = journal_file(e->folder, run);
        cJSON_Delete(e->first);
        e->first = journal_first(path);
        if (!may_be(e, e->first) || !(e->now.replay = replay_open(path, NULL)))
            continue;
        e->now.run = mem_strdup(run);
        e->now.spools = mem_strndup(path, strlen(path) - strlen(".jsonl"));
        return true;
    }
    return false;
}

// The parameters with which its cells ran: as its document was at the end, and what was given.
static bool has_our_parameters(const earlier *e)
{
    AUTO_JSON *values = values_of(fold_notebook(e->now.outline), NULL);
    const cJSON *given = json_get(fold_last_start(e->now.outline), "given"), *value;
    cJSON_ArrayForEach(value, given) if (json_get(values, value->string))
        json_set(values, value->string, cJSON_Duplicate(value, true));
    return json_equal(values, e->values);
}

int earlier_next(earlier *e, size_t bytes, struct earlier_run *out)
{
    if (!e->runs) {
        e->runs = journal_list(e->folder, NULL);
        return e->runs ? 0 : -1;
    }
    if (!e->now.replay)
        return open_next(e) ? 0 : -1;
    if (replay_look(e->now.replay, bytes))
        return 0;
    e->now.outline = replay_outline(e->now.replay);
    if (!replay_ran(e->now.replay) || !has_our_parameters(e)) {
        earlier_done(&e->now);
        return 0;
    }
    *out = e->now;
    e->now = (struct earlier_run){0};
    return 1;
}
