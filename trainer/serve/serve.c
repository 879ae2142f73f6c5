// SPDX-License-Identifier: MIT
#include "trainer/serve/serve.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "trainer/serve/infer.h"

#include <errno.h>
#include <microhttpd.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    BODY_MOST = 64 << 20,
    IDLE_SECONDS = 120,
    CONNECTIONS = 512,
    LOOK_MS = 20,
};

struct server {
    struct serve_options options;
    struct MHD_Daemon *daemon;
    atomic_int under_way; // requests that have begun and are not answered in full
    atomic_bool closing;
};

struct request {
    server *server;
    buf body;
    bool too_long;
};

static enum MHD_Result answer(
    struct MHD_Connection *c, unsigned code, const char *bytes, size_t n, bool close)
{
    struct MHD_Response *r =
        MHD_create_response_from_buffer(n, (void *)bytes, MHD_RESPMEM_MUST_COPY);
    if (!r)
        return MHD_NO;
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    if (close)
        MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
    enum MHD_Result queued = MHD_queue_response(c, code, r);
    MHD_destroy_response(r);
    return queued;
}

static enum MHD_Result fail(struct MHD_Connection *c, const struct request *q, unsigned code,
    const char *format, const char *what)
{
    AUTO_FREE char *text = str_fmt(format, what);
    AUTO_JSON *j = cJSON_CreateObject();
    AUTO_BUF out = {0};
    json_set_str(j, "error", text);
    json_print(&out, j);
    return answer(c, code, out.data, out.len, q->too_long || atomic_load(&q->server->closing));
}

static enum MHD_Result succeed(struct MHD_Connection *c, const struct request *q, const buf *body)
{
    return answer(
        c, MHD_HTTP_OK, body->len ? body->data : "", body->len, atomic_load(&q->server->closing));
}

static enum MHD_Result tell_server(struct MHD_Connection *c, const struct request *q)
{
    AUTO_BUF out = {0};
    AUTO_JSON *j = cJSON_CreateObject();
    json_set_str(j, "name", "firesteel-worker");
    json_set_str(j, "version", q->server->options.version);
    json_set(j, "extensions", cJSON_CreateArray());
    json_print(&out, j);
    return succeed(c, q, &out);
}

static enum MHD_Result predict(
    struct MHD_Connection *c, const struct request *q, const struct serve_model *m)
{
    AUTO_BUF out = {0};
    err e = {0};
    if (infer(m->model, m->name, q->body.data ? q->body.data : "", q->body.len,
            q->server->options.stop, &out, &e) < 0)
        return fail(c, q,
            e.code == ERR_INVALID     ? MHD_HTTP_BAD_REQUEST
            : e.code == ERR_CANCELLED ? MHD_HTTP_SERVICE_UNAVAILABLE
                                      : MHD_HTTP_INTERNAL_SERVER_ERROR,
            "%s", e.text);
    return succeed(c, q, &out);
}

// rest: what follows the model's name, without "/versions/1".
static enum MHD_Result about_model(struct MHD_Connection *c, const struct request *q,
    const struct serve_model *m, bool posts, const char *rest)
{
    AUTO_BUF out = {0};
    bool infers = str_eq(rest, "/infer");
    if (!infers && !str_eq(rest, "/ready") && *rest)
        return fail(c, q, MHD_HTTP_NOT_FOUND, "a model has no %s; it has /infer and /ready", rest);
    if (infers != posts)
        return fail(
            c, q, MHD_HTTP_METHOD_NOT_ALLOWED, "it is asked by %s", infers ? "POST" : "GET");
    if (infers)
        return predict(c, q, m);
    if (!*rest)
        infer_metadata(m->model, m->name, &out);
    return succeed(c, q, &out);
}

static enum MHD_Result find_model(
    struct MHD_Connection *c, const struct request *q, bool posts, const char *path)
{
    static const char version[] = "/versions/1";
    const struct serve_options *o = &q->server->options;
    size_t length = strcspn(path, "/");
    const char *rest = path + length;
    if (str_starts(rest, version) && (rest[strlen(version)] == '/' || !rest[strlen(version)]))
        rest += strlen(version);
    for (size_t i = 0; i < o->n; i++)
        if (strlen(o->models[i].name) == length && memcmp(o->models[i].name, path, length) == 0)
            return about_model(c, q, &o->models[i], posts, rest);
    return fail(c, q, MHD_HTTP_NOT_FOUND, "there is no model %s", path);
}

static enum MHD_Result route(
    struct MHD_Connection *c, const struct request *q, const char *path, const char *method)
{
    static const char models[] = "/v2/models/";
    const buf nothing = {0};
    bool posts = str_eq(method, MHD_HTTP_METHOD_POST);
    if (!posts && !str_eq(method, MHD_HTTP_METHOD_GET) && !str_eq(method, MHD_HTTP_METHOD_HEAD))
        return fail(c, q, MHD_HTTP_METHOD_NOT_ALLOWED, "there is no %s here", method);
    if (q->too_long)
        return fail(c, q, MHD_HTTP_CONTENT_TOO_LARGE, "a request has up to 64 MiB%s", "");
    if (str_starts(path, models))
        return find_model(c, q, posts, path + strlen(models));
    if (str_eq(path, "/v2/health/live"))
        return succeed(c, q, &nothing);
    if (str_eq(path, "/v2/health/ready"))
        return atomic_load(&q->server->closing)
                   ? fail(c, q, MHD_HTTP_SERVICE_UNAVAILABLE, "it is closing%s", "")
                   : succeed(c, q, &nothing);
    if (str_eq(path, "/v2"))
        return tell_server(c, q);
    return fail(c, q, MHD_HTTP_NOT_FOUND, "there is no %s; models are below /v2/models/", path);
}

// The first call of a request has its head; then come pieces of the body; the last has none.
static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *path,
    const char *method, const char *version, const char *bytes, size_t *n, void **state)
{
    server *s = arg;
    struct request *q = *state;
    if (!q) {
        q = mem_alloc(sizeof *q);
        *q = (struct request){.server = s};
        atomic_fetch_add(&s->under_way, 1);
        *state = q;
        return MHD_YES;
    }
    if (*n == 0)
        return route(c, q, path, method);
    q->too_long = q->too_long || *n > BODY_MOST - q->body.len;
    if (!q->too_long)
        buf_add(&q->body, bytes, *n);
    *n = 0;
    return MHD_YES;
}

static void on_done(
    void *arg, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
    server *s = arg;
    struct request *q = *state;
    if (!q)
        return;
    buf_done(&q->body);
    free(q);
    *state = NULL;
    atomic_fetch_sub(&s->under_way, 1);
}

static struct MHD_Daemon *start(server *s, unsigned how)
{
    return MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO | MHD_USE_ITC | how,
        s->options.port, NULL, NULL, on_request, s, MHD_OPTION_NOTIFY_COMPLETED, on_done, s,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS, MHD_OPTION_END);
}

server *serve_open(const struct serve_options *o, err *e)
{
    server *s = mem_alloc(sizeof *s);
    *s = (server){.options = *o};
    s->daemon = start(s, MHD_USE_DUAL_STACK);
    if (!s->daemon)
        s->daemon = start(s, 0);
    if (s->daemon)
        return s;
    err_errno(e, errno, "cannot listen on port %d", o->port);
    free(s);
    return NULL;
}

uint16_t serve_port(const server *s)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : s->options.port;
}

void serve_close(server *s, int64_t patience_ns)
{
    int64_t until = clock_mono() + patience_ns;
    atomic_store(&s->closing, true);
    MHD_socket listening = MHD_quiesce_daemon(s->daemon);
    if (listening != MHD_INVALID_SOCKET)
        shutdown(listening, SHUT_RD); // else the system takes connections that nobody answers
    while (atomic_load(&s->under_way) > 0 && clock_mono() < until)
        nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000 * 1000}, NULL);
    MHD_stop_daemon(s->daemon);
    if (listening != MHD_INVALID_SOCKET)
        close(listening);
    free(s);
}
