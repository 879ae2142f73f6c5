// SPDX-License-Identifier: MIT
#include "script/journal/runs/earlier.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/journal/file/reader.h"
#include "script/journal/file/writer.h"
#include "script/notebook/params.h"

#include <string.h>

// STAMP: the length of "20260102-030405-1a2b" in a run's name. The next: the most journals that are
// read. PARSED: how much more it costs to parse a record than to find its place.
enum { STAMP = 20, TRIED_MOST = 64, PARSED = 8 };

struct earlier {
    char *folder, *path, *own;
    char *like;    // the run's names up to their stamp
    cJSON *values; // of the parameters
    bool injected; // the notebook kept parameters that were given: no run began with all of them
    char **runs;   // NULL: not listed yet
    size_t next, tried;
    struct earlier_run now; // the run that is being read
    size_t next_fact;       // the next record that its facts need
    cJSON *first;           // its first record
};

static const cell *injected_in(const notebook *nb)
{
    for (size_t i = 0; i < notebook_count(nb); i++)
        if (cell_has_tag(notebook_cell(nb, i), "injected-parameters"))
            return notebook_cell(nb, i);
    return NULL;
}

// The values of a notebook's parameters, replaced by the given ones: {name = value}.
static cJSON *values_of(const notebook *nb, const char *const *given)
{
    struct params params;
    if (params_find(nb, &params, NULL) < 0)
        return cJSON_CreateObject();
    const cell *injected = given && *given ? NULL : injected_in(nb);
    AUTO_JSON *said = injected ? params_said(nb, injected) : NULL;
    const cJSON *value;
    for (; given && *given; given++)
        params_give(&params, *given, NULL);
    cJSON *values = params_values(&params);
    cJSON_ArrayForEach(value, said) json_set(values, value->string, cJSON_Duplicate(value, true));
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
        .values = values_of(of->notebook, of->given),
        .injected = injected_in(of->notebook) != NULL};
    return e;
}

void earlier_done(struct earlier_run *r)
{
    replay_free(r->replay);
    fold_free(r->outline);
    fold_free(r->facts);
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

// Can the run have the same parameters? It began with them, or a person could change them in it.
static bool may_be(const earlier *e, const cJSON *first)
{
    return str_eq(json_str(first, "path"), e->path) &&
           (!json_bool_or(first, "headless", false) || e->injected ||
               json_equal(json_get(first, "parameters"), e->values));
}

// Opens the next run that can match. false: there are no more.
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

// Checks a run that was read to its end.
static void begin_facts(earlier *e, size_t bytes)
{
    if (replay_look(e->now.replay, bytes))
        return;
    e->now.outline = replay_outline(e->now.replay);
    e->now.facts = fold_new();
    e->next_fact = 0;
    AUTO_JSON *params = fold_params(e->now.outline);
    if (!replay_ran(e->now.replay) || !json_equal(params, e->values))
        earlier_done(&e->now);
}

int earlier_next(earlier *e, size_t bytes, struct earlier_run *out)
{
    if (!e->runs) {
        e->runs = journal_list(e->folder, NULL);
        return e->runs ? 0 : -1;
    }
    if (!e->now.replay)
        return open_next(e) ? 0 : -1;
    if (!e->now.facts) {
        begin_facts(e, bytes);
        return 0;
    }
    if (replay_add_facts(e->now.replay, e->now.facts, &e->next_fact, bytes / PARSED))
        return 0;
    *out = e->now;
    e->now = (struct earlier_run){0};
    return 1;
}
