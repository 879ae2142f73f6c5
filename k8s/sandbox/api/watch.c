// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/watch.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/objects/selector.h"
#include "k8s/sandbox/api/verbs.h"

#include <string.h>

enum { BOOKMARK_MS = 30000, FILL = 32 * 1024 };

struct watches {
    struct watch *first;
    store_observer *observer;
    loop_timer *bookmarks;
};

struct watch {
    http_exchange *x;
    const struct kind *stored;
    struct render render;
    char *ns;
    store *store;
    store_watch *cursor;
    struct selectors selectors;
    struct store_list initial; // existing objects, still to be sent as ADDED
    size_t initial_at;
    buf out;
    size_t sent; // of out
    loop_timer *timeout;
    bool headers_sent;
    bool bookmarks, bookmark_due;
    bool initial_bookmark; // sendInitialEvents: a bookmark that marks their end
    bool ending;
    struct watch *next, **at;
};

static void write_event(struct watch *w, const char *type, const snapshot *s)
{
    buf_fmt(&w->out, "{\"type\":\"%s\",\"object\":", type);
    render_object(&w->out, &w->render, s, !w->headers_sent);
    buf_str(&w->out, "}\n");
    w->headers_sent = true;
}

// An object of the watch's kind with nothing but a version; a watch of Tables has it in a row.
static void write_bookmark(struct watch *w, bool initial_end)
{
    AUTO_FREE char *api = kind_api_version(w->render.kind);
    AUTO_FREE char *version = str_fmt("%lld", (long long)store_watch_version(w->cursor));
    AUTO_JSON *json = cJSON_CreateObject();
    json_set_str(json, "kind", w->render.kind->kind);
    json_set_str(json, "apiVersion", api);
    cJSON *meta = json_object_at(json, "metadata");
    json_set_str(meta, "resourceVersion", version);
    if (initial_end)
        json_set_str(json_object_at(meta, "annotations"), "k8s.io/initial-events-end", "true");
    snapshot mark = {.kind = w->stored, .json = json, .version = store_watch_version(w->cursor)};
    write_event(w, "BOOKMARK", &mark);
}

static void write_error(struct watch *w, const err *e)
{
    AUTO_JSON *status = status_failure(status_code(e), status_reason(e), e->text, NULL, NULL, NULL);
    buf_str(&w->out, "{\"type\":\"ERROR\",\"object\":");
    json_print(&w->out, status);
    buf_str(&w->out, "}\n");
}

// The object as it was when it matched, at the version of the change.
static void write_lost(struct watch *w, const struct store_event *ev)
{
    AUTO_JSON *json = cJSON_Duplicate(ev->old->json, true);
    AUTO_FREE char *version = str_fmt("%lld", (long long)ev->version);
    json_set_str(json_object_at(json, "metadata"), "resourceVersion", version);
    snapshot last = *ev->old;
    last.json = json;
    last.version = ev->version;
    write_event(w, "DELETED", &last);
}

// With a selector, an object that begins to match is ADDED for this watch, and one that ceases to
// match is DELETED.
static void write_change(struct watch *w, const struct store_event *ev)
{
    bool was = ev->old && selectors_match(&w->selectors, ev->old->json);
    bool is = ev->change != STORE_DELETED && selectors_match(&w->selectors, ev->object->json);
    if (is)
        write_event(w, was ? "MODIFIED" : "ADDED", ev->object);
    else if (was && ev->change == STORE_DELETED)
        write_event(w, "DELETED", ev->object);
    else if (was)
        write_lost(w, ev);
}

static void fill(struct watch *w)
{
    struct store_event ev;
    err e = {0};
    int got = 1;
    w->render.now = store_now(w->store);
    while (w->initial_at < w->initial.n && w->out.len < FILL) {
        const snapshot *s = w->initial.items[w->initial_at++];
        if (selectors_match(&w->selectors, s->json))
            write_event(w, "ADDED", s);
    }
    if (w->initial_at < w->initial.n)
        return;
    store_list_done(&w->initial);
    w->initial_at = 0;
    if (w->initial_bookmark)
        write_bookmark(w, true);
    w->initial_bookmark = false;
    while (w->out.len < FILL && !w->ending && (got = store_watch_next(w->cursor, &ev, &e)) > 0)
        write_change(w, &ev);
    if (got < 0) {
        write_error(w, &e);
        w->ending = true;
    }
    if (got == 0 && w->bookmark_due) {
        write_bookmark(w, false);
        w->bookmark_due = false;
    }
}

static ssize_t read_watch(void *arg, char *out, size_t max)
{
    struct watch *w = arg;
    if (w->sent == w->out.len) {
        buf_clear(&w->out);
        w->sent = 0;
        fill(w);
    }
    size_t n = w->out.len - w->sent;
    if (!n)
        return w->ending ? HTTP_END : 0;
    n = n < max ? n : max;
    memcpy(out, w->out.data + w->sent, n);
    w->sent += n;
    return (ssize_t)n;
}

static void close_watch(void *arg)
{
    struct watch *w = arg;
    *w->at = w->next;
    if (w->next)
        w->next->at = w->at;
    store_watch_free(w->cursor);
    store_list_done(&w->initial);
    selectors_done(&w->selectors);
    loop_timer_free(w->timeout);
    buf_done(&w->out);
    free(w->ns);
    free(w);
}

static void on_timeout(void *arg)
{
    struct watch *w = arg;
    w->ending = true;
    http_wake(w->x);
}

// Sets the start: behind the given version, or with the existing objects.
static bool set_start(struct request *r, struct watch *w)
{
    int64_t since = 0, now = store_version(r->api->store);
    const char *text = http_query(r->x, "resourceVersion");
    err e = {0};
    bool initial = request_flag(r, "sendInitialEvents");
    if (text && *text && !str_to_int(text, &since)) {
        reply_failure(r, 500, "",
            "resourceVersion: Invalid value: \"%s\": strconv.ParseUint: parsing \"%s\": invalid "
            "syntax",
            text, text);
        return false;
    }
    if (since > now) {
        reply_failure(r, 504, NULL, "Too large resource version: %lld, current: %lld",
            (long long)since, (long long)now);
        return false;
    }
    if (initial || !since) {
        w->initial = store_list(r->api->store, r->stored, r->ns);
        w->initial_bookmark = initial && w->bookmarks;
        since = now;
    }
    w->cursor = store_watch_new(r->api->store, r->stored, r->ns, since, &e);
    if (!w->cursor) { // "too old": said in the stream, as whatever goes wrong later
        write_error(w, &e);
        w->ending = true;
    }
    return true;
}

static void set_timeout(struct request *r, struct watch *w)
{
    int64_t seconds = 0;
    if (!str_to_int(http_query(r->x, "timeoutSeconds") ?: "", &seconds) || seconds <= 0)
        return;
    w->timeout = loop_timer_new(r->api->loop, on_timeout, w);
    loop_timer_start(w->timeout, (uint64_t)seconds * 1000, 0);
}

void verb_watch(struct request *r)
{
    static const struct http_source source = {.read = read_watch, .close = close_watch};
    struct watches *all = r->api->watches;
    struct watch *w = mem_alloc(sizeof *w);
    w->x = r->x;
    w->store = r->api->store;
    w->stored = r->stored;
    w->render = r->render;
    w->render.as_yaml = false;
    w->ns = mem_strdup(r->ns);
    w->bookmarks = request_flag(r, "allowWatchBookmarks");
    if (!all->first)
        loop_timer_start(all->bookmarks, BOOKMARK_MS, BOOKMARK_MS);
    w->next = all->first;
    if (w->next)
        w->next->at = &w->next;
    w->at = &all->first;
    all->first = w;
    if (!selectors_read(r, &w->selectors) || !set_start(r, w)) {
        close_watch(w);
        return;
    }
    set_timeout(r, w);
    http_respond_stream(r->x, 200, "application/json", &source, w);
}

static void on_change(void *arg, const struct store_event *ev)
{
    struct watches *all = arg;
    for (struct watch *w = all->first, *next; w; w = next) {
        next = w->next;
        if (str_eq(w->stored->resource, ev->object->kind->resource) &&
            str_eq(w->stored->group, ev->object->kind->group) &&
            (!*w->ns || str_eq(w->ns, ev->object->ns)))
            http_wake(w->x);
    }
}

// Bookmarks keep idle watches' versions fresh: they can be resumed after history was trimmed.
static void on_bookmarks(void *arg)
{
    struct watches *all = arg;
    if (!all->first)
        loop_timer_stop(all->bookmarks);
    for (struct watch *w = all->first, *next; w; w = next) {
        next = w->next;
        w->bookmark_due = w->bookmarks;
        http_wake(w->x);
    }
}

struct watches *watches_new(loop *l, store *s)
{
    struct watches *all = mem_alloc(sizeof *all);
    all->observer = store_observe(s, on_change, all);
    all->bookmarks = loop_timer_new(l, on_bookmarks, all);
    return all;
}

void watches_free(struct watches *all)
{
    if (!all)
        return;
    store_unobserve(all->observer);
    loop_timer_free(all->bookmarks);
    free(all);
}
