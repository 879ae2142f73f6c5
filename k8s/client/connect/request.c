// SPDX-License-Identifier: MIT
#include "k8s/client/connect/request.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/private.h"
#include "k8s/client/connect/status.h"

#include <string.h>

enum { ANSWER_MS = 60000 }; // an API server's own limit for a request

struct operation {
    client *client;
    struct request request; // its strings belong to the starter until the stream is open
    char *path, *accept, *type, *method;
    const struct http_stream_ops *ops;
    void *arg;
    struct access_wait wait;
    http_stream *stream;
    loop_timer *later; // reports an immediate error later
    bool renewed, paused;
    err error;
};

static void operation_free(operation *o)
{
    credentials_forget(o->client->credentials, &o->wait);
    http_stream_close(o->stream);
    loop_timer_free(o->later);
    free(o->path);
    free(o->accept);
    free(o->type);
    free(o->method);
    free(o);
}

// The operation ends before its starter is told: the starter may close the client in the callback.
static void finish(operation *o, struct http_response *response, const err *e)
{
    const struct http_stream_ops *ops = o->ops;
    void *arg = o->arg;
    operation_free(o);
    ops->done(arg, response, e);
}

static void fail_now(void *arg)
{
    operation *o = arg;
    struct http_response none = {0};
    err e = o->error;
    finish(o, &none, &e);
}

static void fail_later(operation *o, const err *e)
{
    o->error = *e;
    o->later = loop_timer_new(o->client->loop, fail_now, o);
    loop_timer_start(o->later, 0, 0);
}

static void on_head(void *arg)
{
    operation *o = arg;
    if (o->ops->head)
        o->ops->head(o->arg);
}

static void on_data(void *arg, const char *bytes, size_t n)
{
    operation *o = arg;
    o->ops->data(o->arg, bytes, n);
}

static void on_done(void *arg, struct http_response *response, const err *e)
{
    operation *o = arg;
    o->stream = NULL;
    if (response->status == 401 && !o->renewed && credentials_expire(o->client->credentials)) {
        o->renewed = true;
        credentials_get(o->client->credentials, &o->wait);
        return;
    }
    finish(o, response, e);
}

static const struct http_stream_ops keep_ops = {.done = on_done};
static const struct http_stream_ops data_ops = {.head = on_head, .data = on_data, .done = on_done};

static void send_it(operation *o, const struct access *access)
{
    const kubeconfig *k = o->client->k;
    AUTO_FREE char *url = str_fmt("%s%s", k->server, o->path);
    AUTO_FREE char *accept = str_fmt("Accept: %s", o->accept ? o->accept : "application/json");
    AUTO_FREE char *type = o->type ? str_fmt("Content-Type: %s", o->type) : NULL;
    char **headers = strv_dup((const char *const *)access->headers);
    headers = strv_add(headers, accept);
    if (type)
        headers = strv_add(headers, type);
    err e = {0};
    o->stream = http_stream_open(o->client->http,
        &(struct http_request){.method = o->method,
            .url = url,
            .headers = (const char *const *)headers,
            .body = o->request.body,
            .body_n = o->request.body_n,
            .once = !o->request.repeatable,
            .tls = access->tls,
            .proxy = k->proxy,
            .pool = o->request.pool,
            .idle_timeout_ms = o->request.idle_timeout_ms,
            .least_speed = o->request.least_speed,
            .limit = o->request.limit,
            .no_compression = k->no_compression},
        o->ops->data ? &data_ops : &keep_ops, o, &e);
    strv_free(headers);
    if (!o->stream)
        fail_later(o, &e);
    else if (o->paused)
        http_stream_pause(o->stream, true);
}

static void on_access(void *arg, const struct access *access, const err *e)
{
    operation *o = arg;
    if (access)
        send_it(o, access);
    else
        fail_later(o, e);
}

operation *operation_start(
    client *c, const struct request *r, const struct http_stream_ops *ops, void *arg)
{
    operation *o = mem_alloc(sizeof *o);
    o->client = c;
    o->request = *r;
    o->path = mem_strdup(r->path);
    o->accept = mem_strdup(r->accept);
    o->type = mem_strdup(r->type);
    o->method = mem_strdup(r->method);
    o->ops = ops;
    o->arg = arg;
    o->wait = (struct access_wait){.fn = on_access, .arg = o};
    credentials_get(c->credentials, &o->wait);
    return o;
}

void operation_pause(operation *o, bool paused)
{
    o->paused = paused;
    if (o->stream)
        http_stream_pause(o->stream, paused);
}

void operation_cancel(operation *o)
{
    if (o)
        operation_free(o);
}

void request_query(buf *path, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    buf_fmt(path, "%s%s=", strchr(buf_cstr(path), '?') ? "&" : "?", name);
    url_escape(path, value);
}

// A thread that waits for an operation.
struct waiter {
    client *client;
    const struct request *request;
    struct http_response *response;
    operation *operation;
    loop_pending *call;
    err error;
    char *plugin; // that the request still waited for when it was given up; NULL: none
};

static void waiter_done(void *arg, struct http_response *response, const err *e)
{
    struct waiter *w = arg;
    w->error = *e;
    *w->response = *response;
    *response = (struct http_response){0};
    loop_call_finish(w->call);
}

static void waiter_data(void *arg, const char *bytes, size_t n)
{
    struct waiter *w = arg;
    if (w->request->sink(w->request->sink_arg, bytes, n, &w->error) == 0)
        return;
    operation_cancel(w->operation);
    loop_call_finish(w->call);
}

static const struct http_stream_ops keeping_ops = {.done = waiter_done};
static const struct http_stream_ops sinking_ops = {.data = waiter_data, .done = waiter_done};

static void waiter_start(loop_pending *call, void *arg)
{
    struct waiter *w = arg;
    const struct request *r = w->request;
    w->call = call;
    if (r->sink)
        r->sink(r->sink_arg, NULL, 0, NULL);
    w->operation = operation_start(w->client, r, r->sink ? &sinking_ops : &keeping_ops, w);
}

static void waiter_cancel(loop_pending *call, void *arg)
{
    struct waiter *w = arg;
    w->plugin = mem_strdup(credentials_plugin(w->client->credentials));
    operation_cancel(w->operation);
    loop_call_finish(call);
}

static const struct loop_call_ops waiter_ops = {.start = waiter_start, .cancel = waiter_cancel};

static int try_once(client *c, const struct patience *p, const struct request *r,
    struct http_response *response, err *e)
{
    *response = (struct http_response){0};
    struct request timed = *r;
    if (!timed.idle_timeout_ms)
        timed.idle_timeout_ms = ANSWER_MS;
    if (!timed.least_speed)
        timed.least_speed = HTTP_LEAST_SPEED;
    struct waiter w = {.client = c, .request = &timed, .response = response};
    err why = {0};
    int status = loop_call(c->loop, p->canceller, &waiter_ops, &w, p->deadline, &why);
    AUTO_FREE char *plugin = w.plugin;
    if (status != 0 && plugin && why.code == ERR_TIMEOUT)
        return err_set(e, why.code,
            "%s: context %s: the exec plugin %s has not answered in time: run it by hand, it may "
            "ask for a login",
            r->what, c->k->context, plugin);
    if (status != 0)
        return err_set(e, why.code, "%s: %s", r->what, why.text);
    if (w.error.code != ERR_NONE)
        return err_set(e, w.error.code, "%s: %s", r->what, w.error.text);
    if (response->status / 100 != 2)
        return status_error(response, r->what, c->who, e);
    return 0;
}

int64_t back_off(unsigned attempt)
{
    int64_t ns = (200 * CLOCK_MS) << (attempt < 6 ? attempt : 6);
    if (ns > 10 * CLOCK_SEC)
        ns = 10 * CLOCK_SEC;
    uint16_t dice;
    random_bytes(&dice, sizeof dice);
    return ns / 2 + ns / 2 * dice / UINT16_MAX; // half of it is jitter
}

static bool worth_another_try(const struct request *r, const struct http_response *response)
{
    return r->repeatable || response->status == 429 || (!response->status && !response->sent);
}

int request_pause(const struct patience *p, int64_t ns, err *e)
{
    if (p->canceller)
        return canceller_sleep(p->canceller, ns, e);
    canceller *c = canceller_new();
    int result = canceller_sleep(c, ns, e);
    canceller_free(c);
    return result;
}

int request_do(client *c, const struct patience *p, const struct request *r,
    struct http_response *response, err *e)
{
    static const struct patience none = {0};
    p = p ? p : &none;
    int64_t since = clock_mono(), patience = p->retry_ns ? p->retry_ns : 15 * CLOCK_SEC;
    for (unsigned attempt = 0;; attempt++) {
        err why = {0};
        if (try_once(c, p, r, response, &why) == 0)
            return 0;
        int64_t pause = back_off(attempt),
                asked = clock_of_seconds((double)http_retry_after(response));
        bool again = why.code == ERR_UNAVAILABLE && worth_another_try(r, response);
        if (r->refused)
            r->refused(r->refused_arg, response);
        http_response_done(response);
        if (asked > pause)
            pause = asked;
        int64_t next = clock_add(clock_mono(), pause);
        if (again && asked > 0 && asked > patience)
            err_set(&why, why.code, "%s; it asks us to wait %lld s",
                str_short(why.text, sizeof why.text - 100).text, (long long)(asked / CLOCK_SEC));
        if (!again || clock_add(next, -since) > patience || (p->deadline && next > p->deadline))
            return err_set(e, why.code, "%s", why.text);
        if (p->away)
            p->away(p->arg, &why, since);
        if (request_pause(p, pause, e) != 0)
            return err_wrap(e, "%s", r->what);
    }
}

cJSON *request_json(client *c, const struct patience *p, const struct request *r, err *e)
{
    struct http_response response;
    if (request_do(c, p, r, &response, e) != 0)
        return NULL;
    cJSON *j = json_parse(buf_cstr(&response.body), response.body.len, e);
    if (!j)
        err_wrap(e, "%s: the server's answer is no JSON", r->what);
    http_response_done(&response);
    return j;
}
