// SPDX-License-Identifier: MIT
#include "script/journal/fold/fold.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/file/reader.h"
#include "script/journal/fold/fold_private.h"

#include <string.h>

static const char *const cell_state_names[] = {
#define X(name, text) text,
    CELL_STATES(X)
#undef X
};

static const char *const run_state_names[] = {
#define X(name, text) text,
    RUN_STATES(X)
#undef X
};

const char *cell_state_name(enum cell_state s)
{
    return cell_state_names[s];
}

const char *run_state_name(enum run_state s)
{
    return run_state_names[s];
}

void fold_output_done(struct output *o)
{
    free(o->name);
    free(o->branch);
    free(o->text);
    free(o->spool);
    rowset_free(o->rows);
    cJSON_Delete(o->data);
    *o = (struct output){0};
}

static void outputs_done(struct run_cell *c)
{
    for (size_t i = 0; i < c->n_outputs; i++)
        fold_output_done(&c->outputs[i]);
    free(c->outputs);
    c->outputs = NULL;
    c->n_outputs = 0;
}

void fold_clear_outputs(fold *f, struct run_cell *c)
{
    for (size_t i = 0; i < c->n_outputs; i++)
        if (c->outputs[i].kind == OUTPUT_DISPLAY)
            hashmap_remove(f->by_display, &c->outputs[i].id, sizeof c->outputs[i].id);
    outputs_done(c);
    cJSON_Delete(STEAL(c->used));
}

void fold_cell_done(struct run_cell *c)
{
    outputs_done(c);
    cJSON_Delete(c->used);
    free(c->id);
}

fold *fold_new(void)
{
    fold *f = mem_alloc(sizeof *f);
    f->nb = notebook_new();
    f->by_id = hashmap_new();
    f->by_display = hashmap_new();
    f->exit = -1;
    return f;
}

void fold_keep_rows(fold *f, size_t n)
{
    f->rows_most = n;
}

void fold_ledger_done(struct ledger_entry *l)
{
    free(l->cell);
    free(l->branch);
    free(l->branch_key);
    free(l->binding);
    free(l->effect);
    free(l->what);
    free(l->source);
    free(l->arguments);
    free(l->message);
    cJSON_Delete(l->made);
    cJSON_Delete(l->result);
}

void fold_free(fold *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->n_cells + f->n_gone; i++)
        fold_cell_done(&f->cells[i]);
    free(f->running);
    for (size_t i = 0; i < f->n_ledger; i++)
        fold_ledger_done(&f->ledger[i]);
    free(f->cells);
    hashmap_free(f->by_id);
    hashmap_free(f->by_display);
    fold_free_globals(f);
    free(f->ledger);
    free(f->run);
    free(f->message);
    fold_output_done(&f->error);
    cJSON_Delete(f->first);
    cJSON_Delete(f->resumed);
    cJSON_Delete(f->cluster);
    cJSON_Delete(f->params);
    cJSON_Delete(f->said);
    cJSON_Delete(f->recorded);
    cJSON_Delete(f->branches);
    fold_free_points(f);
    fold_free_children(f);
    cJSON_Delete(f->learned);
    notebook_free(f->nb);
    notebook_free(f->expected);
    free(f);
}

struct run_cell *fold_find_cell(const fold *f, const char *id)
{
    size_t at;
    return id && hashmap_get(f->by_id, id, strlen(id), &at) ? &f->cells[at] : NULL;
}

struct output *fold_find_display(const fold *f, int64_t id)
{
    size_t at;
    if (!hashmap_get(f->by_display, &id, sizeof id, &at))
        return NULL;
    struct run_cell *c = &f->cells[at];
    for (size_t k = c->n_outputs; k-- > 0;)
        if (c->outputs[k].kind == OUTPUT_DISPLAY && c->outputs[k].id == id)
            return &c->outputs[k];
    return NULL;
}

static fold *fold_most(
    const char *path, bool (*skips)(const char *line, size_t n), err *first_bad, err *e)
{
    reader *r = reader_open(path, e);
    if (!r)
        return NULL;
    reader_skip(r, skips);
    fold *f = fold_new();
    err bad = {0};
    size_t good = 0;
    fold_keep_rows(f, skips ? 1 : 0);
    for (;;) {
        cJSON *record;
        err why = {0};
        int result = reader_next(r, &record, &why);
        if (result == 0)
            break;
        if (result > 0 && fold_event(f, record, &why) < 0) {
            err_wrap(&why, "%s line %zu", path, reader_line_number(r));
            why.code = ERR_CORRUPT;
        }
        cJSON_Delete(record);
        good += !why.code;
        if (!why.code)
            continue;
        if (why.code != ERR_CORRUPT) {
            err_set(e, why.code, "%s", why.text);
            fold_free(STEAL(f));
            break;
        }
        if (f->corrupt++ == 0)
            bad = why;
    }
    reader_close(r);
    if (first_bad && f && f->corrupt)
        err_give(first_bad, &bad);
    if (f && f->corrupt && !good) {
        err_set(e, ERR_CORRUPT, "no line of this journal can be read; the first: %s", bad.text);
        fold_free(STEAL(f));
    }
    return f;
}

fold *fold_file(const char *path, err *first_bad, err *e)
{
    return fold_most(path, NULL, first_bad, e);
}

// Printed text, or a display other than a training's progress: it affects none of the results.
bool fold_only_shown(const char *line, size_t n)
{
    static const char *const types[] = {"stream\"", "display\"", "update\""};
    static const char before[] = "{\"type\":\"";
    size_t at = sizeof before - 1;
    if (n <= at || memcmp(line, before, at) != 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (n - at > strlen(types[i]) && memcmp(line + at, types[i], strlen(types[i])) == 0)
            return i == 0 || !memmem(line, n, PROGRESS, sizeof PROGRESS - 1);
    return false;
}

fold *fold_without_outputs(const char *path, err *e)
{
    return fold_most(path, fold_only_shown, NULL, e);
}

fold *fold_shown(const char *path, err *first_bad, err *e)
{
    bool written = journal_is_written(path); // ask before reading: the writer may end meanwhile
    fold *f = fold_file(path, first_bad, e);
    if (f && written)
        fold_goes_on(f, clock_mono());
    else if (f)
        fold_abandon(f);
    return f;
}

void fold_abandon(fold *f)
{
    if (f->state == RUN_RUNNING)
        f->state = RUN_KILLED;
}

const char *fold_run(const fold *f)
{
    return f->run;
}

const notebook *fold_notebook(const fold *f)
{
    return f->nb;
}

const cJSON *fold_first(const fold *f)
{
    return f->first;
}

const cJSON *fold_last_start(const fold *f)
{
    return f->resumed ? f->resumed : f->first;
}

const cJSON *fold_cluster(const fold *f)
{
    return f->cluster;
}

enum run_state fold_state(const fold *f)
{
    return f->state;
}

int fold_exit(const fold *f)
{
    return f->exit;
}

const char *fold_message(const fold *f)
{
    return f->message;
}

const struct output *fold_error(const fold *f)
{
    return f->has_error ? &f->error : NULL;
}

int64_t fold_started(const fold *f)
{
    return f->started;
}

int64_t fold_last(const fold *f)
{
    return f->last;
}

int64_t fold_duration(const fold *f)
{
    return f->earlier + (f->mono_last - f->mono_start);
}

void fold_goes_on(fold *f, int64_t mono)
{
    if (f->state == RUN_RUNNING && mono > f->mono_last)
        f->mono_last = mono;
}

uint64_t fold_seq(const fold *f)
{
    return f->seq;
}

uint64_t fold_turns(const fold *f)
{
    return f->turns;
}

size_t fold_corrupt(const fold *f)
{
    return f->corrupt;
}

size_t fold_count(const fold *f)
{
    return f->n_cells;
}

const struct run_cell *fold_cell(const fold *f, size_t i)
{
    return &f->cells[i];
}

const struct run_cell *fold_cell_by_id(const fold *f, const char *id, size_t *at)
{
    const struct run_cell *c = fold_find_cell(f, id);
    size_t i = c ? (size_t)(c - f->cells) : f->n_cells;
    if (i >= f->n_cells)
        return NULL; // the cell has left the document
    if (at)
        *at = i;
    return c;
}

size_t fold_gone_count(const fold *f)
{
    return f->n_gone;
}

const struct run_cell *fold_gone(const fold *f, size_t i)
{
    return &f->cells[f->n_cells + i];
}

size_t fold_in_state(const fold *f, enum cell_state state)
{
    return f->in_state[state];
}

const struct run_cell *fold_running(const fold *f)
{
    const struct run_cell *c = fold_cell_by_id(f, f->running, NULL);
    return c && c->state == STATE_RUNNING ? c : NULL;
}

const struct output *fold_display(const fold *f, int64_t id)
{
    return fold_display_cell(f, id) ? fold_find_display(f, id) : NULL;
}

const struct run_cell *fold_display_cell(const fold *f, int64_t id)
{
    size_t at;
    bool there = hashmap_get(f->by_display, &id, sizeof id, &at) && at < f->n_cells;
    return there ? &f->cells[at] : NULL;
}

size_t fold_ledger_count(const fold *f)
{
    return f->n_ledger;
}

const struct ledger_entry *fold_ledger(const fold *f, size_t i)
{
    return &f->ledger[i];
}

// An effect without an outcome may have been made; one that failed midway left what it had made.
bool ledger_left_over(const struct ledger_entry *l)
{
    return l->removable && !l->undone && !l->tidied && (!l->failed || l->midway);
}

size_t fold_left_overs(const fold *f)
{
    size_t n = 0;
    if (json_bool_or(f->first, "sandbox", false)) // a private sandbox went with the run
        return 0;
    for (size_t i = 0; i < f->n_ledger; i++)
        n += ledger_left_over(&f->ledger[i]);
    return n;
}
