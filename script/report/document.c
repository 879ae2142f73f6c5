// SPDX-License-Identifier: MIT
// Turns the notebook into a fold without a run's name; pages then leave out what only a run has.
#include "script/report/document.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/journal/jupyter.h"

#include <string.h>

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
            AUTO_JSON *event = jupyter_event(output, id, ++number);
            fold_event(f, event, NULL); // leaves out an invalid output
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
