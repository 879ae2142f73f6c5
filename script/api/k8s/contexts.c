// SPDX-License-Identifier: MIT
// The contexts of the kubeconfig: a list for cells, and a table for whoever chooses one.
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/api/bindings.h"
#include "script/api/k8s/k8s.h"

bool k8s_guarded(call *c, const char *context)
{
    struct client_options options = bind_options(c);
    AUTO_JSON *all = kubeconfig_list(&options, NULL);
    const cJSON *one;
    cJSON_ArrayForEach(one, all)
    {
        if (str_eq(json_str(one, "name"), context))
            return json_bool_or(one, "guarded", false);
    }
    return false;
}

static void add_row(cJSON *table, const cJSON *context)
{
    const char *name = json_str(context, "name");
    const char *cells[] = {json_bool_or(context, "current", false) ? "*" : "", name,
        json_str(context, "namespace"), json_bool_or(context, "guarded", false) ? "protected" : "",
        json_str(context, "cluster"), json_str(context, "user"), json_str(context, "server")};
    cJSON *row = cJSON_CreateObject();
    json_set_str(row, "uid", name);
    json_set_str(row, "name", name);
    json_set(row, "cells", cJSON_CreateStringArray(cells, (int)ARRAY_LEN(cells)));
    cJSON_AddItemToArray(json_array_at(table, "rows"), row);
}

static cJSON *table_of(const cJSON *contexts)
{
    static const char *const columns[] = {"CURRENT", "NAME", "NAMESPACE", "MARK"}, *const wide[] = {
                                                                                       "CLUSTER",
                                                                                       "USER",
                                                                                       "SERVER"};
    static const char *const keep[] = {"NAME", "MARK"};
    cJSON *table = cJSON_CreateObject();
    const cJSON *context;
    json_set(table, "columns", cJSON_CreateStringArray(columns, (int)ARRAY_LEN(columns)));
    for (size_t i = 0; i < ARRAY_LEN(wide); i++) {
        cJSON *column = cJSON_CreateObject();
        json_set_str(column, "name", wide[i]);
        json_set_bool(column, "wide", true);
        cJSON_AddItemToArray(json_array_at(table, "columns"), column);
    }
    json_array_at(table, "rows");
    cJSON_ArrayForEach(context, contexts)
    {
        add_row(table, context);
    }
    json_set(table, "keep", cJSON_CreateStringArray(keep, (int)ARRAY_LEN(keep)));
    json_set_str(table, "title", "contexts");
    json_set_str(table, "enter", "context");
    return table;
}

int k8s_contexts(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct client_options options = bind_options(c);
    AUTO_JSON *contexts = kubeconfig_list(&options, e);
    if (!contexts)
        return -1;
    if (!call_is_action(c)) {
        *result = STEAL(contexts);
        return 0;
    }
    return k8s_show_table(c, table_of(contexts), result);
}
