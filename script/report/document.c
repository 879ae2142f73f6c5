// SPDX-License-Identifier: MIT
// The notebook becomes a fold without a run's name, which pages show without what only a run has.
#include "script/report/document.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

// A text of an .ipynb: one string, or a list of them.
static char *joined(const cJSON *text)
{
    buf all = {0};
    const cJSON *part;
    if (cJSON_IsString(text))
        return mem_strdup(text->valuestring);
    cJSON_ArrayForEach(part, text) if (cJSON_IsString(part)) buf_str(&all, part->valuestring);
    return all.data ? buf_take(&all) : mem_strdup("");
}

static cJSON *bundle(const cJSON *data)
{
    cJSON *all = cJSON_CreateObject();
    const cJSON *part;
    cJSON_ArrayForEach(part, data)
    {
        bool lines = cJSON_IsArray(part) && (!part->child || cJSON_IsString(part->child)) &&
                     !str_ends(part->string, "json");
        AUTO_FREE char *text = lines ? joined(part) : NULL;
        json_set(all, part->string, text ? cJSON_CreateString(text) : cJSON_Duplicate(part, true));
    }
    return all;
}

static cJSON *event_of(const cJSON *output, const char *id, int64_t number)
{
    const char *type = json_str_or(output, "output_type", "");
    cJSON *event = cJSON_CreateObject();
    json_set_str(event, "cell", id);
    if (str_eq(type, "stream")) {
        AUTO_FREE char *text = joined(json_get(output, "text"));
        json_set_str(event, "type", "stream");
        json_set_str(event, "name", json_str_or(output, "name", "stdout"));
        json_set_str(event, "text", text);
    } else if (str_eq(type, "error")) {
        json_set_str(event, "type", "error");
        json_set_str(event, "name", json_str_or(output, "ename", "error"));
        json_set_str(event, "message", json_str_or(output, "evalue", ""));
    } else {
        json_set_str(event, "type", "display");
        json_set_int(event, "id", number);
        json_set(event, "data", bundle(json_get(output, "data")));
        json_set_bool(event, "result", str_eq(type, "execute_result"));
    }
    return event;
}

static void add_outputs(fold *f, const notebook *nb)
{
    AUTO_JSON *j = notebook_to_ipynb(nb, NULL, NULL);
    const cJSON *cells = json_get(j, "cells"), *c, *output;
    int first = cJSON_GetArraySize(cells) - (int)notebook_count(nb), at = -first;
    int64_t number = 0;
    cJSON_ArrayForEach(c, cells)
    {
        const char *id = at >= 0 ? notebook_cell(nb, (size_t)at)->id : NULL;
        at++;
        cJSON_ArrayForEach(output, json_get(c, "outputs"))
        {
            AUTO_JSON *event = event_of(output, id, ++number);
            fold_event(f, event, NULL); // an output that is none is left out
        }
    }
}

static int add_notebook(fold *f, const notebook *nb, const char *path, err *e)
{
    AUTO_JSON *event = cJSON_CreateObject();
    AUTO_BUF text = {0};
    notebook_print(nb, &text);
    json_set_str(event, "type", "run");
    json_set_str(event, "path", path);
    json_set_str(event, "notebook", buf_cstr(&text));
    for (size_t i = 0; i < notebook_count(nb); i++)
        cJSON_AddItemToArray(
            json_array_at(event, "cells"), cJSON_CreateString(notebook_cell(nb, i)->id));
    return fold_event(f, event, e);
}

int document_print(
    const notebook *nb, const char *path, enum export_format format, buf *out, err *e)
{
    fold *f = fold_new();
    int result = add_notebook(f, nb, path, e);
    if (result == 0) {
        add_outputs(f, nb);
        result = export_run(f, NULL, format, 0, out, e);
    }
    fold_free(f);
    return result;
}
