// SPDX-License-Identifier: MIT
#include "script/journal/jupyter.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/plain.h"
#include "script/journal/text.h"
#include "script/notebook/others/nbformat.h"

#include <string.h>

// Texts of a bundle as lists of lines: of the types of which nbformat makes them.
static void split_texts(cJSON *bundle)
{
    static const char *const types[] = {"application/javascript", "image/svg+xml"};
    const cJSON *item, *next;
    for (item = bundle ? bundle->child : NULL; item; item = next) {
        next = item->next;
        if (cJSON_IsString(item) &&
            (str_starts(item->string, "text/") || str_eq(item->string, types[0]) ||
                str_eq(item->string, types[1])))
            json_set(
                bundle, item->string, nbformat_lines(item->valuestring, strlen(item->valuestring)));
    }
}

void jupyter_as_saved(cJSON *outputs)
{
    cJSON *j;
    cJSON_ArrayForEach(j, outputs)
    {
        cJSON *text = cJSON_GetObjectItemCaseSensitive(j, "text");
        split_texts(cJSON_GetObjectItemCaseSensitive(j, "data"));
        if (cJSON_IsString(text))
            json_set(j, "text", nbformat_lines(text->valuestring, strlen(text->valuestring)));
    }
    json_sort(outputs);
}

struct reading {
    const char *spool_dir;
    size_t limit;
    err *failure;
};

static void stream_to(const struct reading *r, const struct output *o, cJSON *j)
{
    AUTO_BUF text = {0};
    json_set_str(j, "name", o->name);
    output_bytes(o, r->spool_dir, r->limit, &text, r->failure); // nbformat wants a text in any case
    json_set(j, "text", nbformat_lines(buf_cstr(&text), text.len));
}

cJSON *jupyter_bundle(const struct output *o, size_t limit, cJSON **metadata, err *failure)
{
    cJSON *data = o->data ? cJSON_Duplicate(o->data, true) : cJSON_CreateObject();
    AUTO_BUF text = {0};
    output_text(o, NULL, limit, &text, failure); // only a stream is in a spool
    if (text.len)
        text.data[text.len - 1] = '\0'; // its last line break
    json_set_str(data, "text/plain", buf_cstr(&text));
    *metadata = cJSON_DetachItemFromObjectCaseSensitive(data, JUPYTER_METADATA);
    if (!*metadata)
        *metadata = cJSON_CreateObject();
    return data;
}

static void display_to(const struct reading *r, const struct output *o, cJSON *j, long count)
{
    cJSON *metadata;
    json_set(j, "data", jupyter_bundle(o, r->limit, &metadata, r->failure));
    json_set(j, "metadata", metadata);
    if (o->result)
        json_set_int(j, "execution_count", count);
}

static char *error_line(const char *name, const char *message)
{
    return str_fmt("%s: %s", name, message);
}

static bool tells_message(const cJSON *lines, const char *message)
{
    const cJSON *line;
    AUTO_FREE char *first = mem_strndup(message, strcspn(message, "\n"));
    char *place =
        strstr(first, ".py, line "); // of Python's SyntaxError: "invalid syntax (12.py, line 3)"
    while (place && place > first && *place != '(')
        place--;
    if (place > first)
        place[-1] = '\0';
    cJSON_ArrayForEach(line, lines)
    {
        if (cJSON_IsString(line) && strstr(line->valuestring, first))
            return true;
    }
    return false;
}

void jupyter_error(const struct output *o, cJSON *j)
{
    json_set_str(j, "ename", o->name);
    json_set_str(j, "evalue", o->text);
    const cJSON *traceback = json_get(o->data, "traceback");
    cJSON *lines = traceback ? cJSON_Duplicate(traceback, true) : cJSON_CreateArray();
    if (!tells_message(lines, o->text)) { // Jupyter's tools show nothing but these lines
        AUTO_FREE char *first = error_line(o->name, o->text);
        cJSON_InsertItemInArray(lines, 0, cJSON_CreateString(first));
    }
    json_set(j, "traceback", lines);
}

// An output on stdout with this text: the heading above the outputs of one of the cell's concurrent
// branches.
static cJSON *heading(const char *text)
{
    cJSON *j = cJSON_CreateObject();
    json_set_str(j, "output_type", "stream");
    json_set_str(j, "name", "stdout");
    json_set_str(j, "text", text);
    return j;
}

static cJSON *output_to(const struct reading *r, const struct output *o, long count)
{
    static const char *const types[] = {"stream", "display_data", "error"};
    cJSON *j = cJSON_CreateObject();
    json_set_str(j, "output_type", o->result ? "execute_result" : types[o->kind]);
    if (o->kind == OUTPUT_STREAM)
        stream_to(r, o, j);
    else if (o->kind == OUTPUT_DISPLAY)
        display_to(r, o, j, count);
    else
        jupyter_error(o, j);
    return j;
}

cJSON *jupyter_outputs(const struct run_cell *c, const char *spool_dir, size_t limit, err *failure)
{
    err none = {0};
    const struct reading r = {spool_dir, limit, failure ? failure : &none};
    cJSON *outputs = cJSON_CreateArray();
    for (size_t k = 0; c && k < c->n_outputs; k++) {
        AUTO_BUF name = {0};
        output_heading(c, k, &name);
        if (name.len)
            cJSON_AddItemToArray(outputs, heading(buf_cstr(&name)));
        cJSON_AddItemToArray(outputs, output_to(&r, &c->outputs[k], c->count));
    }
    jupyter_as_saved(outputs);
    return outputs;
}

// A text, or a list of texts that are joined; anything else as it is. New.
static cJSON *joined(const cJSON *value)
{
    AUTO_FREE char *text = nbformat_joined(value);
    return text || !value ? cJSON_CreateString(text ? text : "") : cJSON_Duplicate(value, true);
}

static const char *text_of(const cJSON *value)
{
    return cJSON_IsString(value) ? value->valuestring : "";
}

static cJSON *event_of(const char *type, const char *id)
{
    cJSON *event = cJSON_CreateObject();
    json_set_str(event, "type", type);
    json_set_str(event, "cell", id);
    return event;
}

static cJSON *stream_from(const cJSON *j, const char *id)
{
    cJSON *event = event_of("stream", id);
    AUTO_JSON *text = joined(json_get(j, "text"));
    json_set_str(event, "name", json_str_or(j, "name", "stdout"));
    json_set_str(event, "text", text_of(text));
    return event;
}

static cJSON *display_from(const cJSON *j, const char *id, int64_t number)
{
    cJSON *event = event_of("display", id), *data = json_object_at(event, "data");
    const cJSON *metadata = json_get(j, "metadata"), *item;
    cJSON_ArrayForEach(item, json_get(j, "data"))
    {
        if (item->string) // of a list no item has a name
            json_set(data, item->string,
                str_ends(item->string, "json") ? cJSON_Duplicate(item, true) : joined(item));
    }
    if (!json_str(data, "text/plain")) {
        AUTO_BUF text = {0};
        cJSON_DeleteItemFromObjectCaseSensitive(data, "text/plain");
        plain_stand_in(data, &text);
        json_set_str(data, "text/plain", buf_cstr(&text));
    }
    if (cJSON_IsObject(metadata) && metadata->child)
        json_set(data, JUPYTER_METADATA, cJSON_Duplicate(metadata, true));
    json_set_int(event, "id", number);
    json_set_bool(event, "result", str_eq(json_str(j, "output_type"), "execute_result"));
    return event;
}

static cJSON *error_from(const cJSON *j, const char *id)
{
    cJSON *event = event_of("error", id);
    const cJSON *traceback = json_get(j, "traceback");
    json_set_str(event, "name", json_str_or(j, "ename", "error"));
    json_set_str(event, "message", json_str_or(j, "evalue", ""));
    if (!cJSON_IsArray(traceback))
        return event;
    cJSON *lines = cJSON_Duplicate(traceback, true);
    AUTO_FREE char *first = error_line(json_str(event, "name"), json_str(event, "message"));
    if (str_eq(cJSON_GetStringValue(lines->child), first)) // which jupyter_error has put there
        cJSON_DeleteItemFromArray(lines, 0);
    json_set(event, "traceback", lines);
    return event;
}

cJSON *jupyter_event(const cJSON *j, const char *id, int64_t number)
{
    const char *type = json_str(j, "output_type");
    return str_eq(type, "stream")  ? stream_from(j, id)
           : str_eq(type, "error") ? error_from(j, id)
                                   : display_from(j, id, number);
}

static void tell(fold *f, cJSON *event)
{
    if (event)
        fold_event(f, event, NULL);
    cJSON_Delete(event);
}

static void tell_state(fold *f, const cell *c, const char *state, long count, int64_t wall)
{
    cJSON *event = event_of("state", c->id);
    AUTO_BUF when = {0};
    char hex[SHA256_HEX];
    cell_digest(c->source, strlen(c->source), hex);
    clock_rfc3339(&when, wall, CLOCK_SECONDS);
    json_set_str(event, "wall", buf_cstr(&when));
    json_set_str(event, "state", state);
    json_set_int(event, "count", count);
    json_set_str(event, "hash", hex);
    tell(f, event);
}

static void tell_cell(
    fold *f, const cell *c, const cJSON *outputs, long count, int64_t wall, int64_t *displays)
{
    const cJSON *j;
    bool failed = false;
    count = count > 0 ? count : -1;
    tell_state(f, c, "running", count, wall);
    cJSON_ArrayForEach(j, outputs)
    {
        failed |= str_eq(json_str(j, "output_type"), "error");
        tell(f, jupyter_event(j, c->id, ++*displays));
    }
    tell_state(f, c, failed ? "failed" : "ok", count, wall);
}

static void tell_document(fold *f, const notebook *nb)
{
    AUTO_BUF text = {0};
    cJSON *event = event_of("document", NULL), *ids = json_array_at(event, "cells");
    notebook_print(nb, &text);
    json_set_str(event, "text", buf_cstr(&text));
    for (size_t i = 0; i < notebook_count(nb); i++)
        cJSON_AddItemToArray(ids, cJSON_CreateString(notebook_cell(nb, i)->id));
    tell(f, event);
}

fold *jupyter_past(const notebook *nb, int64_t wall)
{
    fold *f = NULL;
    int64_t displays = 0;
    for (size_t i = 0; i < notebook_count(nb); i++) {
        long count = -1;
        const cJSON *outputs = notebook_outputs(nb, i, &count);
        if (!cJSON_IsArray(outputs) || (!outputs->child && count < 0))
            continue;
        if (!f)
            tell_document(f = fold_new(), nb);
        tell_cell(f, notebook_cell(nb, i), outputs, count, wall, &displays);
    }
    return f;
}
