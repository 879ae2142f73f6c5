// SPDX-License-Identifier: MIT
#include "trainer/serve/serve.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "trainer/serve/batch.h"
#include "trainer/serve/record.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    BODY_MOST = 64 << 20,
    HELD_MOST = 256 << 20, // bytes of all bodies and answers that are in memory
    IDLE_SECONDS = 30,
    CONNECTIONS = 128,     // each has a thread
    SHORT_BODY = 64 << 10, // bytes; longer ones are read one at a time
    WAITING_MOST =
        64, // predictions; the other connections stay free for questions about its health
    LOOK_MS = 20,
};
static const char models[] = "/v2/models/";
static const char binary_header[] = "Inference-Header-Content-Length";
static const int64_t last_words =
    2 * CLOCK_SEC; // in which waiting clients are told that the server ends

struct server {
    struct serve_options options;
    struct MHD_Daemon *daemon;
    atomic_int under_way; // requests that have begun and are not answered in full
    atomic_int waiting;   // those of them that predict or wait for their turn
    atomic_size_t held;
    atomic_bool closing, told_lost;
    batcher *batcher;
    counts *counts;
    record *record; // NULL: nothing is written down
};

struct request {
    server *server;
    const struct serve_model *model; // that is to predict; NULL: the body is not kept
    buf body;
    size_t held;
    int64_t begun, until; // the body must be complete by then
    const char *type;     // of the answer
    bool too_long, too_much;
};

static size_t number_of(const struct request *q)
{
    return (size_t)(q->model - q->server->options.models);
}

static bool hold(struct request *q, size_t n)
{
    atomic_size_t *held = &q->server->held;
    if (atomic_fetch_add(held, n) + n > HELD_MOST) {
        atomic_fetch_sub(held, n);
        return false;
    }
    q->held += n;
    return true;
}

static void let_go(struct request *q)
{
    buf_done(&q->body);
    atomic_fetch_sub(&q->server->held, q->held);
    q->held = 0;
}

// Takes the bytes of body.
static enum MHD_Result answer(
    struct MHD_Connection *c, const struct request *q, unsigned code, buf *body)
{
    size_t n = body->len;
    char *bytes = buf_take(body);
    struct MHD_Response *r = MHD_create_response_from_buffer(n, bytes, MHD_RESPMEM_MUST_FREE);
    if (!r) {
        free(bytes);
        return MHD_NO;
    }
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, q->type);
    if (q->too_long || atomic_load(&q->server->closing))
        MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
    if (code == MHD_HTTP_SERVICE_UNAVAILABLE)
        MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "1");
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
    return answer(c, q, code, &out);
}

static enum MHD_Result tell_server(struct MHD_Connection *c, const struct request *q)
{
    AUTO_BUF out = {0};
    AUTO_JSON *j = cJSON_CreateObject();
    json_set_str(j, "name", "firesteel-worker");
    json_set_str(j, "version", q->server->options.version);
    json_set(j, "extensions", cJSON_CreateArray());
    json_print(&out, j);
    return answer(c, q, MHD_HTTP_OK, &out);
}

static int predict_function(struct request *q, buf *out, err *e)
{
    batcher *b = q->server->batcher;
    const struct serve_model *m = q->model;
    if (!batch_take_turn(b))
        return err_set(e, ERR_CANCELLED, "it is closing");
    counts_batch(q->server->counts, number_of(q), 1, 1);
    int status =
        m->infer(m->ctx, m->name, buf_cstr(&q->body), q->body.len, batch_stopped(b), out, e);
    batch_give_turn(b);
    return status;
}

static infer_request *read_request(struct request *q, err *e)
{
    batcher *b = q->server->batcher;
    bool is_long = q->body.len > SHORT_BODY;
    if (is_long && !batch_begin_reading(b)) {
        err_set(e, ERR_CANCELLED, "it is closing");
        return NULL;
    }
    infer_request *read = infer_read(q->model->model, buf_cstr(&q->body), q->body.len, e);
    if (is_long)
        batch_end_reading(b);
    return read;
}

static int predict_model(struct request *q, buf *out, err *e)
{
    const struct serve_model *m = q->model;
    batcher *b = q->server->batcher;
    infer_request *read = read_request(q, e);
    int status = -1;
    if (!q->server->record)
        let_go(q);
    if (read && batch_predict(b, number_of(q), m->model, read, e) == 0)
        status = infer_write(read, m->name, batch_stopped(b), out, e);
    infer_free(read);
    return status;
}

// That it cannot be written down is counted, and told once: the prediction is good.
static void write_down(struct request *q, const buf *out)
{
    err e = {0};
    server *s = q->server;
    if (!s->record || record_add(s->record, q->model->name, clock_mono() - q->begun, q->body.data,
                          q->body.len, out->data, out->len, &e) == 0)
        return;
    counts_lost_record(s->counts);
    if (!atomic_exchange(&s->told_lost, true) && s->options.trouble)
        s->options.trouble(e.text);
}

static int predict_in_turn(struct request *q, buf *out, err *e)
{
    int status = q->model->infer ? predict_function(q, out, e) : predict_model(q, out, e);
    if (status == 0)
        write_down(q, out);
    let_go(q);
    if (status == 0 && !hold(q, out->len))
        return err_set(e, ERR_UNAVAILABLE, "the answers of others fill its memory");
    return status;
}

static unsigned code_of(const err *e)
{
    bool later = e->code == ERR_CANCELLED || e->code == ERR_UNAVAILABLE;
    return later                    ? MHD_HTTP_SERVICE_UNAVAILABLE
           : e->code == ERR_INVALID ? MHD_HTTP_BAD_REQUEST
                                    : MHD_HTTP_INTERNAL_SERVER_ERROR;
}

static enum MHD_Result predict(struct MHD_Connection *c, struct request *q)
{
    AUTO_BUF out = {0};
    err e = {0};
    int status = -1;
    // While this waits and predicts, the connection does not count as idle.
    MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, 0U);
    if (atomic_fetch_add(&q->server->waiting, 1) < WAITING_MOST)
        status = predict_in_turn(q, &out, &e);
    else
        err_set(&e, ERR_UNAVAILABLE, "%d predictions are under way or wait", WAITING_MOST);
    atomic_fetch_sub(&q->server->waiting, 1);
    MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)IDLE_SECONDS);
    unsigned code = status == 0 ? MHD_HTTP_OK : code_of(&e);
    counts_answer(q->server->counts, number_of(q), code, clock_mono() - q->begun);
    return status == 0 ? answer(c, q, code, &out) : fail(c, q, code, "%s", e.text);
}

static enum MHD_Result tell_counts(struct MHD_Connection *c, struct request *q)
{
    AUTO_BUF out = {0};
    server *s = q->server;
    struct counts_now now = {atomic_load(&s->waiting), atomic_load(&s->held)};
    counts_print(s->counts, &now, &out);
    q->type = "text/plain; version=0.0.4; charset=utf-8";
    return answer(c, q, MHD_HTTP_OK, &out);
}

// rest: what follows the model's name, without "/versions/1".
static enum MHD_Result about_model(struct MHD_Connection *c, struct request *q,
    const struct serve_model *m, bool posts, const char *rest)
{
    AUTO_BUF out = {0};
    bool infers = str_eq(rest, "/infer");
    if (!infers && !str_eq(rest, "/ready") && *rest)
        return fail(c, q, MHD_HTTP_NOT_FOUND, "a model has no %s; it has /infer and /ready", rest);
    if (infers != posts)
        return fail(
            c, q, MHD_HTTP_METHOD_NOT_ALLOWED, "it is asked by %s", infers ? "POST" : "GET");
    if (infers && MHD_lookup_connection_value(c, MHD_HEADER_KIND, binary_header))
        return fail(c, q, MHD_HTTP_BAD_REQUEST,
            "it has %s: binary data is not taken, only JSON (binary_data=False of tritonclient)",
            binary_header);
    if (infers)
        return predict(c, q);
    if (!*rest && m->describe)
        m->describe(m->ctx, &out);
    else if (!*rest)
        infer_metadata(m->model, m->name, &out);
    return answer(c, q, MHD_HTTP_OK, &out);
}

// The model that a path below /v2/models/ speaks of; *rest: what follows it.
static const struct serve_model *find_model(
    const struct serve_options *o, const char *path, const char **rest)
{
    static const char version[] = "/versions/1";
    if (!str_starts(path, models))
        return NULL;
    path += strlen(models);
    size_t length = strcspn(path, "/");
    *rest = path + length;
    if (str_starts(*rest, version) &&
        (!(*rest)[strlen(version)] || (*rest)[strlen(version)] == '/'))
        *rest += strlen(version);
    for (size_t i = 0; i < o->n; i++)
        if (strlen(o->models[i].name) == length && memcmp(o->models[i].name, path, length) == 0)
            return &o->models[i];
    return NULL;
}

static enum MHD_Result route(
    struct MHD_Connection *c, struct request *q, const char *path, const char *method)
{
    const char *rest = NULL;
    buf nothing = {0};
    bool posts = str_eq(method, MHD_HTTP_METHOD_POST);
    if (!posts && !str_eq(method, MHD_HTTP_METHOD_GET) && !str_eq(method, MHD_HTTP_METHOD_HEAD))
        return fail(c, q, MHD_HTTP_METHOD_NOT_ALLOWED, "there is no %s here", method);
    if (q->too_long)
        return fail(c, q, MHD_HTTP_CONTENT_TOO_LARGE, "a request has up to 64 MiB%s", "");
    if (q->too_much)
        return fail(
            c, q, MHD_HTTP_SERVICE_UNAVAILABLE, "the requests of others fill its memory%s", "");
    const struct serve_model *m = find_model(&q->server->options, path, &rest);
    if (m)
        return about_model(c, q, m, posts, rest);
    if (str_eq(path, "/v2/health/live"))
        return answer(c, q, MHD_HTTP_OK, &nothing);
    if (str_eq(path, "/v2/health/ready"))
        return atomic_load(&q->server->closing)
                   ? fail(c, q, MHD_HTTP_SERVICE_UNAVAILABLE, "it is closing%s", "")
                   : answer(c, q, MHD_HTTP_OK, &nothing);
    if (str_eq(path, "/v2"))
        return tell_server(c, q);
    if (str_eq(path, "/metrics"))
        return tell_counts(c, q);
    if (rest)
        return fail(c, q, MHD_HTTP_NOT_FOUND, "there is no model %s", path + strlen(models));
    return fail(c, q, MHD_HTTP_NOT_FOUND, "there is no %s; models are below /v2/models/", path);
}

static struct request *begin(server *s, const char *path, const char *method)
{
    struct request *q = mem_alloc(sizeof *q);
    const char *rest = "";
    const struct serve_model *m = find_model(&s->options, path, &rest);
    bool predicts = m && str_eq(method, MHD_HTTP_METHOD_POST) && str_eq(rest, "/infer");
    int64_t now = clock_mono();
    *q = (struct request){.server = s,
        .model = predicts ? m : NULL,
        .begun = now,
        .until = now + s->options.body_ns,
        .type = "application/json"};
    atomic_fetch_add(&s->under_way, 1);
    return q;
}

// MHD_NO ends the connection: in the middle of a body nothing can be answered.
static enum MHD_Result keep(
    struct MHD_Connection *c, struct request *q, const char *bytes, size_t n)
{
    int64_t left = (q->until - clock_mono() + CLOCK_SEC - 1) / CLOCK_SEC;
    if (left <= 0)
        return MHD_NO;
    MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT,
        left < IDLE_SECONDS ? (unsigned)left : (unsigned)IDLE_SECONDS);
    if (!q->model || q->too_long || q->too_much)
        return MHD_YES;
    q->too_long = n > BODY_MOST - q->body.len;
    q->too_much = !q->too_long && !hold(q, n);
    if (q->too_long || q->too_much)
        let_go(q);
    else
        buf_add(&q->body, bytes, n);
    return MHD_YES;
}

// The first call of a request has its head; then come pieces of the body; the last has none.
static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *path,
    const char *method, const char *version, const char *bytes, size_t *n, void **state)
{
    struct request *q = *state;
    if (!q) {
        *state = begin(arg, path, method);
        return MHD_YES;
    }
    if (*n == 0)
        return route(c, q, path, method);
    size_t got = *n;
    *n = 0;
    return keep(c, q, bytes, got);
}

static void on_done(
    void *arg, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
    server *s = arg;
    struct request *q = *state;
    if (!q)
        return;
    let_go(q);
    free(q);
    *state = NULL;
    MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)IDLE_SECONDS);
    atomic_fetch_sub(&s->under_way, 1);
}

static struct MHD_Daemon *start(server *s, unsigned how)
{
    return MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD |
                                MHD_USE_AUTO | MHD_USE_ITC | how,
        s->options.port, NULL, NULL, on_request, s, MHD_OPTION_NOTIFY_COMPLETED, on_done, s,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS, MHD_OPTION_END);
}

static void free_server(server *s)
{
    batch_free(s->batcher);
    counts_free(s->counts);
    record_close(s->record);
    free(s);
}

server *serve_open(const struct serve_options *o, err *e)
{
    server *s = mem_alloc(sizeof *s);
    AUTO_FREE const char **names = mem_array(o->n + 1, sizeof *names);
    for (size_t i = 0; i < o->n; i++)
        names[i] = o->models[i].name;
    *s = (server){.options = *o, .counts = counts_new(names, o->n)};
    s->batcher = batch_new(
        &(struct batch_options){o->batch_rows ? o->batch_rows : 1, o->batch_latency_ns, s->counts});
    if (o->record && !(s->record = record_open(o->record, o->record_bytes, o->record_files, e))) {
        free_server(s);
        return NULL;
    }
    s->daemon = start(s, MHD_USE_DUAL_STACK);
    if (!s->daemon)
        s->daemon = start(s, 0);
    if (s->daemon)
        return s;
    err_errno(e, errno, "cannot listen on port %d", o->port);
    free_server(s);
    return NULL;
}

uint16_t serve_port(const server *s)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : s->options.port;
}

static void wait_until_none(const atomic_int *count, int64_t until)
{
    while (atomic_load(count) > 0 && clock_mono() < until)
        nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000 * 1000}, NULL);
}

void serve_close(server *s, int64_t drain_ns, int64_t patience_ns)
{
    atomic_store(&s->closing, true);
    nanosleep(
        &(struct timespec){.tv_sec = drain_ns / CLOCK_SEC, .tv_nsec = drain_ns % CLOCK_SEC}, NULL);
    MHD_socket listening = MHD_quiesce_daemon(s->daemon);
    if (listening != MHD_INVALID_SOCKET)
        shutdown(listening, SHUT_RD); // or the system would accept connections that nobody answers
    wait_until_none(&s->under_way, clock_mono() + patience_ns);
    batch_stop(s->batcher);
    wait_until_none(&s->waiting, INT64_MAX); // their threads must end first, however long it takes
    wait_until_none(&s->under_way, clock_mono() + last_words);
    MHD_stop_daemon(s->daemon);
    if (listening != MHD_INVALID_SOCKET)
        close(listening);
    free_server(s);
}
