// SPDX-License-Identifier: MIT
// The child records of a run: trials and measurements. Each is a branch of a cell with a name of
// its own. What is recorded and shown in that branch, and in branches below it, belongs to the
// child.
//   children ─ name, cell, branch, value, recorded      found by "cell\0branch"
//   past_children ─ {name: value}: those of an earlier kernel of the run
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/fold/fold_private.h"

#include <string.h>

static bool find(const fold *f, const char *id, const char *branch, size_t n, size_t *at)
{
    AUTO_BUF key = {0};
    buf_add(&key, id, strlen(id) + 1);
    buf_add(&key, branch, n);
    return hashmap_get(f->by_branch, key.data, key.len, at);
}

static void put(fold *f, size_t at)
{
    const struct fold_child *c = &f->children[at];
    AUTO_BUF key = {0};
    if (!f->by_branch)
        f->by_branch = hashmap_new();
    buf_add(&key, c->cell, strlen(c->cell) + 1);
    buf_str(&key, c->branch);
    hashmap_set(f->by_branch, key.data, key.len, at);
}

struct fold_child *fold_child_of(const fold *f, const char *id, const char *branch)
{
    size_t at;
    if (!branch || !id || !f->by_branch)
        return NULL;
    for (size_t n = strlen(branch); n > 0;) { // it or a branch above
        if (find(f, id, branch, n, &at))
            return &f->children[at];
        do
            n--;
        while (n > 0 && branch[n] != '/');
    }
    return NULL;
}

int fold_add_child(fold *f, const cJSON *r, err *e)
{
    size_t at;
    const char *name = json_str(r, "name"), *id = json_str(r, "cell"),
               *branch = json_str(r, "branch");
    const cJSON *value = json_get(r, "value");
    if (!name || !id || !branch || !cJSON_IsObject(value))
        return err_set(e, ERR_INVALID, "a child record without name, cell, branch or value");
    if (!f->by_branch || !find(f, id, branch, strlen(branch), &at)) {
        at = f->n_children++;
        f->children = mem_resize(f->children, f->n_children, sizeof *f->children);
        f->children[at] = (struct fold_child){.name = mem_strdup(name),
            .cell = mem_strdup(id),
            .branch = mem_strdup(branch),
            .started = f->last};
        put(f, at);
    }
    struct fold_child *c = &f->children[at];
    cJSON_Delete(c->value);
    c->value = cJSON_Duplicate(value, true);
    c->ended = f->last;
    return 0;
}

static void child_done(struct fold_child *c)
{
    free(c->name);
    free(c->cell);
    free(c->branch);
    cJSON_Delete(c->value);
    cJSON_Delete(c->recorded);
}

void fold_keep_past_children(fold *f, const char *id)
{
    if (!f->past_children)
        f->past_children = cJSON_CreateObject();
    for (size_t i = 0; i < f->n_children; i++)
        if (!id || str_eq(f->children[i].cell, id))
            json_set(
                f->past_children, f->children[i].name, cJSON_Duplicate(f->children[i].value, true));
}

void fold_forget_children(fold *f, const char *id)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_children; i++)
        if (!id || str_eq(f->children[i].cell, id))
            child_done(&f->children[i]);
        else
            f->children[n++] = f->children[i];
    if (n == f->n_children)
        return;
    f->n_children = n;
    hashmap_clear(f->by_branch);
    for (size_t i = 0; i < n; i++)
        put(f, i);
}

void fold_free_children(fold *f)
{
    fold_forget_children(f, NULL);
    free(f->children);
    hashmap_free(f->by_branch);
    cJSON_Delete(f->past_children);
}

void fold_copy_children(fold *f, const fold *from)
{
    f->by_branch = NULL;
    f->past_children = cJSON_Duplicate(from->past_children, true);
    f->children = from->n_children ? mem_array(from->n_children, sizeof *f->children) : NULL;
    for (size_t i = 0; i < from->n_children; i++) {
        const struct fold_child *c = &from->children[i];
        f->children[i] = (struct fold_child){.name = mem_strdup(c->name),
            .cell = mem_strdup(c->cell),
            .branch = mem_strdup(c->branch),
            .value = cJSON_Duplicate(c->value, true),
            .recorded = cJSON_Duplicate(c->recorded, true),
            .started = c->started,
            .ended = c->ended};
        put(f, i);
    }
}

// A child cannot still run when its run has ended.
static const char *state_of(const fold *f, const struct fold_child *c)
{
    const char *state = json_str_or(c->value, "state", "running");
    return str_eq(state, "running") && f->state != RUN_RUNNING ? "interrupted" : state;
}

const struct fold_child *fold_child_named(const fold *f, const char *name)
{
    for (size_t i = f->n_children; i-- > 0;) // of two with the same name, the later one
        if (str_eq(f->children[i].name, name))
            return &f->children[i];
    return NULL;
}

// A child that a resumed run took over names the time at which it began.
static int64_t began_of(const struct fold_child *c)
{
    int64_t began;
    const char *told = json_str(c->value, "started");
    return told && clock_parse_rfc3339(told, &began, NULL) == 0 ? began : c->started;
}

// Keeps only the child's outputs of a cell.
static void narrow_outputs(fold *f, struct run_cell *c, const struct fold_child *child)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_outputs; i++)
        if (fold_child_of(f, c->id, c->outputs[i].branch) == child)
            c->outputs[n++] = c->outputs[i];
        else
            fold_output_done(&c->outputs[i]);
    c->n_outputs = n;
}

static void narrow_ledger(fold *f, const struct fold_child *child)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_ledger; i++)
        if (fold_child_of(f, f->ledger[i].cell, f->ledger[i].branch) == child)
            f->ledger[n++] = f->ledger[i];
        else
            fold_ledger_done(&f->ledger[i]);
    f->n_ledger = n;
}

int fold_narrow(fold *f, const char *name, err *e)
{
    const struct fold_child *child = fold_child_named(f, name);
    if (!child)
        return err_set(e, ERR_NOT_FOUND,
            "the run %s has no child \"%s\"; `firesteel runs --children` lists them",
            f->run ? f->run : "?", name);
    for (size_t i = 0; i < f->n_cells; i++)
        narrow_outputs(f, &f->cells[i], child);
    narrow_ledger(f, child);
    hashmap_clear(f->by_display);
    for (size_t i = 0; i < f->n_series; i++)
        if (str_eq(f->series[i].child, name))
            free(STEAL(f->series[i].child));
        else
            f->series[i].n = 0;
    cJSON_Delete(f->recorded);
    f->recorded = cJSON_Duplicate(child->recorded, true);
    cJSON_Delete(STEAL(f->branches));
    char *run = str_fmt("%s/%s", f->run ? f->run : "?", name);
    free(f->run);
    f->run = run;
    const char *state = state_of(f, child);
    f->state = str_eq(state, "running")       ? RUN_RUNNING
               : str_eq(state, "failed")      ? RUN_FAILED
               : str_eq(state, "interrupted") ? RUN_INTERRUPTED
               : str_eq(state, "stopped")     ? RUN_STOPPED
                                              : RUN_OK;
    f->narrowed = true;
    f->started = began_of(child);
    const cJSON *seconds = json_get(child->value, "seconds"); // a child taken over has its own time
    f->earlier = cJSON_IsNumber(seconds) ? (int64_t)(seconds->valuedouble * CLOCK_SEC)
                                         : child->ended - child->started;
    free(f->message);
    f->message = mem_strdup(json_str(child->value, "error"));
    f->mono_start = f->mono_last;
    fold_forget_children(f, NULL);
    return 0;
}

bool fold_is_child(const fold *f)
{
    return f->narrowed;
}

static cJSON *row_of(const fold *f, const struct fold_child *c)
{
    static const char *const texts[] = {"by", "mode", "error"};
    cJSON *row = cJSON_CreateObject();
    const cJSON *seconds = json_get(c->value, "seconds");
    AUTO_FREE char *run = str_fmt("%s/%s", f->run ? f->run : "?", c->name);
    json_set_str(row, "run", run);
    json_set_str(row, "parent", f->run);
    json_set_str(row, "of", json_str(c->value, "of"));
    json_set_str(row, "state", state_of(f, c));
    json_set_int(row, "began", began_of(c));
    json_set(row, "seconds",
        cJSON_IsNumber(seconds) ? cJSON_Duplicate(seconds, true)
                                : cJSON_CreateNumber((double)(c->ended - c->started) / CLOCK_SEC));
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (json_str(c->value, texts[i]))
            json_set_str(row, texts[i], json_str(c->value, texts[i]));
    return row;
}

cJSON *fold_children(const fold *f)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < f->n_children; i++) {
        cJSON *row = row_of(f, &f->children[i]), *results = fold_child_results(f, &f->children[i]);
        while (results->child) {
            cJSON *part = cJSON_DetachItemViaPointer(results, results->child);
            json_set(row, part->string, part);
        }
        cJSON_Delete(results);
        cJSON_AddItemToArray(list, row);
    }
    return list;
}

cJSON *fold_past_children(const fold *f)
{
    cJSON *past = f->past_children ? cJSON_Duplicate(f->past_children, true) : cJSON_CreateObject();
    for (size_t i = 0; i < f->n_children; i++)
        json_set(past, f->children[i].name, cJSON_Duplicate(f->children[i].value, true));
    return past;
}
