// SPDX-License-Identifier: MIT
#include "base/data/quantity.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/watch/usage.h"

#include <math.h>

// Percents are of what a row has kept as its "room": of pods those of k9s.
static const struct {
    const char *name, *kind; // kind: NULL: of all that have usage
    const char *of;          // NULL: what is used itself
    bool memory;
} columns_[] = {{"CPU", NULL, NULL, false}, {"%CPU", "Node", "cpu", false},
    {"%CPU/R", "Pod", "cpu_requests", false}, {"%CPU/L", "Pod", "cpu_limits", false},
    {"MEM", NULL, NULL, true}, {"%MEM", "Node", "memory", true},
    {"%MEM/R", "Pod", "memory_requests", true}, {"%MEM/L", "Pod", "memory_limits", true}};

static bool has(const char *kind, size_t column)
{
    return columns_[column].kind ? str_eq(kind, columns_[column].kind)
                                 : str_eq(kind, "Node") || str_eq(kind, "Pod");
}

size_t usage_columns(const char *kind)
{
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(columns_); i++)
        n += has(kind, i);
    return n;
}

void usage_add_columns(cJSON *columns, const char *kind, bool always)
{
    for (size_t i = 0; i < ARRAY_LEN(columns_); i++) {
        if (!has(kind, i))
            continue;
        cJSON *column = cJSON_CreateObject();
        json_set_str(column, "name", columns_[i].name);
        if (!always)
            json_set_bool(column, "wide", true);
        if (!always && str_eq(columns_[i].kind, "Pod"))
            json_set_bool(column, "late", true);
        json_set_str(column, "align", "right");
        cJSON_AddItemToArray(columns, column);
    }
}

static void take_node(cJSON *row, const cJSON *node)
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

// Adds what the containers of a list say of one thing, "requests.cpu". An init container counts
// when it is a sidecar: then it runs beside the others.
static void add_asked(
    const cJSON *containers, bool init, const char *part, const char *what, int64_t *sum)
{
    int64_t one;
    const cJSON *c;
    cJSON_ArrayForEach(c, containers)
    {
        const char *said = json_str(json_get(json_get(c, "resources"), part), what);
        bool runs = !init || str_eq(json_str(c, "restartPolicy"), "Always");
        if (runs && said && quantity_parse(said, &one, NULL) == 0 && one > 0 &&
            *sum <= INT64_MAX - one)
            *sum += one;
    }
}

static void take_pod(cJSON *row, const cJSON *pod)
{
    static const struct {
        const char *name, *part, *what;
        int64_t unit;
    } asked[] = {{"cpu_requests", "requests", "cpu", 1}, {"cpu_limits", "limits", "cpu", 1},
        {"memory_requests", "requests", "memory", 1000},
        {"memory_limits", "limits", "memory", 1000}};
    const cJSON *spec = json_get(pod, "spec");
    cJSON *kept = spec ? json_object_at(row, "room") : NULL;
    for (size_t i = 0; spec && i < ARRAY_LEN(asked); i++) {
        int64_t sum = 0;
        add_asked(json_get(spec, "containers"), false, asked[i].part, asked[i].what, &sum);
        add_asked(json_get(spec, "initContainers"), true, asked[i].part, asked[i].what, &sum);
        if (sum)
            json_set_int(kept, asked[i].name, sum / asked[i].unit);
    }
}

void usage_take_room(cJSON *row, const char *kind, const cJSON *object)
{
    if (str_eq(kind, "Pod"))
        take_pod(row, object);
    else
        take_node(row, object);
}

// As kubectl and k9s, a percent is cut off, not rounded; "n/a": no container says what it asks for.
static char *percent(int64_t part, const cJSON *room, size_t column)
{
    double whole = (double)json_int_or(room, columns_[column].of, 0);
    if (whole > 0)
        return str_fmt("%.0f%%", floor((double)part / whole * 100));
    return mem_strdup(room && str_eq(columns_[column].kind, "Pod") ? "n/a" : "");
}

static char *words_of(const cJSON *row, size_t column, const struct used *u)
{
    const cJSON *room = json_get(row, "room");
    if (!u)
        return mem_strdup("");
    if (columns_[column].of)
        return percent(columns_[column].memory ? u->bytes : u->milli_cpu, room, column);
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
