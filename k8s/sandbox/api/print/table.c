// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/print/table.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/print/printers.h"
#include "k8s/sandbox/store/object.h"

#include <string.h>

void table_duration(buf *out, const char *time, int64_t now)
{
    int64_t then;
    if (!time || clock_parse_rfc3339(time, &then, NULL) != 0)
        buf_str(out, "<unknown>");
    else
        duration_age(out, now > then ? now - then : 0);
}

// The end of a name in dotted form; "\." stands for a dot in the name.
static char *dotted_name(const char **path)
{
    buf b = {0};
    const char *p = *path;
    for (; *p && *p != '.' && *p != '['; p++) {
        if (*p == '\\' && p[1])
            p++;
        buf_char(&b, *p);
    }
    *path = p;
    return buf_take(&b) ?: mem_strdup("");
}

static const cJSON *filtered(const cJSON *list, const char *filter)
{
    // ?(@.key=="value")
    const char *at = strstr(filter, "@."), *equals = at ? strstr(at, "==") : NULL;
    if (!equals)
        return NULL;
    AUTO_FREE char *key = str_trim(at + 2, (size_t)(equals - at - 2));
    const char *value = equals + 2 + strspn(equals + 2, " \"'");
    size_t n = strcspn(value, "\"')");
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        const char *text = json_path_str(item, key);
        if (text && strlen(text) == n && memcmp(text, value, n) == 0)
            return item;
    }
    return NULL;
}

static const cJSON *bracket(const cJSON *o, const char *inside)
{
    int64_t i;
    if (*inside == '?')
        return filtered(o, inside);
    if (*inside == '\'' || *inside == '"') {
        AUTO_FREE char *name = mem_strndup(inside + 1, strlen(inside) - 2);
        return json_get(o, name);
    }
    return str_to_int(inside, &i) && cJSON_IsArray(o) ? cJSON_GetArrayItem(o, (int)i) : NULL;
}

// As much of JSONPath as printer columns use: .name ['name'] [0] [?(@.type=="Ready")]
const cJSON *table_jsonpath(const cJSON *o, const char *path)
{
    while (o && *path) {
        if (*path == '[') {
            const char *end = strchr(path, ']');
            if (!end)
                return NULL;
            AUTO_FREE char *inside = mem_strndup(path + 1, (size_t)(end - path - 1));
            o = bracket(o, inside);
            path = end + 1;
            continue;
        }
        path += *path == '.';
        if (!*path)
            break;
        AUTO_FREE char *name = dotted_name(&path);
        o = *name ? json_get(o, name) : o;
    }
    return o;
}

static cJSON *column_json(const struct column *c)
{
    cJSON *o = cJSON_CreateObject();
    json_set_str(o, "name", c->name);
    json_set_str(o, "type", c->type);
    json_set_str(o, "format", c->format ? c->format : "");
    json_set_str(o, "description", "");
    json_set_int(o, "priority", c->priority);
    return o;
}

static const struct column name_column = {"Name", "string", "name", 0, ".metadata.name"};
static const struct column age_column = {"Age", "date", NULL, 0, ".metadata.creationTimestamp"};

// One of a CRD's additionalPrinterColumns.
static struct column custom_column(const cJSON *c)
{
    return (struct column){json_str_or(c, "name", ""), json_str_or(c, "type", "string"),
        json_str(c, "format"), (int)json_int_or(c, "priority", 0), json_str_or(c, "jsonPath", "")};
}

cJSON *table_columns(const struct kind *k)
{
    const struct printer *p = printer_of(k);
    cJSON *columns = cJSON_CreateArray();
    for (size_t i = 0; p && i < p->n; i++)
        cJSON_AddItemToArray(columns, column_json(&p->columns[i]));
    if (p)
        return columns;
    cJSON_AddItemToArray(columns, column_json(&name_column));
    const cJSON *c;
    cJSON_ArrayForEach(c, k->columns)
    {
        struct column column = custom_column(c);
        cJSON_AddItemToArray(columns, column_json(&column));
    }
    if (!k->columns)
        cJSON_AddItemToArray(columns, column_json(&age_column));
    return columns;
}

// Makes a cell as the API server does for custom resources.
static cJSON *path_cell(const struct column *c, const cJSON *object, int64_t now)
{
    const cJSON *v = table_jsonpath(object, c->path);
    if (!v)
        return cJSON_CreateNull();
    if (str_eq(c->type, "date")) {
        AUTO_BUF b = {0};
        table_duration(&b, cJSON_IsString(v) ? v->valuestring : NULL, now);
        return cJSON_CreateString(buf_cstr(&b));
    }
    if (cJSON_IsNull(v)) // as Go's template prints nil
        return str_eq(c->type, "string") ? cJSON_CreateString("<no value>") : cJSON_CreateNull();
    if (!str_eq(c->type, "string") || cJSON_IsString(v))
        return cJSON_Duplicate(v, true);
    AUTO_FREE char *text = json_to_str(v);
    return cJSON_CreateString(text);
}

cJSON *table_cells(const struct kind *k, const cJSON *object, int64_t now)
{
    const struct printer *p = printer_of(k);
    cJSON *row = cJSON_CreateArray();
    if (p && p->cells) {
        p->cells(row, object, now);
        return row;
    }
    for (size_t i = 0; p && i < p->n; i++)
        cJSON_AddItemToArray(row, path_cell(&p->columns[i], object, now));
    if (p)
        return row;
    cJSON_AddItemToArray(row, path_cell(&name_column, object, now));
    const cJSON *c;
    cJSON_ArrayForEach(c, k->columns)
    {
        struct column column = custom_column(c);
        cJSON_AddItemToArray(row, path_cell(&column, object, now));
    }
    if (!k->columns)
        cJSON_AddItemToArray(row, path_cell(&age_column, object, now));
    return row;
}
