// SPDX-License-Identifier: MIT
// The part of k8s.preflight that counts: is there a node large enough for each pod, is there room
// for all of them now, and what do the namespace's quotas leave?
#include "base/data/hashmap.h"
#include "base/data/quantity.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/api/preflight/preflight.h"

#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20 };

enum { DEVICES_MAX = 8 };

// The kinds of devices that are asked for: "nvidia.com/gpu".
struct devices {
    const char *names[DEVICES_MAX];
    size_t n;
};

// What a node has, or what is free of it.
struct room {
    int64_t milli_cpu, bytes, pods, devices[DEVICES_MAX];
};

static int64_t milli_at(const cJSON *object, const char *key)
{
    const cJSON *value = json_get(object, key);
    int64_t milli = 0;
    if (cJSON_IsNumber(value))
        return (int64_t)(value->valuedouble * 1000);
    if (cJSON_IsString(value))
        (void)quantity_parse(value->valuestring, &milli, NULL);
    return milli;
}

// The place of a kind; -1: nobody asks for it.
static int place_of(const struct devices *d, const char *name)
{
    for (size_t i = 0; i < d->n; i++)
        if (str_eq(d->names[i], name))
            return (int)i;
    return -1;
}

static struct devices devices_of(const struct flight *f)
{
    struct devices d = {0};
    for (size_t i = 0; i < f->n_all; i++) {
        const char *name = f->all[i].need.device;
        if (name && place_of(&d, name) < 0 && d.n < DEVICES_MAX)
            d.names[d.n++] = name;
    }
    return d;
}

static struct room room_of(const cJSON *node, const struct devices *d)
{
    const cJSON *has = json_path(node, "status.allocatable");
    struct room r = {.milli_cpu = milli_at(has, "cpu"),
        .bytes = milli_at(has, "memory") / 1000,
        .pods = milli_at(has, "pods") / 1000};
    for (size_t i = 0; i < d->n; i++)
        r.devices[i] = milli_at(has, d->names[i]) / 1000;
    return r;
}

static bool takes_pods(const cJSON *node)
{
    const cJSON *spec = json_get(node, "spec"), *taint;
    if (json_bool_or(spec, "unschedulable", false))
        return false;
    cJSON_ArrayForEach(taint, json_get(spec, "taints"))
    {
        if (!str_eq(json_str(taint, "effect"), "PreferNoSchedule"))
            return false;
    }
    return true;
}

static bool fits(const struct room *r, const struct devices *d, const struct need *n)
{
    int i = n->device ? place_of(d, n->device) : -1;
    return r->pods >= 1 && r->milli_cpu >= n->milli_cpu && r->bytes >= n->bytes &&
           (i < 0 || r->devices[i] >= n->devices);
}

static void take(struct room *r, const struct devices *d, const struct need *n)
{
    int i = n->device ? place_of(d, n->device) : -1;
    r->pods--;
    r->milli_cpu -= n->milli_cpu;
    r->bytes -= n->bytes;
    if (i >= 0)
        r->devices[i] -= n->devices;
}

// Takes what the pods that are there have asked for from their nodes' room.
static void take_pods(
    struct room *rooms, const struct devices *d, const cJSON *nodes, const cJSON *pods)
{
    hashmap *places = hashmap_new_borrowing();
    const cJSON *pod, *node;
    size_t i = 0, at;
    cJSON_ArrayForEach(node, nodes)
    {
        const char *name = json_path_str(node, "metadata.name");
        if (name)
            hashmap_set(places, name, strlen(name), i);
        i++;
    }
    cJSON_ArrayForEach(pod, pods)
    {
        const char *name = json_path_str(pod, "spec.nodeName");
        struct need need;
        if (!name || !hashmap_get(places, name, strlen(name), &at))
            continue;
        need_of_pod(pod, &need);
        take(&rooms[at], d, &need);
    }
    hashmap_free(places);
}

static void add_size(buf *out, const struct need *n)
{
    buf_fmt(out, "%g CPU", (double)n->milli_cpu / 1000);
    if (n->bytes)
        buf_fmt(out, ", %lld MiB", (long long)(n->bytes / MIB));
    if (n->device)
        buf_fmt(out, ", %lld %s", (long long)n->devices, n->device);
}

// Could any node take one of these pods if nothing else ran? `rooms` are the nodes' own sizes.
static bool check_size(struct flight *f, const struct room *rooms, size_t n,
    const struct devices *d, const struct need *need)
{
    struct room most = {0};
    int device = need->device ? place_of(d, need->device) : -1;
    for (size_t i = 0; i < n; i++) {
        if (fits(&rooms[i], d, need))
            return true;
        if (rooms[i].milli_cpu > most.milli_cpu)
            most = rooms[i];
    }
    struct need has = {.milli_cpu = most.milli_cpu,
        .bytes = most.bytes,
        .device = need->device,
        .devices = device >= 0 ? most.devices[device] : 0};
    AUTO_BUF size = {0}, largest = {0};
    add_size(&size, need);
    add_size(&largest, &has);
    AUTO_FREE char *what = str_fmt("no node is large enough for the %s (%s); the largest has %s",
        need->role, buf_cstr(&size), buf_cstr(&largest));
    flight_add(f, FLIGHT_ERROR, what,
        "ask for less (Spark: coreRequest, memory; else resources.requests), or take a larger "
        "node");
    return false;
}

// How many of these pods find room now, each on the first node that has it.
static int64_t place(struct room *rooms, size_t n, const struct devices *d, const struct need *need)
{
    int64_t placed = 0;
    for (size_t i = 0; i < n; i++)
        for (; placed < need->count && fits(&rooms[i], d, need); placed++)
            take(&rooms[i], d, need);
    return placed;
}

static void check_nodes(struct flight *f)
{
    const struct devices d = devices_of(f);
    err e = {0};
    AUTO_JSON *nodes =
        k8s_items(&f->t, flight_ask(f), "v1", "Node", NULL, &(struct list_query){0}, &e);
    if (!nodes) {
        AUTO_FREE char *what = str_fmt("whether nodes have room cannot be asked: %s",
            e.code == ERR_FORBIDDEN ? "you may not list nodes" : e.text);
        flight_add(f, FLIGHT_NOTE, what, NULL);
        return;
    }
    size_t n = 0;
    struct room *rooms = mem_array((size_t)cJSON_GetArraySize(nodes) + 1, sizeof *rooms);
    const cJSON *node;
    cJSON_ArrayForEach(node, nodes)
    {
        rooms[n++] = takes_pods(node) ? room_of(node, &d) : (struct room){0};
    }
    bool large = true;
    for (size_t i = 0; i < f->n_all; i++)
        large = check_size(f, rooms, n, &d, &f->all[i].need) && large;
    AUTO_JSON *pods = large ? k8s_items(&f->t, flight_ask(f), "v1", "Pod", NULL,
                                  &(struct list_query){.fields = "status.phase!=Succeeded,"
                                                                 "status.phase!=Failed"},
                                  NULL)
                            : NULL;
    if (pods)
        take_pods(rooms, &d, nodes, pods);
    for (size_t i = 0; pods && i < f->n_all; i++) {
        const struct need *need = &f->all[i].need;
        int64_t placed = place(rooms, n, &d, need);
        if (placed == need->count)
            continue;
        AUTO_BUF size = {0};
        add_size(&size, need);
        AUTO_FREE char *what = str_fmt("now there is room for %lld of %lld %s pods (%s each)",
            (long long)placed, (long long)need->count, need->role, buf_cstr(&size));
        flight_add(f, FLIGHT_WARNING, what,
            "they wait until others end; or ask for less (Spark: coreRequest, instances)");
    }
    free(rooms);
}

// ---- quotas

// All that a namespace's pods ask for of a quota's resource, in thousandths; -1: it counts
// something else.
static int64_t asked_of(const struct flight *f, const char *ns, const char *resource)
{
    int64_t sum = 0;
    for (size_t i = 0; i < f->n_all; i++) {
        const struct need *n = &f->all[i].need;
        if (!str_eq(f->all[i].ns, ns))
            continue;
        AUTO_FREE char *device = str_fmt("requests.%s", n->device ? n->device : "");
        if (str_eq(resource, "pods") || str_eq(resource, "count/pods"))
            sum += n->count * 1000;
        else if (str_eq(resource, "cpu") || str_eq(resource, "requests.cpu"))
            sum += n->count * n->milli_cpu;
        else if (str_eq(resource, "memory") || str_eq(resource, "requests.memory"))
            sum += n->count * n->bytes * 1000;
        else if (n->device && str_eq(resource, device))
            sum += n->count * n->devices * 1000;
        else if (!str_starts(resource, "requests.") || !strchr(resource, '/'))
            return -1;
    }
    return sum;
}

static void check_quota(struct flight *f, const char *ns, const cJSON *quota)
{
    const cJSON *hard, *used = json_path(quota, "status.used");
    cJSON_ArrayForEach(hard, json_path(quota, "status.hard"))
    {
        int64_t all = milli_at(json_path(quota, "status.hard"), hard->string);
        int64_t left = all - milli_at(used, hard->string), asked = asked_of(f, ns, hard->string);
        if (asked <= left)
            continue;
        AUTO_FREE char *what =
            str_fmt("quota %s of namespace %s leaves %g of %s %s, and %g are asked for",
                json_path_str(quota, "metadata.name"), ns, (double)left / 1000,
                cJSON_IsString(hard) ? hard->valuestring : "?", hard->string, (double)asked / 1000);
        flight_add(f, asked > all ? FLIGHT_ERROR : FLIGHT_WARNING, what,
            "ask for less, delete what is not needed, or have the quota raised");
    }
}

static void check_quotas(struct flight *f, const char *ns)
{
    AUTO_JSON *quotas =
        k8s_items(&f->t, flight_ask(f), "v1", "ResourceQuota", ns, &(struct list_query){0}, NULL);
    const cJSON *quota;
    cJSON_ArrayForEach(quota, quotas)
    {
        check_quota(f, ns, quota);
    }
}

void flight_room(struct flight *f)
{
    if (!f->n_all)
        return;
    check_nodes(f);
    for (size_t i = 0; i < f->n_all; i++) {
        size_t first = 0;
        while (!str_eq(f->all[first].ns, f->all[i].ns))
            first++;
        if (first == i) // of each namespace once
            check_quotas(f, f->all[i].ns);
    }
}
