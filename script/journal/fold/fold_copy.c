// SPDX-License-Identifier: MIT
// Copies a run's state, so that a reader can come back to it after more events.
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/fold/fold_private.h"

#include <string.h>

enum { NODE = 64 }; // size of a JSON value in bytes, approximately

// Its rows are found again when they change.
static struct output copy_output(const struct output *from)
{
    struct output o = *from;
    o.name = mem_strdup(from->name);
    o.text = from->text ? mem_dup_text(from->text, from->text_n) : NULL;
    o.branch = mem_strdup(from->branch);
    o.spool = mem_strdup(from->spool);
    o.data = cJSON_Duplicate(from->data, true);
    o.rows = NULL;
    return o;
}

static struct run_cell copy_cell(const struct run_cell *from)
{
    struct run_cell c = *from;
    c.id = mem_strdup(from->id);
    c.used = cJSON_Duplicate(from->used, true);
    c.outputs = from->n_outputs ? mem_array(from->n_outputs, sizeof *c.outputs) : NULL;
    for (size_t i = 0; i < from->n_outputs; i++)
        c.outputs[i] = copy_output(&from->outputs[i]);
    return c;
}

static struct ledger_entry copy_entry(const struct ledger_entry *from)
{
    struct ledger_entry l = *from;
    l.cell = mem_strdup(from->cell);
    l.branch = mem_strdup(from->branch);
    l.branch_key = mem_strdup(from->branch_key);
    l.binding = mem_strdup(from->binding);
    l.effect = mem_strdup(from->effect);
    l.what = mem_strdup(from->what);
    l.source = mem_strdup(from->source);
    l.arguments = mem_strdup(from->arguments);
    l.message = mem_strdup(from->message);
    l.made = cJSON_Duplicate(from->made, true);
    l.result = cJSON_Duplicate(from->result, true);
    return l;
}

static void copy_cells(fold *f, const fold *from)
{
    size_t n = from->n_cells + from->n_gone;
    f->by_id = hashmap_new();
    f->by_display = hashmap_new();
    f->cells = mem_array(n + 1, sizeof *f->cells);
    for (size_t i = 0; i < n; i++)
        f->cells[i] = copy_cell(&from->cells[i]);
    for (size_t i = n; i-- > 0;) { // backwards: of two with the same id the first wins
        const struct run_cell *c = &f->cells[i];
        hashmap_set(f->by_id, c->id, strlen(c->id), i);
        for (size_t k = 0; k < c->n_outputs; k++)
            if (c->outputs[k].kind == OUTPUT_DISPLAY)
                hashmap_set(f->by_display, &c->outputs[k].id, sizeof c->outputs[k].id, i);
    }
}

static void copy_series(fold *f, const fold *from)
{
    f->by_series = NULL;
    f->series = from->n_series ? mem_array(from->n_series, sizeof *f->series) : NULL;
    for (size_t i = 0; i < from->n_series; i++) {
        const struct metric_series *s = &from->series[i];
        f->series[i] = *s;
        f->series[i].cell = mem_strdup(s->cell);
        f->series[i].name = mem_strdup(s->name);
        f->series[i].child = mem_strdup(s->child);
        f->series[i].branch = mem_strdup(s->branch);
        f->series[i].points = mem_dup(s->points, s->cap * sizeof *s->points);
        fold_index_series(f, i);
    }
}

fold *fold_copy(const fold *from)
{
    fold *f = mem_alloc(sizeof *f);
    *f = *from;
    f->run = mem_strdup(from->run);
    notebook *nb = notebook_copy(from->nb);
    f->nb = nb ? nb : notebook_new();
    f->first = cJSON_Duplicate(from->first, true);
    f->resumed = cJSON_Duplicate(from->resumed, true);
    f->cluster = cJSON_Duplicate(from->cluster, true);
    f->params = cJSON_Duplicate(from->params, true);
    f->said = cJSON_Duplicate(from->said, true);
    f->recorded = cJSON_Duplicate(from->recorded, true);
    f->branches = cJSON_Duplicate(from->branches, true);
    f->learned = cJSON_Duplicate(from->learned, true);
    f->message = mem_strdup(from->message);
    f->running = mem_strdup(from->running);
    f->error = copy_output(&from->error);
    copy_cells(f, from);
    copy_series(f, from);
    fold_copy_children(f, from);
    fold_copy_globals(f, from);
    f->ledger = mem_array(from->n_ledger + 1, sizeof *f->ledger);
    for (size_t i = 0; i < from->n_ledger; i++)
        f->ledger[i] = copy_entry(&from->ledger[i]);
    return f;
}

static size_t weigh(const cJSON *j)
{
    size_t weight = 0;
    for (; j; j = j->next)
        weight += NODE + (j->valuestring ? strlen(j->valuestring) : 0) + weigh(j->child);
    return weight;
}

size_t fold_weight(const fold *f)
{
    size_t weight = weigh(f->first) + weigh(f->recorded) + weigh(f->branches);
    for (size_t i = 0; i < f->n_cells + f->n_gone; i++) {
        const struct run_cell *c = &f->cells[i];
        weight += weigh(c->used);
        weight += sizeof *c + c->n_outputs * sizeof *c->outputs;
        for (size_t k = 0; k < c->n_outputs; k++)
            weight += c->outputs[k].text_n + weigh(c->outputs[k].data);
    }
    for (size_t i = 0; i < f->n_series; i++)
        weight += f->series[i].cap * sizeof *f->series[i].points;
    for (size_t i = 0; i < f->n_children; i++)
        weight += weigh(f->children[i].value) + weigh(f->children[i].recorded);
    for (size_t i = 0; i < f->n_ledger; i++)
        weight += sizeof *f->ledger + weigh(f->ledger[i].made) + weigh(f->ledger[i].result);
    return weight;
}
