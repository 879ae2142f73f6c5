// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/quantity.h"
#include "base/str.h"
#include "base/tabletext.h"
#include "k8s/client/usage.h"

static const struct {
    const char *name;
    bool percent, memory;
} columns_[] = {
    {"CPU", false, false}, {"%CPU", true, false}, {"MEM", false, true}, {"%MEM", true, true}};

static bool has(const char *kind, size_t column)
{
    return str_eq(kind, "Node") || (str_eq(kind, "Pod") && !columns_[column].percent);
}

size_t usage_columns(const char *kind)
{
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(columns_); i++)
        n += has(kind, i);
    return n;
}

void usage_add_columns(cJSON *columns, const char *kind)
{
    for (size_t i = 0; i < ARRAY_LEN(columns_); i++) {
        if (!has(kind, i))
            continue;
        cJSON *column = cJSON_CreateObject();
        json_set_str(column, "name", columns_[i].name);
        json_set_bool(column, "wide", true);
        json_set_str(column, "align", "right");
        cJSON_AddItemToArray(columns, column);
    }
}

void usage_take_room(cJSON *row, const cJSON *node)
{
    int64_t cpu, memory;
    const cJSON *room = json_path(node, "status.allocatable");
    if (quantity_parse(json_str_or(room, "cpu", ""), &cpu, NULL) != 0 ||
        quantity_parse(json_str_or(room, "memory", ""), &memory, NULL) != 0)
        return;
    cJSON *kept = json_object_at(row, "room");
    json_set_int(kept, "cpu", cpu);
    json_set_int(kept, "memory", memory / 1000);
}

// As kubectl, a percent is cut off, not rounded.
static char *percent(double part, double whole)
{
    return whole > 0 ? str_fmt("%d%%", (int)(part / whole * 100)) : mem_strdup("");
}

static char *words_of(const cJSON *row, size_t column, const struct used *u)
{
    const cJSON *room = json_get(row, "room");
    if (!u)
        return mem_strdup("");
    if (columns_[column].percent && columns_[column].memory)
        return percent((double)u->bytes, (double)json_int_or(room, "memory", 0));
    if (columns_[column].percent)
        return percent((double)u->milli_cpu, (double)json_int_or(room, "cpu", 0));
    return columns_[column].memory ? str_fmt("%lldMi", (long long)(u->bytes >> 20))
                                   : str_fmt("%lldm", (long long)u->milli_cpu);
}

void usage_show(const cJSON *table, cJSON *row, const struct used *used)
{
    int at = 0;
    const cJSON *column;
    cJSON *cells = (cJSON *)json_get(row, "cells");
    cJSON_ArrayForEach(column, json_get(table, "columns"))
    {
        for (size_t i = 0; i < ARRAY_LEN(columns_); i++) {
            if (!str_eq(tabletext_column(column), columns_[i].name))
                continue;
            AUTO_FREE char *words = words_of(row, i, used);
            cJSON_ReplaceItemInArray(cells, at, cJSON_CreateString(words));
        }
        at++;
    }
}
