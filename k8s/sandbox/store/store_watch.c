// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/store/store_private.h"

struct store_watch {
    store *store;
    const struct kind *kind;
    char *ns;
    uint64_t position;
    int64_t version;
};

struct store_observer {
    store *store;
    void (*changed)(void *arg, const struct store_event *ev);
    void *arg;
    store_observer *next;
    bool gone;
};

store_watch *store_watch_new(store *s, const struct kind *k, const char *ns, int64_t since, err *e)
{
    uint64_t position;
    if (!history_after(&s->history, since, &position)) {
        err_set(e, ERR_GONE, "too old resource version: %lld (%lld)", (long long)since,
            (long long)s->history.trimmed);
        return NULL;
    }
    store_watch *w = mem_alloc(sizeof *w);
    *w = (store_watch){s, k, ns && *ns ? mem_strdup(ns) : NULL, position, since};
    return w;
}

void store_watch_free(store_watch *w)
{
    if (w)
        free(w->ns);
    free(w);
}

static bool is_for(const store_watch *w, const snapshot *o)
{
    return (!w->kind || (str_eq(o->kind->resource, w->kind->resource) &&
                            str_eq(o->kind->group, w->kind->group))) &&
           (!w->ns || str_eq(o->ns, w->ns));
}

int store_watch_next(store_watch *w, struct store_event *ev, err *e)
{
    const struct history *h = &w->store->history;
    if (w->position < h->first)
        return err_set(e, ERR_GONE, "too old resource version: %lld (%lld)", (long long)w->version,
            (long long)h->trimmed);
    while (w->position < history_end(h)) {
        *ev = *history_at(h, w->position++);
        w->version = ev->version;
        if (is_for(w, ev->object))
            return 1;
    }
    return 0;
}

int64_t store_watch_version(const store_watch *w)
{
    return w->version;
}

store_observer *store_observe(
    store *s, void (*changed)(void *arg, const struct store_event *ev), void *arg)
{
    store_observer *o = mem_alloc(sizeof *o), **end = &s->observers;
    *o = (store_observer){s, changed, arg, NULL, false};
    while (*end)
        end = &(*end)->next;
    return *end = o;
}

void store_observer_free(store_observer *o)
{
    store_observer **at = &o->store->observers;
    while (*at != o)
        at = &(*at)->next;
    *at = o->next;
    free(o);
}

static void sweep_observers(store *s)
{
    for (store_observer *o = s->observers, *next; o; o = next) {
        next = o->next;
        if (o->gone)
            store_observer_free(o);
    }
}

void store_unobserve(store_observer *o)
{
    if (!o)
        return;
    o->gone = true;
    if (!o->store->dispatching)
        sweep_observers(o->store);
}

void store_dispatch(store *s)
{
    if (s->dispatching)
        return;
    s->dispatching = true;
    while (s->dispatched < history_end(&s->history)) {
        struct store_event ev = *history_at(&s->history, s->dispatched);
        for (store_observer *o = s->observers; o; o = o->next)
            if (!o->gone)
                o->changed(o->arg, &ev);
        s->dispatched++;
    }
    s->dispatching = false;
    sweep_observers(s);
}
