// SPDX-License-Identifier: MIT
// How each type of event changes the state of a run: one function for each type, and their table.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/fold/fold_private.h"

#include <stdio.h>
#include <string.h>

static void set_string(char **to, const char *value)
{
    char *copy = mem_strdup(value);
    free(*to);
    *to = copy;
}

static void index_cell(fold *f, size_t at)
{
    const struct run_cell *c = &f->cells[at];
    hashmap_set(f->by_id, c->id, strlen(c->id), at);
    for (size_t i = 0; i < c->n_outputs; i++)
        if (c->outputs[i].kind == OUTPUT_DISPLAY)
            hashmap_set(f->by_display, &c->outputs[i].id, sizeof c->outputs[i].id, at);
}

static struct run_cell *cell_at(fold *f, const char *id)
{
    struct run_cell *c = fold_find_cell(f, id);
    if (c)
        return c;
    size_t at = f->n_cells++, last = at + f->n_gone;
    f->cells = mem_resize(f->cells, last + 1, sizeof *f->cells);
    if (f->n_gone) { // the cell that left first makes room
        f->cells[last] = f->cells[at];
        index_cell(f, last);
    }
    f->cells[at] = (struct run_cell){.id = mem_strdup(id)};
    f->in_state[STATE_IDLE]++;
    hashmap_set(f->by_id, id, strlen(id), at);
    return &f->cells[at];
}

static void count_states(fold *f)
{
    memset(f->in_state, 0, sizeof f->in_state);
    for (size_t i = 0; i < f->n_cells; i++)
        f->in_state[f->cells[i].state]++;
}

static void set_state(fold *f, struct run_cell *c, enum cell_state state)
{
    if (c < f->cells + f->n_cells) { // it has not left the document
        f->in_state[c->state]--;
        f->in_state[state]++;
    }
    c->state = state;
    if (state == STATE_RUNNING)
        set_string(&f->running, c->id);
}

static size_t weigh_json(const cJSON *j)
{
    size_t weight = 0;
    for (; j; j = j->next) {
        weight += sizeof *j + (j->string ? strlen(j->string) : 0);
        weight += (j->valuestring ? strlen(j->valuestring) : 0) + weigh_json(j->child);
    }
    return weight;
}

static size_t weigh(const struct run_cell *c)
{
    size_t weight = sizeof *c + weigh_json(c->used);
    for (size_t i = 0; i < c->n_outputs; i++)
        weight += sizeof c->outputs[i] + c->outputs[i].text_n + weigh_json(c->outputs[i].data);
    return weight;
}

// Has the cell something that it would lack if the document's cell came back without it?
static bool has_run(const struct run_cell *c)
{
    return c->id && (c->count || c->n_outputs);
}

// Keeps the outputs of a cell that has left the document: it may come back when its deletion is
// undone. If that takes too much memory, those that left last are kept.
static void keep_gone(fold *f, struct run_cell *cells, size_t n)
{
    enum { MOST = 32 << 20 };
    size_t total = f->n_cells + f->n_gone, weight = 0;
    for (size_t i = 0; i < total; i++) {
        struct run_cell *c = &f->cells[i];
        if (has_run(c) && !c->weight)
            c->weight = weigh(c);
        weight += has_run(c) ? c->weight : 0;
    }
    f->n_gone = 0;
    for (size_t k = 0; k < total; k++) { // cells that left earlier come first
        size_t i = (f->n_cells + k) % total;
        struct run_cell *c = &f->cells[i];
        bool kept = has_run(c) && weight <= MOST;
        weight -= has_run(c) && !kept ? c->weight : 0;
        if (kept)
            cells[n + f->n_gone++] = *c;
        else
            fold_cell_done(c);
    }
}

// Puts the cells into the document's order; new cells are idle.
static void follow_document(fold *f)
{
    size_t n = notebook_count(f->nb);
    struct run_cell *cells = mem_array(n + f->n_cells + f->n_gone + 1, sizeof *cells);
    for (size_t i = 0; i < n; i++) {
        const char *id = notebook_cell(f->nb, i)->id;
        struct run_cell *old = fold_find_cell(f, id);
        if (old && old->id)
            cells[i] = *old, cells[i].weight = 0, *old = (struct run_cell){0};
        else
            cells[i].id = mem_strdup(id);
    }
    keep_gone(f, cells, n);
    free(f->cells);
    f->cells = cells;
    f->n_cells = n;
    hashmap_clear(f->by_id);
    hashmap_clear(f->by_display);
    for (size_t i = n + f->n_gone; i-- > 0;) // backwards: of two with the same id the first wins
        index_cell(f, i);
    count_states(f);
}

void fold_expect(fold *f, notebook *nb)
{
    notebook_free(f->expected);
    f->expected = nb;
}

static notebook *read_document(fold *f, const char *text, err *e)
{
    size_t n = strlen(text);
    if (f->expected && notebook_was_read_from(f->expected, text, n))
        return STEAL(f->expected);
    return notebook_parse(text, n, e);
}

static int set_document(fold *f, const char *text, const cJSON *cells, err *e)
{
    if (!text)
        return err_set(e, ERR_INVALID, "a document without its text");
    notebook *nb = read_document(f, text, e);
    if (!nb)
        return err_wrap(e, "the document in the journal");
    size_t n = (size_t)cJSON_GetArraySize(cells), i = 0;
    AUTO_FREE const char **ids = mem_array(n + 1, sizeof *ids);
    for (const cJSON *c = cells ? cells->child : NULL; c; c = c->next)
        ids[i++] = cJSON_IsString(c) ? c->valuestring : json_str_or(c, "id", "");
    if (n && n == notebook_count(nb))
        notebook_set_ids(nb, ids, n, NULL);
    notebook_free(f->nb);
    f->nb = nb;
    follow_document(f);
    return 0;
}

static int on_run(fold *f, const cJSON *r, err *e)
{
    cJSON_Delete(f->first);
    f->first = cJSON_Duplicate(r, true);
    set_string(&f->run, json_str(r, "run"));
    f->started = f->last;
    f->mono_start = f->mono_last;
    return set_document(f, json_str(r, "notebook"), json_get(r, "cells"), e);
}

static void forget_cell(fold *f, struct run_cell *c, bool all)
{
    fold_clear_outputs(f, c);
    fold_keep_past_children(f, c->id);
    fold_forget_children(f, c->id);
    if (!all)
        fold_forget_recorded(f, c->id);
    *c = (struct run_cell){.id = c->id};
}

// Another kernel continues the run: its cells run again from the top, except those that it keeps.
static int on_resumed(fold *f, const cJSON *r, err *e)
{
    bool all = !json_get(r, "kept");
    cJSON_Delete(f->resumed);
    f->resumed = cJSON_Duplicate(r, true);
    cJSON_Delete(STEAL(f->params));
    cJSON_Delete(STEAL(f->said));
    f->mono_start = f->mono_last;
    f->state = RUN_RUNNING;
    f->exit = -1;
    free(STEAL(f->message));
    if (all) {
        cJSON_Delete(STEAL(f->recorded));
        cJSON_Delete(STEAL(f->branches));
        fold_forget_points(f, NULL);
        fold_free_globals(f);
    }
    fold_output_done(&f->error);
    f->has_error = false;
    for (size_t i = 0; i < f->n_cells + f->n_gone; i++)
        if (all || !fold_names(json_get(r, "kept"), f->cells[i].id))
            forget_cell(f, &f->cells[i], all);
    count_states(f);
    return set_document(f, json_str(r, "notebook"), json_get(r, "cells"), e);
}

static int on_cluster(fold *f, const cJSON *r, err *e)
{
    cJSON_Delete(f->cluster);
    f->cluster = cJSON_Duplicate(r, true);
    if (f->first && json_bool_or(r, "sandbox", false)) // a person may have started it later
        json_set_bool(f->first, "sandbox", true);
    return 0;
}

static int on_document(fold *f, const cJSON *r, err *e)
{
    return set_document(f, json_str(r, "text"), json_get(r, "cells"), e);
}

static void insert_cell(fold *f, const cJSON *r, const char *id)
{
    size_t at = 0;
    const char *after = json_str(r, "after");
    if (after && notebook_find(f->nb, after, &at))
        at++;
    notebook_insert_as(f->nb, at, id, json_str_or(r, "marker", ""), json_str_or(r, "source", ""));
}

static void move_cell(fold *f, const cJSON *r, size_t from)
{
    size_t to = 0;
    const char *after = json_str(r, "after");
    if (after && notebook_find(f->nb, after, &to))
        to += to < from;
    notebook_move(f->nb, from, to);
}

static int on_edited(fold *f, const cJSON *r, err *e)
{
    const char *change = json_str_or(r, "change", ""), *id = json_str(r, "cell");
    size_t i;
    bool known = id && notebook_find(f->nb, id, &i);
    if (str_eq(change, "insert") && id && !known)
        insert_cell(f, r, id);
    else if (str_eq(change, "move") && known)
        move_cell(f, r, i);
    else if (str_eq(change, "delete") && known)
        notebook_delete(f->nb, i);
    else if (str_eq(change, "edit") && known) {
        if (json_str(r, "source"))
            notebook_replace(f->nb, i, json_str(r, "source"));
        if (json_str(r, "marker"))
            notebook_set_marker(f->nb, i, json_str(r, "marker"));
        return 0; // all cells have kept their places
    }
    follow_document(f);
    return 0;
}

static int on_queued(fold *f, const cJSON *r, err *e)
{
    for (const cJSON *id = json_get(r, "cells") ? json_get(r, "cells")->child : NULL; id;
         id = id->next) {
        if (!cJSON_IsString(id))
            return err_set(e, ERR_INVALID, "an id of a queued cell that is no text");
        set_state(f, cell_at(f, id->valuestring), STATE_QUEUED);
    }
    return 0;
}

static int on_state(fold *f, const cJSON *r, err *e)
{
    const char *name = json_str_or(r, "state", ""), *id = json_str(r, "cell");
    enum cell_state state = STATE_IDLE;
    while (state <= STATE_STALE && !str_eq(name, cell_state_name(state)))
        state++;
    if (!id || state > STATE_STALE)
        return err_set(e, ERR_INVALID, "a state without a cell, or unknown: \"%s\"", name);
    struct run_cell *c = cell_at(f, id);
    set_state(f, c, state);
    if (state == STATE_RUNNING) {
        fold_clear_outputs(f, c);
        fold_forget_recorded(f, id);
        fold_begin_params(f, id);
        c->count = (long)json_int_or(r, "count", c->count + 1);
        snprintf(c->hash, sizeof c->hash, "%s", json_str_or(r, "hash", ""));
        c->started = f->last;
        c->ended = c->cleared = 0;
        c->mono_start = c->mono_end = f->mono_last;
    } else if (state == STATE_OK || state == STATE_FAILED || state == STATE_CANCELLED) {
        // A cell that is cancelled in the queue has no "ms"; one that is still running has no end.
        bool waited = state == STATE_CANCELLED && !json_get(r, "ms") && c->ended;
        c->ended = f->last;
        c->mono_end = f->mono_last;
        if (!c->started || waited)
            c->mono_start = c->mono_end; // it did not run this time
        cJSON_Delete(c->used);
        c->used = cJSON_Duplicate(json_get(r, "used"), true);
        c->ran = f->seq;
        c->resumed = json_bool_or(r, "resumed", false);
        snprintf(c->how, sizeof c->how, "%s", json_str_or(r, "how", c->resumed ? "verified" : ""));
        fold_note_writes(f, c);
        if (state == STATE_OK)
            fold_take_params(f, id);
    }
    return 0;
}

// The last output of a branch; if it has none, the last one of all. NULL: there is none.
static struct output *last_output(const struct run_cell *c, const char *branch)
{
    size_t i = c->n_outputs;
    if (!branch)
        return i && !c->outputs[i - 1].branch ? &c->outputs[i - 1] : NULL;
    while (i > 0 && !str_eq(c->outputs[i - 1].branch, branch))
        i--;
    return i ? &c->outputs[i - 1] : NULL;
}

static struct output *new_output(struct run_cell *c, enum output_kind kind, const char *branch)
{
    const struct output *before = branch ? last_output(c, branch) : NULL;
    size_t at = before ? (size_t)(before - c->outputs) + 1 : c->n_outputs;
    c->outputs = mem_resize(c->outputs, c->n_outputs + 1, sizeof *c->outputs);
    struct output *o = &c->outputs[at];
    memmove(o + 1, o, (c->n_outputs++ - at) * sizeof *o);
    *o = (struct output){.kind = kind, .branch = mem_strdup(branch)};
    return o;
}

// Appends to the last output if that is text of the same stream.
static void add_text(struct run_cell *c, const char *branch, const char *name, const char *text)
{
    struct output *last = last_output(c, branch);
    if (last && last->kind == OUTPUT_STREAM && last->text && str_eq(last->name, name)) {
        size_t more = strlen(text);
        last->text = mem_resize(last->text, last->text_n + more + 1, 1);
        memcpy(last->text + last->text_n, text, more + 1);
        last->text_n += more;
        return;
    }
    struct output *o = new_output(c, OUTPUT_STREAM, branch);
    o->name = mem_strdup(name);
    o->text = mem_strdup(text);
    o->text_n = strlen(text);
}

static void add_spooled(struct run_cell *c, const char *branch, const char *name, const cJSON *r)
{
    const char *spool = json_str(r, "spool");
    uint64_t from = (uint64_t)json_int_or(r, "from", 0), to = (uint64_t)json_int_or(r, "to", 0);
    struct output *last = last_output(c, branch);
    if (last && last->kind == OUTPUT_STREAM && str_eq(last->spool, spool) &&
        str_eq(last->name, name) && last->to == from) {
        last->to = to;
        return;
    }
    struct output *o = new_output(c, OUTPUT_STREAM, branch);
    o->name = mem_strdup(name);
    o->spool = mem_strdup(spool);
    o->from = from;
    o->to = to;
}

static int on_stream(fold *f, const cJSON *r, err *e)
{
    const char *id = json_str(r, "cell"), *name = json_str_or(r, "name", "stdout");
    if (!id)
        return err_set(e, ERR_INVALID, "a stream without a cell");
    struct run_cell *c = cell_at(f, id);
    if (json_str(r, "spool"))
        add_spooled(c, json_str(r, "branch"), name, r);
    else if (json_str(r, "text"))
        add_text(c, json_str(r, "branch"), name, json_str(r, "text"));
    return 0;
}

// The part of a bundle that is a table; NULL if none.
static cJSON *table_of(const cJSON *data)
{
    cJSON *part;
    cJSON_ArrayForEach(part, data)
    {
        if (cJSON_IsObject(part) && cJSON_IsArray(json_get(part, "rows")))
            return part;
    }
    return NULL;
}

static cJSON *first_rows(const cJSON *table, size_t most)
{
    cJSON *copy = cJSON_CreateObject(), *rows = NULL;
    const cJSON *field, *row;
    cJSON_ArrayForEach(field, table)
    {
        if (str_eq(field->string, "rows"))
            rows = json_array_at(copy, "rows");
        else
            json_set(copy, field->string, cJSON_Duplicate(field, true));
    }
    cJSON_ArrayForEach(row, json_get(table, "rows"))
    {
        if (most-- == 0)
            break;
        cJSON_AddItemToArray(rows, cJSON_Duplicate(row, true));
    }
    return copy;
}

// A bundle, new, with as many rows of its table as the fold keeps.
static cJSON *copy_bundle(const fold *f, const cJSON *data)
{
    const cJSON *table = f->rows_most ? table_of(data) : NULL, *part;
    if (!table)
        return cJSON_Duplicate(data, true);
    cJSON *copy = cJSON_CreateObject();
    cJSON_ArrayForEach(part, data)
    {
        json_set(copy, part->string,
            part == table ? first_rows(table, f->rows_most) : cJSON_Duplicate(part, true));
    }
    return copy;
}

static int on_display(fold *f, const cJSON *r, err *e)
{
    const char *id = json_str(r, "cell");
    if (!id)
        return err_set(e, ERR_INVALID, "a display without a cell");
    struct run_cell *c = cell_at(f, id);
    struct output *o = new_output(c, OUTPUT_DISPLAY, json_str(r, "branch"));
    o->id = json_int_or(r, "id", 0);
    hashmap_set(f->by_display, &o->id, sizeof o->id, (size_t)(c - f->cells));
    o->data = copy_bundle(f, json_get(r, "data"));
    o->live = json_bool_or(r, "live", false);
    o->result = json_bool_or(r, "result", false);
    return 0;
}

static void fold_rows(const fold *f, struct output *o, const cJSON *changes)
{
    const cJSON *row;
    cJSON *table = table_of(o->data);
    o->rows_newer = true;
    if (!o->rows && !table)
        return;
    if (!o->rows)
        o->rows = rowset_new(
            (cJSON *)json_get(table, "rows"), f->rows_most ? f->rows_most : ROWSET_TABLE);
    cJSON_ArrayForEach(row, changes)
    {
        rowset_change(o->rows, row);
    }
}

// The fields of a table as a whole that an update may change.
static bool is_of_table(const char *field)
{
    static const char *const fields[] = {
        "note", "hint", "more", "columns", "keep", "count", "order"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (str_eq(field, fields[i]))
            return true;
    return false;
}

// A null removes the earlier value.
static void fold_table(struct output *o, const cJSON *fields)
{
    cJSON *table = table_of(o->data);
    const cJSON *field;
    o->rows_newer = true;
    cJSON_ArrayForEach(field, fields)
    {
        bool is_ours = is_of_table(field->string);
        if (table && is_ours && cJSON_IsNull(field))
            cJSON_DeleteItemFromObjectCaseSensitive(table, field->string);
        else if (table && is_ours)
            json_set(table, field->string, cJSON_Duplicate(field, true));
    }
}

static int on_update(fold *f, const cJSON *r, err *e)
{
    struct output *o = fold_find_display(f, json_int_or(r, "id", -1));
    if (!o)
        return 0; // its cell has started again
    o->updates++;
    if (json_get(r, "data")) {
        rowset_free(STEAL(o->rows));
        cJSON_Delete(o->data);
        o->data = cJSON_Duplicate(json_get(r, "data"), true);
        o->rows_newer = false;
    }
    if (json_get(r, "rows"))
        fold_rows(f, o, json_get(r, "rows"));
    if (json_get(r, "table"))
        fold_table(o, json_get(r, "table"));
    if (json_bool_or(r, "closed", false))
        o->live = false;
    return 0;
}

static int on_cleared(fold *f, const cJSON *r, err *e)
{
    const char *id = json_str(r, "cell");
    if (!id)
        return err_set(e, ERR_INVALID, "cleared without a cell");
    struct run_cell *c = fold_find_cell(f, id);
    if (c) {
        fold_clear_outputs(f, c);
        c->cleared = f->last;
    }
    return 0;
}

static int on_error(fold *f, const cJSON *r, err *e)
{
    const char *id = json_str(r, "cell");
    struct output *o;
    if (id) {
        o = new_output(cell_at(f, id), OUTPUT_ERROR, NULL);
    } else {
        fold_output_done(&f->error);
        f->has_error = true;
        o = &f->error;
        o->kind = OUTPUT_ERROR;
    }
    o->name = mem_strdup(json_str_or(r, "name", "error"));
    o->text = mem_strdup(json_str_or(r, "message", ""));
    o->text_n = strlen(o->text);
    o->data = cJSON_CreateObject();
    static const char *const fields[] = {
        "line", "origin", "origin_line", "traceback", "exit", "at"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (json_get(r, fields[i]))
            json_set(o->data, fields[i], cJSON_Duplicate(json_get(r, fields[i]), true));
    return 0;
}

static struct ledger_entry *ledger_at(fold *f, int64_t entry)
{
    for (size_t i = 0; i < f->n_ledger; i++)
        if (f->ledger[i].entry == entry)
            return &f->ledger[i];
    f->ledger = mem_resize(f->ledger, f->n_ledger + 1, sizeof *f->ledger);
    struct ledger_entry *l = &f->ledger[f->n_ledger++];
    *l = (struct ledger_entry){.entry = entry};
    return l;
}

static void on_intent(struct ledger_entry *l, const cJSON *r)
{
    set_string(&l->cell, json_str(r, "cell"));
    set_string(&l->binding, json_str(r, "binding"));
    set_string(&l->effect, json_str(r, "effect"));
    set_string(&l->what, json_str(r, "what"));
    set_string(&l->source, json_str(r, "source"));
    set_string(&l->branch, json_str(r, "branch"));
    set_string(&l->branch_key, json_str(r, "branch_key"));
    set_string(&l->arguments, json_str(r, "arguments"));
    l->ordinal = json_int_or(r, "ordinal", 0);
    l->mark = json_int_or(r, "mark", l->entry);
    l->announces = json_bool_or(r, "announces", false);
    l->removable = json_bool_or(r, "undo", str_eq(l->effect, "cluster"));
}

static void set_json(cJSON **to, const cJSON *value)
{
    if (!value)
        return;
    cJSON_Delete(*to);
    *to = cJSON_IsNull(value) ? NULL : cJSON_Duplicate(value, true);
}

static int on_ledger(fold *f, const cJSON *r, err *e)
{
    struct ledger_entry *l = ledger_at(f, json_int_or(r, "entry", 0));
    const char *phase = json_str_or(r, "phase", "");
    if (str_eq(phase, "intent"))
        on_intent(l, r);
    else if (str_eq(phase, "undone"))
        l->undone = true;
    else if (str_eq(phase, "drift"))
        l->drifted = json_bool_or(r, "accepted", false) ? f->seq : l->drifted;
    else if (str_eq(phase, "outcome"))
        l->outcome = true;
    else if (str_eq(phase, "verified"))
        l->outcome = l->verified = true;
    else if (str_eq(phase, "failed"))
        l->failed = true;
    else if (str_eq(phase, "again"))
        l->repeated = true;
    l->verified = l->verified && !l->repeated;
    set_json(&l->made, json_get(r, "made"));
    if (json_get(r, "made"))
        l->midway = l->made != NULL;
    set_json(&l->result, json_get(r, "result"));
    if (json_get(r, "result") && l->outcome && l->result)
        cJSON_Delete(STEAL(l->made)); // the result contains it
    if (json_str(r, "message"))
        set_string(&l->message, json_str(r, "message"));
    l->masked = l->masked || json_bool_or(r, "masked", false);
    l->tidied = l->tidied || (l->outcome && !json_bool_or(r, "undo", true));
    return 0;
}

static int on_end(fold *f, const cJSON *r, err *e)
{
    const char *outcome = json_str_or(r, "outcome", "");
    f->state = RUN_STOPPED;
    for (enum run_state s = RUN_OK; s <= RUN_STOPPED; s++)
        if (str_eq(outcome, run_state_name(s)))
            f->state = s;
    f->exit = (int)json_int_or(r, "exit", 1);
    set_string(&f->message, json_str(r, "message"));
    return 0;
}

static const struct {
    const char *type;
    int (*fold)(fold *f, const cJSON *record, err *e);
    bool turns; // cells may depend on it
} handlers[] = {
    {"run", on_run, true},
    {"resumed", on_resumed, true},
    {"document", on_document, true},
    {"edited", on_edited, true},
    {"queued", on_queued, true},
    {"state", on_state, true},
    {"stream", on_stream},
    {"display", on_display},
    {"update", on_update},
    {"cleared", on_cleared},
    {"error", on_error},
    {"ledger", on_ledger},
    {"recorded", fold_record, true},
    {"learned", fold_learn},
    {"cluster", on_cluster},
    {"end", on_end},
};

static void take_times(fold *f, const cJSON *r, bool new_kernel)
{
    int64_t wall, mono = json_int_or(r, "mono", f->mono_last);
    if (json_str(r, "wall") && clock_parse_rfc3339(json_str(r, "wall"), &wall, NULL) == 0)
        f->last = wall;
    if (new_kernel && f->mono_last > f->mono_start)
        f->earlier += f->mono_last - f->mono_start;
    f->mono_last = mono;
    f->seq = (uint64_t)json_int_or(r, "seq", (int64_t)f->seq);
}

int fold_event(fold *f, const cJSON *record, err *e)
{
    const char *type = json_str_or(record, "type", "");
    bool resumed = str_eq(type, "resumed");
    take_times(f, record, resumed);
    if (!f->started)
        f->started = f->last, f->mono_start = f->mono_last;
    for (size_t i = 0; i < ARRAY_LEN(handlers); i++)
        if (str_eq(type, handlers[i].type)) {
            f->turns += handlers[i].turns;
            return handlers[i].fold(f, record, e);
        }
    return 0;
}
