// SPDX-License-Identifier: MIT
// nbformat 2 and 3 as nbformat 4: what nbformat.v4.upgrade makes of them.
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/others/nbformat.h"
#include "script/notebook/private.h"

#include <string.h>

static void rename_member(cJSON *j, const char *from, const char *to)
{
    cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(j, from);
    if (item)
        json_set(j, to, item);
}

// The data of an output stand beside its type, by short names.
static cJSON *take_data(cJSON *output)
{
    static const char *const types[][2] = {{"text", "text/plain"}, {"html", "text/html"},
        {"svg", "image/svg+xml"}, {"png", "image/png"}, {"jpeg", "image/jpeg"},
        {"latex", "text/latex"}, {"json", "application/json"},
        {"javascript", "application/javascript"}};
    cJSON *data = cJSON_CreateObject();
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(output, types[i][0]);
        if (item)
            json_set(data, types[i][1], item);
    }
    return data;
}

static void upgrade_output(cJSON *output)
{
    AUTO_FREE char *type = mem_strdup(json_str_or(output, "output_type", ""));
    bool result = str_eq(type, "pyout");
    if (result || str_eq(type, "display_data")) {
        json_set(output, "data", take_data(output));
        json_object_at(output, "metadata");
        rename_member(output, "prompt_number", "execution_count");
        if (!result)
            cJSON_DeleteItemFromObjectCaseSensitive(output, "execution_count");
        else if (!json_get(output, "execution_count"))
            json_set(output, "execution_count", cJSON_CreateNull());
        json_set_str(output, "output_type", result ? "execute_result" : type);
    } else if (str_eq(type, "pyerr")) {
        json_set_str(output, "output_type", "error");
    } else if (str_eq(type, "stream")) {
        rename_member(output, "stream", "name");
        if (!json_str(output, "name"))
            json_set_str(output, "name", "stdout");
    }
}

static void upgrade_code(cJSON *c)
{
    cJSON *output, *outputs = json_array_at(c, "outputs");
    cJSON *collapsed = cJSON_DetachItemFromObjectCaseSensitive(c, "collapsed");
    cJSON_DeleteItemFromObjectCaseSensitive(c, "language");
    if (collapsed)
        json_set(json_object_at(c, "metadata"), "collapsed", collapsed);
    rename_member(c, "input", "source");
    rename_member(c, "prompt_number", "execution_count");
    if (!json_get(c, "execution_count"))
        json_set(c, "execution_count", cJSON_CreateNull());
    cJSON_ArrayForEach(output, outputs) upgrade_output(output);
}

static void upgrade_heading(cJSON *c)
{
    int64_t level = json_int_or(c, "level", 1);
    AUTO_FREE char *text = nbformat_joined(json_get(c, "source"));
    AUTO_BUF line = {0};
    for (int64_t i = 0; i < level && i < 6; i++)
        buf_char(&line, '#');
    buf_char(&line, ' ');
    for (const char *p = text ? text : ""; *p; p++)
        buf_char(&line, *p == '\n' ? ' ' : *p);
    cJSON_DeleteItemFromObjectCaseSensitive(c, "level");
    json_set_str(c, "source", buf_cstr(&line));
}

static cJSON *upgrade_cell(cJSON *c)
{
    AUTO_FREE char *type = mem_strdup(json_str_or(c, "cell_type", ""));
    json_object_at(c, "metadata");
    if (str_eq(type, "code"))
        upgrade_code(c);
    else if (str_eq(type, "heading"))
        upgrade_heading(c);
    if (str_eq(type, "heading") || str_eq(type, "html"))
        json_set_str(c, "cell_type", "markdown");
    return c;
}

// Every code cell of these formats names its language. Nobody wrote another one than Python, but
// for kernels that came before the notebook could say so.
static void keep_language(cJSON *metadata, const cJSON *cells)
{
    const cJSON *c;
    const char *language = NULL;
    cJSON_ArrayForEach(c, cells)
    {
        if (!language && str_eq(json_str(c, "cell_type"), "code"))
            language = json_str_or(c, "language", "python");
    }
    if (!language_of_metadata(metadata))
        json_set_str(
            json_object_at(metadata, "language_info"), "name", language ? language : "python");
}

cJSON *ipynb_upgrade(const cJSON *old)
{
    cJSON *j = cJSON_CreateObject(), *cells = json_array_at(j, "cells");
    const cJSON *sheet, *c;
    cJSON *metadata = cJSON_IsObject(json_get(old, "metadata"))
                          ? cJSON_Duplicate(json_get(old, "metadata"), true)
                          : cJSON_CreateObject();
    cJSON_DeleteItemFromObjectCaseSensitive(metadata, "name");
    cJSON_ArrayForEach(sheet, json_get(old, "worksheets"))
    {
        cJSON_ArrayForEach(c, json_get(sheet, "cells"))
            cJSON_AddItemToArray(cells, cJSON_Duplicate(c, true));
    }
    keep_language(metadata, cells);
    cJSON *own;
    cJSON_ArrayForEach(own, cells) upgrade_cell(own);
    json_set(j, "metadata", metadata);
    json_set_int(j, "nbformat", 4);
    json_set_int(j, "nbformat_minor", 5);
    return j;
}
