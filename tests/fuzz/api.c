// SPDX-License-Identifier: MIT
// Requests to the sandbox's Kubernetes API, with a new server for each input. The target replaces
// the HTTP library: each request gets one answer with a valid status, and answers of type JSON are
// JSON.
#include "k8s/sandbox/api/api.h"
#include "base/json/json.h"
#include "k8s/sandbox/api/objects/bootstrap.h"
#include "k8s/sandbox/api/objects/defaults.h"
#include "k8s/sandbox/api/watch.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/request.h"

#include <unistd.h>

enum { REQUESTS = 20, NOW_S = 1800000000 };

struct http_exchange {
    struct fuzz_request request;
    int answers;
    const struct http_source *source;
    void *source_arg;
};

const char *http_method(const http_exchange *x)
{
    return x->request.method;
}
const char *http_path(const http_exchange *x)
{
    return x->request.path;
}
const char *http_request_header(const http_exchange *x, const char *name)
{
    return fuzz_request_find(x->request.headers, name, ':');
}
const char *http_query(const http_exchange *x, const char *name)
{
    return fuzz_request_find(x->request.queries, name, '=');
}
bool http_is_authorized(const http_exchange *x)
{
    return true;
}
void http_set_header(http_exchange *x, const char *name, const char *value)
{
    if (strpbrk(value, "\r\n"))
        abort();
}

static void answer(http_exchange *x, int code)
{
    if (++x->answers > 1 || code < 200 || code > 599)
        abort();
}

void http_respond(http_exchange *x, int code, const char *type, const void *bytes, size_t n)
{
    answer(x, code);
    if (!type || !str_starts(type, "application/json"))
        return;
    err e;
    AUTO_JSON *j = json_parse(bytes, n, &e);
    if (!j)
        abort();
}
void http_respond_file(
    http_exchange *x, int code, const char *type, int fd, uint64_t offset, uint64_t size)
{
    answer(x, code);
    close(fd);
}
void http_respond_length(http_exchange *x, int code, const char *type, uint64_t size)
{
    answer(x, code);
}
void http_respond_stream(
    http_exchange *x, int code, const char *type, const struct http_source *source, void *arg)
{
    answer(x, code);
    x->source = source;
    x->source_arg = arg;
}
void http_wake(http_exchange *x)
{
}

static int64_t now(void *arg)
{
    return NOW_S * INT64_C(1000000000);
}

static void complete(void *arg, const struct kind *k, cJSON *json)
{
    defaults_set(*(store **)arg, k, json, NULL);
}

static void read_stream(http_exchange *x)
{
    char piece[4096];
    for (int i = 0; i < 100; i++)
        if (x->source->read(x->source_arg, piece, sizeof piece) <= 0)
            break;
    x->source->close(x->source_arg);
}

static void ask(const struct api_context *api, http_exchange *x)
{
    void *state = api_handler.begin((void *)api, x);
    api_handler.body(state, x, x->request.body, x->request.body_n);
    api_handler.end(state, x);
    store_dispatch(api->store);
    if (x->answers != 1)
        abort();
    if (x->source)
        read_stream(x);
    api_handler.done(state);
}

static void stop(void *l)
{
    loop_stop(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static loop *l;
    store *s = NULL;
    err e;
    if (!l && !(l = loop_new(&e)))
        abort();
    s = store_new(&(struct store_options){.now = now, .complete = complete, .arg = &s});
    kinds *ks = kinds_new();
    logs *lg = logs_new(s);
    bootstrap *b = bootstrap_new(s, ks, &(struct bootstrap_options){"ca", "0", "node"});
    struct api_context api = {l, s, ks, lg, watches_new(l, s), "0"};
    store_dispatch(s);
    const char *at = (const char *)data, *end = at + n;
    for (int i = 0; at < end && i < REQUESTS; i++) {
        http_exchange x = {0};
        at = fuzz_request_read(&x.request, at, end);
        ask(&api, &x);
        fuzz_request_done(&x.request);
    }
    watches_free(api.watches);
    bootstrap_free(b);
    logs_free(lg);
    store_free(s);
    kinds_free(ks);
    loop_post(l, stop, l);
    loop_run(l); // closed streams are freed in the next turn
    return 0;
}
