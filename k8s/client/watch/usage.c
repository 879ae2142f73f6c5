// SPDX-License-Identifier: MIT
#include "k8s/client/watch/usage.h"

#include "base/data/hashmap.h"
#include "base/data/quantity.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/private.h"
#include "k8s/client/connect/status.h"
#include "k8s/client/watch/listing.h"

#include <stdint.h>
#include <string.h>

enum { ITEM_MAX = 1 << 20, MIB = 1 << 20, NANO_IN_MILLI = 1000000, IDLE_MS = 30000 };

// What is known of one: `told`, and `now` of the current answer.
struct measure {
    struct measure *before, *after;
    struct followed *of;
    struct used told, now;
    bool has_reported, seen; // seen: in the current answer
};

// A pod or node whose usage is followed.
struct followed {
    struct measure *measure; // NULL: nothing is known
    const char *uid;         // behind the end of the key
    char key[];              // namespace/name
};

struct usage {
    client *client;
    char *path, *what;
    int every_ms;
    size_t most;
    const struct usage_ops *ops;
    void *arg;
    hashmap *by_name; // to the address of a struct followed, which has the key
    struct measure *first, *last;
    struct measure *turn; // where telling goes on; NULL: with the first
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
    ERR_GUARD(e);
    const char *kind = kind_of(r);
    if (!kind) {
        err_set(e, ERR_USAGE, "usage is known of pods and nodes, not of %s", r->plural);
        return NULL;
    }
    const struct resource *found = client_resource_of(c, p, version, kind, e);
    if (!found && e->code == ERR_NOT_FOUND)
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

static struct followed *find(const usage *u, const char *key)
{
    size_t at;
    return hashmap_get(u->by_name, key, strlen(key), &at) ? (struct followed *)at : NULL;
}

static struct measure *measure_of(usage *u, struct followed *f)
{
    if (f->measure)
        return f->measure;
    struct measure *m = f->measure = mem_alloc(sizeof *m);
    *m = (struct measure){.before = u->last, .of = f};
    *(m->before ? &m->before->after : &u->first) = m;
    u->last = m;
    return m;
}

static void drop_measure(usage *u, struct measure *m)
{
    *(m->before ? &m->before->after : &u->first) = m->after;
    *(m->after ? &m->after->before : &u->last) = m->before;
    if (u->turn == m)
        u->turn = m->after;
    m->of->measure = NULL;
    free(m);
}

static int on_item(void *arg, cJSON *item)
{
    usage *u = arg;
    AUTO_JSON *whole = item;
    const cJSON *m = json_get(whole, "metadata");
    AUTO_FREE char *key = key_of(json_str(m, "namespace"), json_str(m, "name"));
    struct followed *f = find(u, key);
    struct used now;
    if (!f || usage_read(whole, &now) != 0)
        return 0;
    struct measure *measure = measure_of(u, f);
    measure->now = now;
    measure->seen = true;
    return 0;
}

static bool tells(const struct measure *m)
{
    if (m->seen != m->has_reported)
        return true;
    return m->seen &&
           (m->now.milli_cpu != m->told.milli_cpu || m->now.bytes / MIB != m->told.bytes / MIB);
}

static void tell_one(usage *u, struct measure *m)
{
    m->told = m->now;
    m->has_reported = m->seen;
    u->ops->changed(u->arg, m->of->uid, m->seen ? &m->told : NULL);
}

// Reports what has changed, at most u->most of it; the next call goes on where this one stopped.
static void tell(usage *u)
{
    size_t left = u->most ? u->most : SIZE_MAX;
    struct measure *begin = u->turn ? u->turn : u->first, *m = begin;
    if (!m)
        return;
    do {
        struct measure *next = m->after ? m->after : u->first;
        if (tells(m)) {
            tell_one(u, m);
            u->turn = next;
            left--;
        }
        m = next;
    } while (m != begin && left);
}

// Those that the answer has not, and that nobody was told of.
static void drop_unknown(usage *u)
{
    for (struct measure *m = u->first, *next; m; m = next) {
        next = m->after;
        if (!m->seen && !m->has_reported)
            drop_measure(u, m);
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
    if (e->code == ERR_NONE && r->status / 100 == 2 && (frame = listing_end(u->listing, NULL))) {
        tell(u);
        drop_unknown(u);
    } else if (e->code == ERR_NONE && (r->status == 403 || r->status == 401))
        refuse(u, r);
}

static void ask(void *arg)
{
    static const struct http_stream_ops ops = {.data = on_data, .done = on_done};
    usage *u = arg;
    u->begun = true;
    listing_restart(u->listing);
    for (struct measure *m = u->first; m; m = m->after)
        m->seen = false;
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
        .by_name = hashmap_new_borrowing()};
    u->listing = listing_new(LISTING_WHOLE, ITEM_MAX, on_item, u);
    u->timer = loop_timer_new(client_loop(c), ask, u);
    return u;
}

void usage_begin(usage *u)
{
    if (u && !u->begun)
        ask(u);
}

static void free_followed(void *arg, size_t value)
{
    struct followed *f = (struct followed *)value;
    free(f->measure);
    free(f);
}

void usage_close(usage *u)
{
    if (!u)
        return;
    operation_cancel(u->operation);
    loop_timer_free(u->timer);
    listing_free(u->listing);
    hashmap_each(u->by_name, free_followed, NULL);
    hashmap_free(u->by_name);
    free(u->path);
    free(u->what);
    free(u);
}

static struct followed *followed_new(const char *key, const char *uid)
{
    size_t key_n = strlen(key) + 1, uid_n = strlen(uid) + 1;
    struct followed *f = mem_alloc(sizeof *f + key_n + uid_n);
    memcpy(f->key, key, key_n);
    f->uid = memcpy(f->key + key_n, uid, uid_n);
    return f;
}

const struct used *usage_follow(usage *u, const char *ns, const char *name, const char *uid)
{
    AUTO_FREE char *key = key_of(ns, name);
    struct followed *f = find(u, key);
    if (f && str_eq(f->uid, uid))
        return f->measure && f->measure->has_reported ? &f->measure->told : NULL;
    if (f) // another one has the name
        usage_forget(u, ns, name);
    f = followed_new(key, uid ? uid : "");
    hashmap_set(u->by_name, f->key, strlen(f->key), (uintptr_t)f);
    return NULL;
}

void usage_forget(usage *u, const char *ns, const char *name)
{
    AUTO_FREE char *key = key_of(ns, name);
    struct followed *f = find(u, key);
    if (!f)
        return;
    hashmap_remove(u->by_name, f->key, strlen(f->key));
    if (f->measure)
        drop_measure(u, f->measure);
    free(f);
}
