// SPDX-License-Identifier: MIT
// k8s.nodes: nodes, what pods have asked of them, and who holds their devices (GPUs): for cells,
// and as a table for whoever asks for it with a key.
#include "base/clock.h"
#include "base/data/hashmap.h"
#include "base/data/quantity.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/state/need.h"
#include "k8s/client/state/state.h"
#include "script/api/k8s/k8s.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 500, HOLDERS_SHOWN = 8, MIB = 1 << 20, GIB = 1 << 30 };

struct node {
    cJSON *item; // as cells get it
    const char *uid;
    int64_t cpu, bytes; // asked for
};

struct looking {
    struct target *t;
    cJSON *nodes;    // as the server has them
    hashmap *places; // of names, in `all`
    struct node *all;
    size_t n;
    err unread; // pods could not be read
};

// ---- nodes

static int64_t milli_of(const cJSON *node, const char *resource)
{
    int64_t milli = 0;
    const char *text = json_str(json_path(node, "status.allocatable"), resource);
    return text && quantity_parse(text, &milli, NULL) == 0 ? milli : 0;
}

// "Ready", "NotReady", "Ready,SchedulingDisabled", as kubectl has it.
static char *state_text(const cJSON *node)
{
    const cJSON *c;
    bool ready = false;
    cJSON_ArrayForEach(c, json_path(node, "status.conditions"))
    {
        if (str_eq(json_str(c, "type"), "Ready"))
            ready = str_eq(json_str(c, "status"), "True");
    }
    bool closed = json_bool_or(json_get(node, "spec"), "unschedulable", false);
    return str_fmt("%s%s", ready ? "Ready" : "NotReady", closed ? ",SchedulingDisabled" : "");
}

static cJSON *pair(double asked, double all)
{
    cJSON *of = cJSON_CreateObject();
    json_set(of, "asked", cJSON_CreateNumber(asked));
    json_set(of, "all", cJSON_CreateNumber(all));
    return of;
}

static void take_node(struct looking *l, const cJSON *node)
{
    struct node *n = &l->all[l->n];
    const char *name = json_path_str(node, "metadata.name");
    const cJSON *resource;
    AUTO_FREE char *state = state_text(node);
    if (!name)
        return;
    *n = (struct node){.item = cJSON_CreateObject(), .uid = json_path_str(node, "metadata.uid")};
    json_set_str(n->item, "name", name);
    json_set_str(n->item, "state", state);
    json_set(n->item, "cpu", pair(0, (double)milli_of(node, "cpu") / 1000));
    json_set(n->item, "memory", pair(0, (double)(milli_of(node, "memory") / 1000)));
    cJSON *devices = json_object_at(n->item, "devices");
    cJSON_ArrayForEach(resource, json_path(node, "status.allocatable"))
    {
        if (strchr(resource->string, '/'))
            json_set(devices, resource->string,
                pair(0, (double)milli_of(node, resource->string) / 1000));
    }
    json_array_at(n->item, "holders");
    hashmap_set(l->places, name, strlen(name), l->n++);
}

// ---- pods

static void raise(cJSON *of, double by)
{
    const cJSON *asked = json_get(of, "asked");
    if (asked)
        json_set(of, "asked", cJSON_CreateNumber(asked->valuedouble + by));
}

static void take_holder(struct node *n, const cJSON *pod, const struct need *need)
{
    cJSON *holder = cJSON_CreateObject();
    json_set_str(holder, "namespace", json_path_str(pod, "metadata.namespace"));
    json_set_str(holder, "name", json_path_str(pod, "metadata.name"));
    json_set_int(json_object_at(holder, "devices"), need->device, need->devices);
    json_set_str(holder, "since", json_path_str(pod, "status.startTime"));
    cJSON_AddItemToArray(json_array_at(n->item, "holders"), holder);
}

static void take_pod(struct looking *l, const cJSON *pod)
{
    struct need need;
    size_t at;
    const char *name = json_path_str(pod, "spec.nodeName"),
               *phase = json_path_str(pod, "status.phase");
    if (!name || str_eq(phase, "Succeeded") || str_eq(phase, "Failed") ||
        !hashmap_get(l->places, name, strlen(name), &at))
        return;
    struct node *n = &l->all[at];
    need_of_pod(pod, &need);
    n->cpu += need.milli_cpu;
    n->bytes += need.bytes;
    cJSON *device = need.device ? cJSON_GetObjectItemCaseSensitive(
                                      json_object_at(n->item, "devices"), need.device)
                                : NULL;
    if (!device)
        return;
    raise(device, (double)need.devices);
    take_holder(n, pod, &need);
}

// Of all namespaces, else of this one; a page at a time, as there may be many.
static int read_pods(struct looking *l, const char *ns, err *e)
{
    client *c = l->t->client;
    const struct resource *r = client_resource_of(c, &l->t->patience, "v1", "Pod", e);
    AUTO_FREE char *next = NULL;
    const struct list_query q = {
        .fields = "status.phase!=Succeeded,status.phase!=Failed", .limit = PAGE};
    while (r) {
        AUTO_JSON *page = client_page(c, &l->t->patience, r, ns, &q, next, e);
        const cJSON *pod;
        if (!page)
            return -1;
        cJSON_ArrayForEach(pod, json_get(page, "items"))
        {
            take_pod(l, pod);
        }
        const char *more = json_path_str(page, "metadata.continue");
        free(next);
        next = more && *more ? mem_strdup(more) : NULL;
        if (!next)
            return 0;
    }
    return -1;
}

static void count_pods(struct looking *l)
{
    err why = {0};
    if (read_pods(l, NULL, &l->unread) == 0)
        return;
    if (l->unread.code == ERR_FORBIDDEN)
        read_pods(l, l->t->ns, &why);
}

// ---- the table

static void add_amount(buf *out, double asked, double all, bool bytes)
{
    double unit = !bytes ? 1 : all >= GIB ? GIB : MIB;
    buf_fmt(out, "%.3g/%.3g%s", asked / unit, all / unit,
        !bytes       ? ""
        : unit > MIB ? " GiB"
                     : " MiB");
}

static double number(const cJSON *of, const char *name)
{
    const cJSON *value = json_get(of, name);
    return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

// "team/train-0 2 (3h), team/x 1"
static void add_holders(buf *out, const cJSON *holders, int64_t now)
{
    const cJSON *holder;
    int i = 0, n = cJSON_GetArraySize(holders);
    cJSON_ArrayForEach(holder, holders)
    {
        const char *since = json_str(holder, "since");
        const cJSON *device = json_get(holder, "devices")->child;
        int64_t at;
        if (i == HOLDERS_SHOWN)
            break;
        buf_fmt(out, "%s%s/%s %d", i++ ? ", " : "", json_str_or(holder, "namespace", "?"),
            json_str_or(holder, "name", "?"), device ? device->valueint : 0);
        if (since && clock_parse_rfc3339(since, &at, NULL) == 0) {
            buf_str(out, " (");
            duration_age(out, now - at);
            buf_char(out, ')');
        }
    }
    if (n > i)
        buf_fmt(out, ", and %d more", n - i);
}

static cJSON *row_of(const struct node *n, int64_t now)
{
    AUTO_BUF cpu = {0}, memory = {0}, devices = {0}, holders = {0};
    const cJSON *device, *of = json_get(n->item, "cpu");
    add_amount(&cpu, number(of, "asked"), number(of, "all"), false);
    of = json_get(n->item, "memory");
    add_amount(&memory, number(of, "asked"), number(of, "all"), true);
    cJSON_ArrayForEach(device, json_get(n->item, "devices"))
    {
        buf_fmt(&devices, "%s%g/%g %s", devices.len ? ", " : "", number(device, "asked"),
            number(device, "all"), device->string);
    }
    add_holders(&holders, json_get(n->item, "holders"), now);
    const char *name = json_str(n->item, "name"), *state = json_str(n->item, "state");
    const char *cells[] = {
        name, state, buf_cstr(&cpu), buf_cstr(&memory), buf_cstr(&devices), buf_cstr(&holders)};
    cJSON *row = cJSON_CreateObject();
    json_set_str(row, "uid", n->uid);
    json_set_str(row, "name", name);
    if (str_starts(state, "NotReady"))
        json_set_int(row, "sick", 1);
    json_set(row, "cells", cJSON_CreateStringArray(cells, (int)ARRAY_LEN(cells)));
    return row;
}

static int by_devices(const void *a, const void *b)
{
    const struct node *x = a, *y = b;
    bool has = json_get(x->item, "devices")->child, have = json_get(y->item, "devices")->child;
    return has != have ? have - has
                       : strverscmp(json_str(x->item, "name"), json_str(y->item, "name"));
}

// "nodes: 3 of 8 nvidia.com/gpu are free"
static void set_title(const struct looking *l, cJSON *table)
{
    AUTO_JSON *sums = cJSON_CreateObject();
    AUTO_BUF title = {0};
    const cJSON *device, *sum;
    for (size_t i = 0; i < l->n; i++) {
        cJSON_ArrayForEach(device, json_get(l->all[i].item, "devices"))
        {
            cJSON *of = json_object_at(sums, device->string);
            double asked = number(of, "asked"), all = number(of, "all");
            json_set(of, "asked", cJSON_CreateNumber(asked + number(device, "asked")));
            json_set(of, "all", cJSON_CreateNumber(all + number(device, "all")));
        }
    }
    cJSON_ArrayForEach(sum, sums)
    {
        buf_fmt(&title, "%s%g of %g %s", title.len ? ", " : "",
            number(sum, "all") - number(sum, "asked"), number(sum, "all"), sum->string);
    }
    AUTO_FREE char *text =
        title.len ? str_fmt("nodes: %s are free", buf_cstr(&title)) : mem_strdup("nodes");
    json_set_str(table, "title", text);
    json_set_str(table, "many", "nodes");
    json_set_str(table, "one", "node");
}

static cJSON *table_of(struct looking *l)
{
    static const char *const columns[] = {
        "NODE", "STATUS", "CPU ASKED", "MEM ASKED", "DEVICES", "HELD BY"};
    int64_t now = clock_wall();
    cJSON *table = cJSON_CreateObject(), *rows = json_array_at(table, "rows");
    json_set(table, "columns", cJSON_CreateStringArray(columns, (int)ARRAY_LEN(columns)));
    for (size_t i = 0; i < l->n; i++)
        cJSON_AddItemToArray(rows, row_of(&l->all[i], now));
    k8s_take_actions(table, l->t->resource);
    set_title(l, table);
    if (l->unread.code) {
        AUTO_FREE char *note =
            str_fmt("of pods of other namespaces nothing is counted: %s", l->unread.text);
        json_set_str(table, "note", note);
    }
    return table;
}

// ---- the binding

static int look(struct looking *l, const char *labels, err *e)
{
    AUTO_JSON *list = client_list(l->t->client, &l->t->patience, l->t->resource, NULL,
        &(struct list_query){.labels = labels}, e);
    const cJSON *node;
    if (!list)
        return -1;
    l->nodes = cJSON_DetachItemFromObjectCaseSensitive(list, "items");
    l->all = mem_array((size_t)cJSON_GetArraySize(l->nodes) + 1, sizeof *l->all);
    l->places = hashmap_new_borrowing();
    cJSON_ArrayForEach(node, l->nodes)
    {
        take_node(l, node);
    }
    count_pods(l);
    for (size_t i = 0; i < l->n; i++) {
        raise((cJSON *)json_get(l->all[i].item, "cpu"), (double)l->all[i].cpu / 1000);
        raise((cJSON *)json_get(l->all[i].item, "memory"), (double)l->all[i].bytes);
    }
    qsort(l->all, l->n, sizeof *l->all, by_devices);
    return 0;
}

static void show(call *c, cJSON *result, cJSON *table)
{
    AUTO_BUF text = {0};
    cJSON *data = cJSON_CreateObject();
    tabletext_print(table, clock_wall(), &text);
    json_set_str(data, "text/plain", buf_cstr(&text));
    json_set(data, "application/vnd.firesteel.table+json", table);
    display *d = call_display(c, data, true);
    json_set_int(result, "display", display_id(d));
    display_close(d, NULL); // it stays as it is
}

static int nodes(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    AUTO_JSON *about = cJSON_CreateObject();
    json_set_str(about, "kind", "nodes");
    json_set_str(about, "context", json_str(args, "context"));
    json_set_str(about, "namespace", json_str(args, "namespace"));
    if (k8s_target(c, about, false, &t, e) != 0)
        return -1;
    struct looking l = {.t = &t};
    int done = look(&l, json_str(args, "selector"), e);
    if (done == 0) {
        cJSON *table = table_of(&l);
        *result = cJSON_CreateObject();
        cJSON *items = json_array_at(*result, "items");
        for (size_t i = 0; i < l.n; i++)
            cJSON_AddItemToArray(items, STEAL(l.all[i].item));
        if (call_is_action(c))
            show(c, *result, table);
        else
            k8s_set_table(*result, table);
    }
    hashmap_free(l.places);
    cJSON_Delete(l.nodes);
    free(l.all);
    return done;
}

const struct binding k8s_nodes_bindings[] = {
    {.name = "k8s.nodes", .effect = EFFECT_PURE, .start = nodes},
    {0},
};
