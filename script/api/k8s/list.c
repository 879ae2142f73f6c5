// SPDX-License-Identifier: MIT
// The k8s bindings for lists: whole, page by page, and only shown. What is only shown is asked for
// without its objects: of a pod that takes 10 KB the server sends the 50 bytes of its row.
#include "base/clock.h"
#include "base/json/rowset.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/watch/table.h"
#include "script/api/k8s/k8s.h"

// The objects of a Table's rows, as items.
static cJSON *items_of(cJSON *table, const struct resource *r)
{
    cJSON *items = cJSON_CreateArray(), *row;
    cJSON_ArrayForEach(row, json_get(table, "rows"))
    {
        cJSON *object = cJSON_Duplicate(json_get(row, "object"), 1);
        if (!object)
            continue;
        json_set_str(object, "apiVersion", r->api_version);
        json_set_str(object, "kind", r->kind);
        cJSON_AddItemToArray(items, object);
    }
    return items;
}

// The list has all objects; what is shown of it has as many rows as other tables have. It is so
// now, whenever it is looked at.
void k8s_set_table(cJSON *result, cJSON *table)
{
    AUTO_BUF text = {0};
    cJSON *rows = json_array_at(table, "rows");
    int n = cJSON_GetArraySize(rows);
    int64_t more = json_int_or(table, "more", 0);
    for (int left = n; left > ROWSET_TABLE; left--)
        cJSON_Delete(cJSON_DetachItemViaPointer(rows, rows->child->prev));
    more += n > ROWSET_TABLE ? n - ROWSET_TABLE : 0;
    if (more)
        json_set_int(table, "more", more);
    if (n)
        tabletext_print(table, clock_wall(), &text);
    else
        buf_str(&text, "No resources found\n");
    AUTO_BUF at = {0};
    clock_rfc3339(&at, clock_wall(), CLOCK_SECONDS);
    json_set_str(table, "at", buf_cstr(&at));
    rowset_say_more(more, &text);
    json_set(result, "table", table);
    json_set_str(result, "text", buf_cstr(&text));
}

void k8s_take_events(cJSON *table, const cJSON *events)
{
    cJSON *row = json_array_at(table, "rows")->child;
    for (const cJSON *e = events ? events->child : NULL; e && row; e = e->next, row = row->next)
        k8s_set_event_about(row, e);
    k8s_take_event_actions(table);
}

int k8s_list(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    if (k8s_target(c, args, false, &t, e) != 0)
        return -1;
    bool all = json_bool_or(args, "all_namespaces", false);
    struct list_query q = {.labels = json_str(args, "selector"),
        .fields = json_str(args, "field_selector"),
        .table = true,
        .objects = true};
    AUTO_JSON *list = client_list(t.client, &t.patience, t.resource, all ? NULL : t.ns, &q, e);
    if (!list)
        return -1;
    bool is_table = str_eq(json_str(list, "kind"), "Table");
    *result = cJSON_CreateObject();
    json_set_str(*result, "kind", t.resource->kind);
    json_set(*result, "items",
        is_table ? items_of(list, t.resource)
                 : cJSON_DetachItemFromObjectCaseSensitive(list, "items"));
    const cJSON *item;
    cJSON_ArrayForEach(item, json_get(*result, "items"))
    {
        k8s_register_secrets(c, item);
    }
    free(k8s_note_list(c, &t, args, json_get(*result, "items")));
    bool wide = json_bool_or(args, "wide", false);
    cJSON *table = is_table ? table_from_server(list, t.resource->group, t.resource->kind, wide,
                                  all, clock_wall())
                            : table_from_list(*result, all);
    if (k8s_is_event(t.resource))
        k8s_take_events(table, json_get(*result, "items"));
    else
        k8s_take_actions(table, t.resource);
    k8s_set_title(table, t.resource, all ? NULL : t.ns);
    k8s_set_table(*result, table);
    return 0;
}

// {…, "limit", "next", "read"} → {"items", "next": "" at the end, "read"}.
int k8s_page(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    if (k8s_target(c, args, false, &t, e) != 0)
        return -1;
    int64_t limit = json_int_or(args, "limit", 0);
    if (limit < 0 || limit > 100000)
        return err_set(e, ERR_USAGE, "limit is the number of objects in a page: 1 to 100000");
    bool all = json_bool_or(args, "all_namespaces", false);
    struct list_query q = {.labels = json_str(args, "selector"),
        .fields = json_str(args, "field_selector"),
        .limit = (int)limit};
    AUTO_JSON *page = client_page(
        t.client, &t.patience, t.resource, all ? NULL : t.ns, &q, json_str(args, "next"), e);
    if (!page)
        return -1;
    cJSON *item;
    cJSON_ArrayForEach(item, json_get(page, "items"))
    {
        json_set_str(item, "apiVersion", t.resource->api_version);
        json_set_str(item, "kind", t.resource->kind);
        k8s_register_secrets(c, item);
    }
    const char *next = json_path_str(page, "metadata.continue");
    *result = cJSON_CreateObject();
    json_set(*result, "items", cJSON_DetachItemFromObjectCaseSensitive(page, "items"));
    json_set_str(*result, "next", next ? next : "");
    AUTO_FREE char *read = k8s_note_list(c, &t, args, json_get(*result, "items"));
    json_set_str(*result, "read", read);
    return 0;
}

// The rows of a table of cells are known by name: whoever acts on one means what has it then.
static void take_names(cJSON *table, const char *ns)
{
    cJSON *about = json_object_at(table, "about");
    cJSON_AddNullToObject(about, "uid");
    json_set_str(about, "namespace", ns);
}

static cJSON *shown_table(struct target *t, cJSON *list, bool wide, bool all)
{
    bool is_table = str_eq(json_str(list, "kind"), "Table");
    cJSON *table =
        is_table ? table_of_cells(list, t->resource->kind, wide, all) : table_from_list(list, all);
    json_set_int(table, "more", json_int_or(json_get(list, "metadata"), "remainingItemCount", 0));
    k8s_take_actions(table, t->resource);
    if (is_table)
        take_names(table, all || !t->resource->namespaced ? NULL : t->ns);
    k8s_set_title(table, t->resource, all ? NULL : t->ns);
    return table;
}

// A list of events has rows that stand for what they are about, and some kinds have columns of
// ours: both only their objects say.
static int show_objects(call *c, const cJSON *args, cJSON *shown, err *e)
{
    AUTO_JSON *list = NULL;
    if (k8s_list(c, args, &list, e) != 0)
        return -1;
    json_set(shown, "table", cJSON_DetachItemFromObjectCaseSensitive(list, "table"));
    json_set_str(shown, "text", json_str(list, "text"));
    return 0;
}

static int show_rows(struct target *t, const cJSON *args, cJSON *shown, err *e)
{
    bool all = json_bool_or(args, "all_namespaces", false) && t->resource->namespaced;
    struct list_query q = {.labels = json_str(args, "selector"),
        .fields = json_str(args, "field_selector"),
        .cells = true,
        .most = ROWSET_TABLE};
    AUTO_JSON *list = client_list(t->client, &t->patience, t->resource, all ? NULL : t->ns, &q, e);
    if (!list)
        return -1;
    k8s_set_table(shown, shown_table(t, list, json_bool_or(args, "wide", false), all));
    return 0;
}

// The list as the value of its cell: nobody but the display gets it.
int k8s_show(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    AUTO_JSON *shown = cJSON_CreateObject();
    if (k8s_target(c, args, false, &t, e) != 0 ||
        (k8s_is_event(t.resource) || table_has_own(t.resource->group, t.resource->kind)
                ? show_objects(c, args, shown, e)
                : show_rows(&t, args, shown, e)) != 0)
        return -1;
    AUTO_BUF text = {0};
    buf_str(&text, json_str_or(shown, "text", ""));
    cJSON *data = cJSON_CreateObject();
    json_set(data, "text/plain", k8s_text(&text));
    json_set(data, "application/vnd.firesteel.table+json",
        cJSON_DetachItemFromObjectCaseSensitive(shown, "table"));
    call_result(c, data);
    *result = NULL;
    return 0;
}
