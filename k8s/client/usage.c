// SPDX-License-Identifier: MIT
#include "k8s/client/usage.h"

#include "base/hashmap.h"
#include "base/mem.h"
#include "base/quantity.h"
#include "base/str.h"
#include "k8s/client/listing.h"
#include "k8s/client/private.h"
#include "k8s/client/status.h"

#include <string.h>

enum { ITEM_MAX = 1 << 20, MIB = 1 << 20, NANO_IN_MILLI = 1000000, IDLE_MS = 30000 };

// A pod or node whose usage is followed. Slots are used again; `by_name` leads to them.
struct slot {
    char *uid; // NULL: free
    struct used told, now;
    bool has_told, seen; // seen: in the current answer
    size_t next;         // of free ones
};

struct usage {
    client *client;
    char *path, *what;
    int every_ms;
    size_t most;
    const struct usage_ops *ops;
    void *arg;
    hashmap *by_name;
    struct slot *slots;
    size_t n, cap, free, turn; // free: 1 + the first free slot; turn: where telling goes on
    listing *listing;
    operation *operation;
    loop_timer *timer;
    bool begun;
};

static const char version[] = "metrics.k8s.io/v1beta1";

static const char *kind_of(const struct resource *r)
{
    return *r->group                 ? NULL
           : str_eq(r->kind, "Pod")  ? "PodMetrics"
           : str_eq(r->kind, "Node") ? "NodeMetrics"
                                     : NULL;
}

const struct resource *usage_of(client *c, const struct resource *r)
{
    const char *kind = kind_of(r);
    return kind ? client_known(c, version, kind) : NULL;
}

const struct resource *usage_ask(
    client *c, const struct patience *p, const struct resource *r, err *e)
{
    const char *kind = kind_of(r);
    if (!kind) {
        err_set(e, ERR_USAGE, "usage is known of pods and nodes, not of %s", r->plural);
        return NULL;
    }
    const struct resource *found = client_resource_of(c, p, version, kind, e);
    if (!found && e && e->code == ERR_NOT_FOUND)
        err_set(e, ERR_UNAVAILABLE,
            "usage: the server has no metrics.k8s.io, which tells what pods and nodes use; "
            "install metrics-server, or leave usage out");
    return found;
}

static int add(const cJSON *of, int64_t *nano, int64_t *bytes)
{
    int64_t cpu = 0, milli = 0;
    const char *cpu_text = json_str(of, "cpu"), *memory = json_str(of, "memory");
    if (!cpu_text || !memory || quantity_parse_nano(cpu_text, &cpu, NULL) != 0 ||
        quantity_parse(memory, &milli, NULL) != 0 || cpu < 0 || milli < 0 ||
        *nano > INT64_MAX - cpu - NANO_IN_MILLI || *bytes > INT64_MAX / 1000 - milli / 1000)
        return -1;
    *nano += cpu;
    *bytes += milli / 1000;
    return 0;
}

// A pod's containers together, then rounded, as kubectl does.
int usage_read(const cJSON *item, struct used *out)
{
    int64_t nano = 0, bytes = 0;
    const cJSON *container, *containers = json_get(item, "containers");
    if (!cJSON_IsArray(containers) && add(json_get(item, "usage"), &nano, &bytes) != 0)
        return -1;
    cJSON_ArrayForEach(container, containers)
    {
        if (add(json_get(container, "usage"), &nano, &bytes) != 0)
            return -1;
    }
    *out = (struct used){(nano + NANO_IN_MILLI - 1) / NANO_IN_MILLI, bytes};
    return 0;
}

static char *key_of(const char *ns, const char *name)
{
    return str_fmt("%s/%s", ns ? ns : "", name ? name : "");
}

static struct slot *find(const usage *u, const char *key)
{
    size_t i;
    return hashmap_get(u->by_name, key, strlen(key), &i) ? &u->slots[i] : NULL;
}

static int on_item(void *arg, cJSON *item)
{
    usage *u = arg;
    AUTO_JSON *whole = item;
    const cJSON *m = json_get(whole, "metadata");
    AUTO_FREE char *key = key_of(json_str(m, "namespace"), json_str(m, "name"));
    struct slot *s = find(u, key);
    if (s)
        s->seen = usage_read(whole, &s->now) == 0;
    return 0;
}

static bool tells(const struct slot *s)
{
    if (!s->uid || s->seen != s->has_told)
        return s->uid;
    return s->seen &&
           (s->now.milli_cpu != s->told.milli_cpu || s->now.bytes / MIB != s->told.bytes / MIB);
}

// Reports what has changed, at most u->most of it; the next call goes on where this one stopped.
static void tell(usage *u)
{
    size_t left = u->most ? u->most : u->n, from = u->turn;
    for (size_t k = 0; k < u->n && left; k++) {
        size_t i = (from + k) % u->n;
        struct slot *s = &u->slots[i];
        if (!tells(s))
            continue;
        s->told = s->now;
        s->has_told = s->seen;
        u->ops->changed(u->arg, s->uid, s->seen ? &s->told : NULL);
        u->turn = i + 1;
        left--;
    }
}

static void on_data(void *arg, const char *bytes, size_t n)
{
    usage *u = arg;
    err why = {0};
    if (listing_feed(u->listing, bytes, n, &why) == 0)
        return;
    operation_cancel(STEAL(u->operation));
    loop_timer_start(u->timer, (uint64_t)u->every_ms, 0);
}

static void refuse(usage *u, struct http_response *r)
{
    err why = {0};
    if (u->client->usage_refused || !u->ops->refused)
        return;
    u->client->usage_refused = true;
    status_error(r, u->what, client_who(u->client), &why);
    u->ops->refused(u->arg, &why);
}

static void on_done(void *arg, struct http_response *r, const err *e)
{
    usage *u = arg;
    AUTO_JSON *frame = NULL;
    u->operation = NULL;
    loop_timer_start(u->timer, (uint64_t)u->every_ms, 0);
    if (e->code == ERR_NONE && r->status / 100 == 2 && (frame = listing_end(u->listing, NULL)))
        tell(u);
    else if (e->code == ERR_NONE && (r->status == 403 || r->status == 401))
        refuse(u, r);
}

static void ask(void *arg)
{
    static const struct http_stream_ops ops = {.data = on_data, .done = on_done};
    usage *u = arg;
    u->begun = true;
    listing_restart(u->listing);
    for (size_t i = 0; i < u->n; i++)
        u->slots[i].seen = false;
    u->operation = operation_start(u->client,
        &(struct request){.path = u->path,
            .pool = HTTP_POOL_REQUESTS,
            .idle_timeout_ms = IDLE_MS,
            .least_speed = HTTP_LEAST_SPEED,
            .repeatable = true,
            .what = u->what},
        &ops, u);
}

usage *usage_open(client *c, const struct usage_spec *spec, const struct usage_ops *ops, void *arg)
{
    usage *u = mem_alloc(sizeof *u);
    AUTO_FREE char *base = resource_path(spec->resource, spec->ns, NULL, NULL);
    AUTO_BUF path = {0};
    buf_str(&path, base);
    request_query(&path, "labelSelector", spec->labels);
    request_query(&path, "fieldSelector", spec->fields);
    *u = (usage){.client = c,
        .every_ms = spec->every_ms,
        .most = spec->most,
        .path = buf_take(&path),
        .what = client_sentence("list", spec->resource, spec->ns, NULL),
        .ops = ops,
        .arg = arg,
        .by_name = hashmap_new()};
    u->listing = listing_new(LISTING_WHOLE, ITEM_MAX, on_item, u);
    u->timer = loop_timer_new(client_loop(c), ask, u);
    return u;
}

void usage_begin(usage *u)
{
    if (u && !u->begun)
        ask(u);
}

void usage_close(usage *u)
{
    if (!u)
        return;
    operation_cancel(u->operation);
    loop_timer_free(u->timer);
    listing_free(u->listing);
    hashmap_free(u->by_name);
    for (size_t i = 0; i < u->n; i++)
        free(u->slots[i].uid);
    free(u->slots);
    free(u->path);
    free(u->what);
    free(u);
}

static size_t take_slot(usage *u)
{
    size_t i = u->free ? u->free - 1 : u->n;
    if (u->free) {
        u->free = u->slots[i].next;
        return i;
    }
    if (u->n == u->cap) {
        u->cap = u->cap ? 2 * u->cap : 64;
        u->slots = mem_resize(u->slots, u->cap, sizeof *u->slots);
    }
    u->n++;
    return i;
}

const struct used *usage_follow(usage *u, const char *ns, const char *name, const char *uid)
{
    AUTO_FREE char *key = key_of(ns, name);
    struct slot *s = find(u, key);
    if (s && str_eq(s->uid, uid))
        return s->has_told ? &s->told : NULL;
    if (s) // another one has the name
        usage_forget(u, ns, name);
    size_t i = take_slot(u);
    u->slots[i] = (struct slot){.uid = mem_strdup(uid)};
    hashmap_set(u->by_name, key, strlen(key), i);
    return NULL;
}

void usage_forget(usage *u, const char *ns, const char *name)
{
    AUTO_FREE char *key = key_of(ns, name);
    struct slot *s = find(u, key);
    if (!s)
        return;
    free(s->uid);
    *s = (struct slot){.next = u->free};
    u->free = (size_t)(s - u->slots) + 1;
    hashmap_remove(u->by_name, key, strlen(key));
}
