// SPDX-License-Identifier: MIT
#include "script/journal/jupyter.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/journal/text.h"

#include <string.h>

static cJSON *text_lines(const char *text, size_t n)
{
    cJSON *lines = cJSON_CreateArray();
    for (const char *end = text + n; text < end;) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline + 1 : end;
        AUTO_FREE char *line = mem_strndup(text, (size_t)(stop - text));
        cJSON_AddItemToArray(lines, cJSON_CreateString(line));
        text = stop;
    }
    return lines;
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
    if (output_bytes(o, r->spool_dir, r->limit, &text, r->failure) < 0)
        return;
    json_set(j, "text", text_lines(buf_cstr(&text), text.len));
}

static void display_to(const struct reading *r, const struct output *o, cJSON *j, long count)
{
    cJSON *data = o->data ? cJSON_Duplicate(o->data, true) : cJSON_CreateObject();
    AUTO_BUF text = {0};
    output_text(o, r->spool_dir, r->limit, &text, r->failure);
    json_set(data, "text/plain", text_lines(buf_cstr(&text), text.len - (text.len > 0)));
    json_set(j, "data", data);
    json_object_at(j, "metadata");
    if (o->result)
        json_set_int(j, "execution_count", count);
}

static void error_to(const struct output *o, cJSON *j)
{
    json_set_str(j, "ename", o->name);
    json_set_str(j, "evalue", o->text);
    const cJSON *traceback = json_get(o->data, "traceback");
    json_set(j, "traceback", traceback ? cJSON_Duplicate(traceback, true) : cJSON_CreateArray());
}

// The name of a branch of the cell, above what it wrote.
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
        error_to(o, j);
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
    return outputs;
}
