// SPDX-License-Identifier: MIT
#include "k8s/client/table.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/events.h"
#include "k8s/client/state.h"

#include <ctype.h>
#include <string.h>

static cJSON *new_table(const char *const *columns)
{
    cJSON *table = cJSON_CreateObject(), *names = json_array_at(table, "columns");
    for (; *columns; columns++)
        cJSON_AddItemToArray(names, cJSON_CreateString(*columns));
    json_array_at(table, "rows");
    return table;
}

static void add_cell(cJSON *row, const char *text)
{
    // A cell is one line; later lines do not fit into a table.
    AUTO_FREE char *line = mem_strndup(text, strcspn(text, "\r\n"));
    cJSON_AddItemToArray(json_array_at(row, "cells"), cJSON_CreateString(line));
}

static cJSON *new_row(const cJSON *object)
{
    cJSON *row = cJSON_CreateObject();
    const cJSON *m = json_get(object, "metadata");
    json_set_str(row, "uid", json_str(m, "uid"));
    json_set_str(row, "name", json_str(m, "name"));
    json_set_str(row, "namespace", json_str(m, "namespace"));
    json_set_str(row, "created", json_str(m, "creationTimestamp"));
    return row;
}

static void add_value(cJSON *row, const cJSON *value)
{
    if (cJSON_IsString(value)) {
        add_cell(row, value->valuestring);
    } else if (!value || cJSON_IsNull(value)) {
        add_cell(row, "");
    } else {
        AUTO_FREE char *text = json_to_str(value);
        add_cell(row, text);
    }
}

static bool shown(const cJSON *column, bool wide)
{
    return wide || json_int_or(column, "priority", 0) == 0;
}

static char *upper(const char *text)
{
    char *copy = mem_strdup(text);
    for (char *c = copy; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return copy;
}

cJSON *table_from_server(const cJSON *from, bool wide, bool with_namespace)
{
    cJSON *table = new_table((const char *const[]){with_namespace ? "NAMESPACE" : NULL, NULL});
    const cJSON *column, *r, *cell;
    cJSON_ArrayForEach(column, json_get(from, "columnDefinitions"))
    {
        AUTO_FREE char *name = upper(json_str_or(column, "name", ""));
        if (shown(column, wide))
            cJSON_AddItemToArray(json_array_at(table, "columns"), cJSON_CreateString(name));
    }
    cJSON_ArrayForEach(r, json_get(from, "rows"))
    {
        cJSON *row = new_row(json_get(r, "object"));
        if (with_namespace)
            add_cell(row, json_str_or(row, "namespace", ""));
        column =
            json_get(from, "columnDefinitions") ? json_get(from, "columnDefinitions")->child : NULL;
        cJSON_ArrayForEach(cell, json_get(r, "cells"))
        {
            if (!column || shown(column, wide))
                add_value(row, cell);
            column = column ? column->next : NULL;
        }
        cJSON_AddItemToArray(json_array_at(table, "rows"), row);
    }
    return table;
}

cJSON *table_from_list(const cJSON *list, bool with_namespace, int64_t now)
{
    const char *const all[] = {"NAMESPACE", "NAME", "AGE", NULL};
    cJSON *table = new_table(all + !with_namespace);
    const cJSON *item;
    cJSON_ArrayForEach(item, json_get(list, "items"))
    {
        cJSON *row = new_row(item);
        AUTO_BUF age = {0};
        object_age(&age, item, now);
        if (with_namespace)
            add_cell(row, json_str_or(row, "namespace", ""));
        add_cell(row, json_str_or(row, "name", ""));
        add_cell(row, buf_cstr(&age));
        cJSON_AddItemToArray(json_array_at(table, "rows"), row);
    }
    return table;
}

// Tells views which column grows with the row's "created", and which columns stay when there is no
// room for all.
static void set_looks(cJSON *table, const char *age, const char *const *keep)
{
    json_set_str(table, "age", age);
    for (; *keep; keep++)
        cJSON_AddItemToArray(json_array_at(table, "keep"), cJSON_CreateString(*keep));
}

cJSON *table_of_pods(void)
{
    cJSON *table =
        new_table((const char *const[]){"NAME", "READY", "STATUS", "RESTARTS", "AGE", NULL});
    set_looks(table, "AGE", (const char *const[]){"NAME", "STATUS", NULL});
    return table;
}

void table_count_ages(cJSON *table, int64_t now)
{
    const char *name = json_str(table, "age");
    const cJSON *row,
        *column = json_get(table, "columns") ? json_get(table, "columns")->child : NULL;
    int at = 0;
    for (; name && column && !str_eq(column->valuestring, name); column = column->next)
        at++;
    if (!name || !column)
        return;
    cJSON_ArrayForEach(row, json_get(table, "rows"))
    {
        int64_t created;
        AUTO_BUF age = {0};
        if (clock_parse_rfc3339(json_str_or(row, "created", ""), &created, NULL) != 0)
            continue;
        duration_age(&age, now > created ? now - created : 0);
        cJSON_ReplaceItemInArray(
            json_array_at((cJSON *)row, "cells"), at, cJSON_CreateString(buf_cstr(&age)));
    }
}

cJSON *table_pod_row(const cJSON *pod, int64_t now)
{
    struct pod_row text;
    pod_row(pod, now, &text);
    AUTO_BUF age = {0};
    object_age(&age, pod, now);
    cJSON *row = new_row(pod);
    add_cell(row, json_str_or(row, "name", ""));
    add_cell(row, text.ready);
    add_cell(row, text.status);
    add_cell(row, text.restarts);
    add_cell(row, buf_cstr(&age));
    return row;
}

cJSON *table_of_events(const cJSON *events, int64_t now)
{
    cJSON *table =
        new_table((const char *const[]){"LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE", NULL});
    set_looks(table, NULL, (const char *const[]){"REASON", "MESSAGE", NULL});
    const cJSON *event;
    cJSON_ArrayForEach(event, events)
    {
        cJSON *row = new_row(event);
        AUTO_BUF seen = {0}, object = {0};
        int64_t at = event_time(event);
        duration_age(&seen, now > at ? now - at : 0);
        const cJSON *about = json_get(event, "involvedObject");
        AUTO_FREE char *kind = mem_strdup(json_str_or(about, "kind", ""));
        for (char *c = kind; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        buf_fmt(&object, "%s/%s", kind, json_str_or(about, "name", ""));
        add_cell(row, at ? buf_cstr(&seen) : "<unknown>");
        add_cell(row, json_str_or(event, "type", ""));
        add_cell(row, json_str_or(event, "reason", ""));
        add_cell(row, buf_cstr(&object));
        add_cell(row, json_str_or(event, "message", ""));
        cJSON_AddItemToArray(json_array_at(table, "rows"), row);
    }
    return table;
}

// Width in characters: names are not always ASCII.
static size_t width(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += (*text & 0xC0) != 0x80;
    return n;
}

static void measure(const cJSON *cells, size_t *widths, size_t n)
{
    const cJSON *cell = cells ? cells->child : NULL;
    for (size_t i = 0; cell && i < n; cell = cell->next, i++) {
        size_t w = width(cell->valuestring);
        if (w > widths[i])
            widths[i] = w;
    }
}

static void print_row(buf *out, const cJSON *cells, const size_t *widths, size_t n)
{
    const cJSON *cell = cells ? cells->child : NULL;
    for (size_t i = 0; cell && i < n; cell = cell->next, i++) {
        buf_str(out, cell->valuestring);
        size_t pad = i + 1 < n ? widths[i] + 3 - width(cell->valuestring) : 0;
        buf_fmt(out, "%*s", (int)pad, "");
    }
    while (out->len && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    buf_char(out, '\n');
}

void table_print(buf *out, const cJSON *table)
{
    const cJSON *columns = json_get(table, "columns"), *row;
    size_t n = (size_t)cJSON_GetArraySize(columns);
    size_t *widths = mem_array(n + 1, sizeof *widths);
    measure(columns, widths, n);
    cJSON_ArrayForEach(row, json_get(table, "rows"))
    {
        measure(json_get(row, "cells"), widths, n);
    }
    print_row(out, columns, widths, n);
    cJSON_ArrayForEach(row, json_get(table, "rows"))
    {
        print_row(out, json_get(row, "cells"), widths, n);
    }
    free(widths);
}
