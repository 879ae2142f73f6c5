// SPDX-License-Identifier: MIT
// Requests for threads that wait: a stream on the loop's thread, and a loop_call around it.
#include "base/mem.h"
#include "k8s/net/private.h"

typedef int sink_fn(void *arg, const char *bytes, size_t n, err *e);

struct waiter {
    http *http;
    const struct http_request *request;
    struct http_response *response;
    sink_fn *sink;
    void *sink_arg;
    http_stream *stream;
    loop_pending *call;
    err error;
};

static void finish(struct waiter *w)
{
    w->stream = NULL;
    loop_call_finish(w->call);
}

static void on_data(void *arg, const char *bytes, size_t n)
{
    struct waiter *w = arg;
    w->response->status = http_stream_status(w->stream);
    if (w->sink(w->sink_arg, bytes, n, &w->error) == 0)
        return;
    http_stream_close(w->stream);
    finish(w);
}

static void on_done(void *arg, struct http_response *response, const err *e)
{
    struct waiter *w = arg;
    w->error = *e;
    *w->response = *response;
    *response = (struct http_response){0};
    finish(w);
}

static const struct http_stream_ops keep_ops = {.done = on_done};
static const struct http_stream_ops sink_ops = {.data = on_data, .done = on_done};

static void start(loop_pending *call, void *arg)
{
    struct waiter *w = arg;
    w->call = call;
    w->stream =
        http_stream_open(w->http, w->request, w->sink ? &sink_ops : &keep_ops, w, &w->error);
    if (!w->stream)
        finish(w);
}

static void cancel(loop_pending *call, void *arg)
{
    struct waiter *w = arg;
    http_stream_close(w->stream);
    finish(w);
}

static const struct loop_call_ops waiter_ops = {.start = start, .cancel = cancel};

int http_download(http *h, canceller *c, int64_t deadline, const struct http_request *request,
    sink_fn *sink, void *sink_arg, struct http_response *response, err *e)
{
    *response = (struct http_response){0};
    struct waiter w = {
        .http = h, .request = request, .response = response, .sink = sink, .sink_arg = sink_arg};
    int result = loop_call(h->loop, c, &waiter_ops, &w, deadline, e);
    if (result == 0 && w.error.code != ERR_NONE)
        result = err_set(e, w.error.code, "%s", w.error.text);
    if (result != 0) {
        http_response_done(response);
        *response = (struct http_response){.sent = response->sent};
    }
    return result;
}

int http_do(http *h, canceller *c, int64_t deadline, const struct http_request *request,
    struct http_response *response, err *e)
{
    return http_download(h, c, deadline, request, NULL, NULL, response, e);
}
