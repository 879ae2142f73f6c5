// SPDX-License-Identifier: MIT
#include "k8s/net/http.h"

#include "base/mem.h"
#include "k8s/net/private.h"

// The kubelet sends a log in records of a few lines, and waking up for each costs more than reading
// it. So after a read, a log's socket is not polled for this time; then everything that has come is
// read at once.
enum { REST_MS = 24 };

static void collect_ends(struct pool *p)
{
    CURLMsg *m;
    int left;
    while ((m = curl_multi_info_read(p->multi, &left))) {
        if (m->msg != CURLMSG_DONE)
            continue;
        char *s;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &s);
        stream_finished((http_stream *)(void *)s, m->data.result);
    }
}

static void act(struct pool *p, curl_socket_t fd, int what)
{
    int running;
    curl_multi_socket_action(p->multi, fd, what, &running);
    for (const struct records *r; (r = records_next(p));)
        curl_multi_socket_action(p->multi, r->fd, CURL_CSELECT_IN, &running);
    collect_ends(p);
    http_serve(p->http);
}

static void on_timer(void *arg)
{
    act(arg, CURL_SOCKET_TIMEOUT, 0);
}

// An http may be made on any thread, but its timers belong to the loop's thread: they are made at
// their first use.
static void start_timer(
    loop_timer **timer, loop *l, uint64_t delay_ms, void (*fn)(void *arg), void *arg)
{
    if (!*timer)
        *timer = loop_timer_new(l, fn, arg);
    loop_timer_start(*timer, delay_ms, 0);
}

static void listen_to(struct watched *w)
{
    loop_poll_set(w->poll, w->resting ? w->events & ~LOOP_READ : w->events);
}

static void end_rests(void *arg)
{
    struct pool *p = arg;
    p->rests = false;
    for (struct watched *w = p->watched; w; w = w->next) {
        if (!w->resting)
            continue;
        w->resting = false;
        listen_to(w);
    }
}

// Stops polling the socket for a while if it may have more to read. Meanwhile the data stays in the
// system's buffer, which has room for megabytes.
static void rest(struct watched *w)
{
    struct pool *p = w->pool;
    w->resting = true;
    listen_to(w);
    if (p->rests)
        return;
    p->rests = true;
    start_timer(&p->rest_timer, p->http->loop, REST_MS, end_rests, p);
}

static void on_socket(void *arg, int events)
{
    struct watched *w = arg;
    struct pool *p = w->pool;
    int what = (events & LOOP_READ ? CURL_CSELECT_IN : 0) |
               (events & LOOP_WRITE ? CURL_CSELECT_OUT : 0) |
               (events & LOOP_ERROR ? CURL_CSELECT_ERR : 0);
    p->active = w;
    p->reads = false;
    act(p, w->fd, what); // w may be gone after this
    if (p->active && p->reads && p == &p->http->pools[HTTP_POOL_LOGS])
        rest(w);
}

static int curl_wants_timer(CURLM *multi, long ms, void *arg)
{
    struct pool *p = arg;
    if (ms >= 0)
        start_timer(&p->timer, p->http->loop, (uint64_t)ms, on_timer, p);
    else if (p->timer)
        loop_timer_stop(p->timer);
    return 0;
}

static void unwatch(struct pool *p, struct watched *w, curl_socket_t fd)
{
    if (!w)
        return;
    curl_multi_assign(p->multi, fd, NULL);
    if (p->active == w)
        p->active = NULL;
    *w->link = w->next;
    if (w->next)
        w->next->link = w->link;
    loop_poll_free(w->poll);
    free(w);
}

static int curl_wants_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *assigned)
{
    struct pool *p = arg;
    struct watched *w = assigned;
    if (what == CURL_POLL_REMOVE) {
        unwatch(p, w, fd);
        return 0;
    }
    if (!w) {
        w = mem_alloc(sizeof *w);
        *w = (struct watched){.pool = p, .fd = fd};
        w->poll = loop_poll_new(p->http->loop, fd, on_socket, w, NULL);
        if (!w->poll) {
            free(w);
            return -1;
        }
        curl_multi_assign(p->multi, fd, w);
        w->link = &p->watched;
        w->next = p->watched;
        if (w->next)
            w->next->link = &w->next;
        p->watched = w;
    }
    w->events = (what & CURL_POLL_IN ? LOOP_READ : 0) | (what & CURL_POLL_OUT ? LOOP_WRITE : 0);
    listen_to(w);
    return 0;
}

static int pool_init(struct pool *p, http *h, err *e)
{
    p->http = h;
    p->multi = curl_multi_init();
    if (!p->multi)
        return err_set(e, ERR_FAILED, "libcurl does not start");
    curl_multi_setopt(p->multi, CURLMOPT_SOCKETFUNCTION, curl_wants_socket);
    curl_multi_setopt(p->multi, CURLMOPT_SOCKETDATA, p);
    curl_multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION, curl_wants_timer);
    curl_multi_setopt(p->multi, CURLMOPT_TIMERDATA, p);
    return 0;
}

static void serve_later(void *arg)
{
    http_serve(arg);
}

http *http_new(loop *l, const char *user_agent, err *e)
{
    if (curl_late(e) != 0)
        return NULL;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        err_set(e, ERR_FAILED, "libcurl does not start");
        return NULL;
    }
    http *h = mem_alloc(sizeof *h);
    h->loop = l;
    h->user_agent = mem_strdup(user_agent);
    pthread_mutex_init(&h->tls_lock, NULL);
    for (int i = 0; i < HTTP_POOL_COUNT; i++) {
        if (pool_init(&h->pools[i], h, e) != 0) {
            http_free(h);
            return NULL;
        }
    }
    return h;
}

void http_free(http *h)
{
    if (!h)
        return;
    h->closing = true;
    while (h->streams) { // tells their owners; they are removed from the list
        err_set(&h->streams->error, ERR_CANCELLED, "%s: the connection was closed here",
            h->streams->host);
        h->streams->finished = true;
        stream_serve(h->streams);
    }
    for (int i = 0; i < HTTP_POOL_COUNT; i++) {
        curl_multi_cleanup(h->pools[i].multi);
        loop_timer_free(h->pools[i].timer);
        loop_timer_free(h->pools[i].rest_timer);
    }
    loop_timer_free(h->serve_timer);
    tls_free_all(h->tls);
    pthread_mutex_destroy(&h->tls_lock);
    free(h->user_agent);
    free(h);
    curl_global_cleanup();
}

void http_serve(http *h)
{
    http_stream *s;
    while (!h->serving && (s = h->ready)) {
        h->ready = s->ready_next;
        s->is_ready = false;
        stream_serve(s);
    }
}

void stream_ready(http_stream *s)
{
    http *h = s->http;
    if (s->is_ready)
        return;
    s->is_ready = true;
    s->ready_next = NULL;
    http_stream **end = &h->ready;
    while (*end)
        end = &(*end)->ready_next;
    *end = s;
    start_timer(&h->serve_timer, h->loop, 0, serve_later, h);
}
