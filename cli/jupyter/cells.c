// SPDX-License-Identifier: MIT
// execute_request: each becomes a cell of the session's document. JupyterLab says which cell it is,
// and sends its options as metadata; what names none becomes a new cell.
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/jupyter/serve_private.h"
#include "script/journal/jupyter.h"
#include "script/notebook/plan.h"

#include <string.h>

#define ANY_REVISION (INT64_C(1) << 40) // nobody else edits the document

static void step(struct serve *s);

// The document.

notebook *cells_read(const char *code, const cJSON *metadata)
{
    AUTO_JSON *j = cJSON_CreateObject(), *options = cJSON_CreateObject();
    const cJSON *item;
    cJSON_ArrayForEach(item, metadata)
    {
        if (option_is_ours(item->string) || str_eq(item->string, "title"))
            json_set(options, item->string, cJSON_Duplicate(item, true));
    }
    cJSON_DeleteItemFromObjectCaseSensitive(options, "id");
    cJSON *one = cJSON_CreateObject();
    json_set_str(one, "cell_type", "code");
    json_set(one, "metadata", STEAL(options));
    json_set_str(one, "source", code);
    cJSON_AddItemToArray(json_array_at(j, "cells"), one);
    json_set_str(json_object_at(json_object_at(j, "metadata"), "language_info"), "name", "lua");
    json_set_int(j, "nbformat", 4);
    json_set_int(j, "nbformat_minor", 4);
    AUTO_FREE char *text = json_to_str(j);
    notebook *nb = notebook_parse_ipynb(text, strlen(text), NULL);
    return nb ? nb : notebook_blank();
}

// An id for the document's cell, new: the same for the same cell of Jupyter's. VS Code names a cell
// by a URI.
static char *id_of(struct serve *s, const cJSON *metadata)
{
    const char *given = s->job.expression ? NULL : json_str(metadata, "cellId");
    if (!given || s->job.silent)
        return str_fmt("jupyter-%zu", ++s->cells);
    char hex[SHA256_HEX];
    if (strlen(given) <= 64 &&
        !given[strspn(given, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTU"
                             "VWXYZ0123456789-_")])
        return mem_strdup(given);
    sha256_hex(given, strlen(given), hex);
    return str_fmt("cell-%s", hex);
}

static void note_refusal(struct serve *s, const cJSON *reply)
{
    const cJSON *error = json_get(reply, "error");
    if (s->job.error)
        return;
    s->job.error = cJSON_CreateObject();
    json_set_str(s->job.error, "ename", json_str_or(error, "code", "error"));
    json_set_str(s->job.error, "evalue", json_str_or(error, "message", ""));
    json_array_at(s->job.error, "traceback");
}

static bool was_refused(const cJSON *reply)
{
    return reply && !json_bool_or(reply, "ok", false);
}

static void on_put(void *arg, const cJSON *reply)
{
    if (was_refused(reply))
        note_refusal(arg, reply);
}

static void on_executed(void *arg, const cJSON *reply)
{
    struct serve *s = arg;
    if (!was_refused(reply))
        return;
    note_refusal(s, reply);
    free(shown_end(s->shown));
    free(STEAL(s->job.cell));
    step(s);
}

// Puts the cell into the document: in its old place, or at the end.
static void put_cell(struct serve *s, const char *id, const cell *c)
{
    const notebook *nb = fold_notebook(s->fold);
    size_t at;
    bool there = nb && notebook_find(nb, id, &at);
    cJSON *message = message_new(there ? MESSAGE_edit : MESSAGE_insert);
    json_set_int(message, "rev", ANY_REVISION);
    json_set_str(message, there ? "cell" : "as", id);
    json_set_str(message, "source", c->source);
    json_set_str(message, "marker", c->marker);
    if (!there)
        json_set_str(message, "after", s->last);
    if (!there && !s->job.hidden) {
        free(s->last);
        s->last = mem_strdup(id);
    }
    client_request(s->client, message, on_put, s);
}

static void drop_cell(struct serve *s, const char *id)
{
    cJSON *message = message_new(MESSAGE_delete);
    json_set_int(message, "rev", ANY_REVISION);
    json_set_str(message, "cell", id);
    client_send(s->client, message);
}

static bool does_nothing(const cell *c)
{
    struct plan p = {0};
    bool nothing =
        !c->problem && plan_cell(NULL, c, &p, NULL) == 0 &&
        (p.kind == PLAN_NOTHING || (p.kind == PLAN_LUA && !p.text[strspn(p.text, " \t\r\n")]));
    plan_done(&p);
    return nothing;
}

// The language of a cell that another kernel runs, new; NULL: it is Lua, or no kernel runs it.
static char *other_language(const cell *c)
{
    struct plan p = {0};
    char *language = NULL;
    if (!c->problem && plan_cell(NULL, c, &p, NULL) == 0 && p.kind == PLAN_KERNEL)
        language = str_fmt("%s %s", p.language, p.kernel ? p.kernel : "");
    plan_done(&p);
    return language;
}

const char *cells_speaker(const struct serve *s, const char *code, size_t *skipped)
{
    *skipped = 0;
    if (!str_starts(code, "%%"))
        return NULL;
    notebook *nb = cells_read(code, NULL);
    const cell *c = notebook_cell(nb, 0);
    AUTO_FREE char *language = other_language(c);
    if (str_ends(code, c->source))
        *skipped = strlen(code) - strlen(c->source);
    notebook_free(nb);
    return language ? json_str(s->speakers, language) : NULL;
}

// Runs a source as a cell. false: there is nothing to run.
static bool run_source(struct serve *s, const char *code, const cJSON *metadata)
{
    notebook *nb = cells_read(code, metadata);
    const cell *c = notebook_cell(nb, 0);
    bool runs = !does_nothing(c);
    if (runs) {
        s->job.cell = id_of(s, metadata);
        s->job.retries = c->options.retries;
        s->job.hidden = s->job.silent || s->job.expression;
        shown_begin(s->shown, s->job.cell, s->job.hidden ? NULL : s->current->header, s->job.count);
        put_cell(s, s->job.cell, c);
        AUTO_FREE char *language = s->job.hidden ? NULL : other_language(c);
        if (language)
            json_set_str(s->speakers, language, s->job.cell);
        cJSON *message = message_new(MESSAGE_execute);
        cJSON_AddItemToArray(json_array_at(message, "cells"), cJSON_CreateString(s->job.cell));
        client_request(s->client, message, on_executed, s);
    }
    notebook_free(nb);
    return runs;
}

// The reply.

static cJSON *reply_of(struct serve *s)
{
    cJSON *content = s->job.error ? cJSON_Duplicate(s->job.error, true) : cJSON_CreateObject();
    json_set_str(content, "status", s->job.error ? "error" : "ok");
    json_set_int(content, "execution_count", s->job.count);
    json_array_at(content, "payload");
    json_set(
        content, "user_expressions", s->job.values ? STEAL(s->job.values) : cJSON_CreateObject());
    return content;
}

// Executions that wait do not run, since one before them has failed.
static void abort_queued(struct serve *s)
{
    for (struct request **at = &s->queue; *at;) {
        struct request *r = *at;
        if (!str_eq(r->type, "execute_request")) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        cJSON *content = cJSON_CreateObject();
        json_set_str(content, "status", "aborted");
        json_set_int(content, "execution_count", s->count);
        peer_status(s->peer, r->header, "busy");
        peer_reply(s->peer, r, "execute_reply", content);
        peer_status(s->peer, r->header, "idle");
        request_free(r);
    }
}

static void finish(struct serve *s)
{
    cJSON *content = reply_of(s);
    bool aborts = s->job.error && json_bool_or(s->current->content, "stop_on_error", true);
    cJSON_Delete(s->job.error);
    s->job = (struct job){0};
    requests_reply(s, "execute_reply", content);
    if (aborts)
        abort_queued(s);
    requests_go_on(s);
}

// What comes next: the next of user_expressions, else the reply.
static void step(struct serve *s)
{
    const cJSON *all = json_get(s->current->content, "user_expressions"), *e = NULL;
    if (!s->job.error)
        e = s->job.expression ? s->job.expression->next : cJSON_IsObject(all) ? all->child : NULL;
    for (; e; e = e->next) {
        s->job.expression = e;
        if (run_source(s, cJSON_IsString(e) ? e->valuestring : "", NULL))
            return;
    }
    finish(s);
}

static void keep_value(struct serve *s, const struct run_cell *c)
{
    cJSON *value = s->job.error ? STEAL(s->job.error) : cJSON_CreateObject();
    json_set_str(value, "status", json_get(value, "ename") ? "error" : "ok");
    if (!json_get(value, "ename")) {
        const struct output *o = NULL;
        for (size_t i = 0; i < c->n_outputs; i++)
            if (c->outputs[i].kind == OUTPUT_DISPLAY)
                o = &c->outputs[i];
        cJSON *metadata = o ? NULL : cJSON_CreateObject();
        cJSON *data = o ? jupyter_bundle(o, 0, &metadata, NULL) : cJSON_CreateObject();
        if (!o)
            json_set_str(data, "text/plain", "nil");
        json_set(value, "data", data);
        json_set(value, "metadata", metadata);
    }
    if (!s->job.values)
        s->job.values = cJSON_CreateObject();
    json_set(s->job.values, s->job.expression->string, value);
}

static void note_result(struct serve *s, char *result)
{
    cJSON *last = s->history->child ? s->history->child->prev : NULL;
    if (result && last && s->job.stored && !s->job.hidden)
        json_set_str(last, "output", result);
    free(result);
}

static void cell_ended(struct serve *s)
{
    AUTO_FREE char *id = STEAL(s->job.cell);
    if (s->job.error && !s->job.hidden)
        peer_show(s->peer, s->current->header, "error", cJSON_Duplicate(s->job.error, true));
    note_result(s, shown_end(s->shown));
    if (s->job.expression)
        keep_value(s, fold_cell_by_id(s->fold, id, NULL));
    if (s->job.hidden)
        drop_cell(s, id);
    step(s);
}

// The last error of the cell, as an .ipynb has it. A cell that was cancelled before it began has
// none.
static void take_error(struct serve *s)
{
    const struct run_cell *c = fold_cell_by_id(s->fold, s->job.cell, NULL);
    cJSON_Delete(s->job.error);
    s->job.error = cJSON_CreateObject();
    for (size_t i = 0; c && i < c->n_outputs; i++)
        if (c->outputs[i].kind == OUTPUT_ERROR)
            jupyter_error(&c->outputs[i], s->job.error);
    if (json_get(s->job.error, "ename"))
        return;
    json_set_str(s->job.error, "ename", "interrupted");
    json_set_str(s->job.error, "evalue", "it did not run");
    json_array_at(s->job.error, "traceback");
}

static void on_state(struct serve *s, const cJSON *event)
{
    const char *state = json_str_or(event, "state", "");
    if (!str_eq(json_str(event, "cell"), s->job.cell))
        return;
    if (str_eq(state, "failed") && s->job.retries-- > 0)
        return; // it runs again; if it does not, the session is idle soon
    if (str_eq(state, "failed") || str_eq(state, "cancelled"))
        take_error(s);
    else if (!str_eq(state, "ok") && !str_eq(state, "idle"))
        return;
    cell_ended(s);
}

static void on_kernel(struct serve *s, const cJSON *event)
{
    const char *state = json_str_or(event, "state", "");
    const struct run_cell *c = s->job.cell ? fold_cell_by_id(s->fold, s->job.cell, NULL) : NULL;
    if (str_eq(state, "wedged") && s->shown)
        shown_warn(
            s->shown, json_str_or(event, "message", "the cell does not end: restart the kernel"));
    if (!c || !str_eq(state, "idle") || c->state != STATE_FAILED)
        return;
    take_error(s);
    cell_ended(s);
}

void cells_event(struct serve *s, message_type type, const cJSON *event)
{
    if (type == MESSAGE_state && s->job.cell)
        on_state(s, event);
    else if (type == MESSAGE_kernel)
        on_kernel(s, event);
}

void cells_lost(struct serve *s)
{
    if (!s->job.cell)
        return;
    free(STEAL(s->job.cell));
    cJSON_Delete(s->job.error);
    s->job.error = cJSON_CreateObject();
    json_set_str(s->job.error, "ename", "kernel");
    json_set_str(s->job.error, "evalue", "firesteel-kernel has ended");
    json_array_at(s->job.error, "traceback");
    finish(s);
}

static void tell_input(struct serve *s, const char *code)
{
    cJSON *content = cJSON_CreateObject();
    json_set_str(content, "code", code);
    json_set_int(content, "execution_count", s->job.count);
    peer_show(s->peer, s->current->header, "execute_input", content);
}

static void note_history(struct serve *s, const char *code)
{
    cJSON *entry = cJSON_CreateObject();
    json_set_int(entry, "line", s->job.count);
    json_set_str(entry, "input", code);
    cJSON_AddItemToArray(s->history, entry);
}

void cells_begin(struct serve *s)
{
    const cJSON *content = s->current->content;
    const char *code = json_str_or(content, "code", "");
    bool silent = json_bool_or(content, "silent", false);
    bool stores = !silent && json_bool_or(content, "store_history", true);
    s->count += stores;
    s->job = (struct job){.silent = silent, .stored = stores, .count = s->count};
    if (!silent)
        tell_input(s, code);
    if (stores)
        note_history(s, code);
    if (!run_source(s, code, s->current->metadata))
        step(s);
}
