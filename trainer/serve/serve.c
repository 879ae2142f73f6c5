// SPDX-License-Identifier: MIT
#include "trainer/serve/serve.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "trainer/serve/about.h"
#include "trainer/serve/batch.h"
#include "trainer/serve/guests.h"
#include "trainer/serve/lanes.h"
#include "trainer/serve/record.h"
#include "trainer/serve/unpack.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    HELD_LEAST = 256 << 20, // bytes of all bodies and answers that are in memory
    HELD_BODIES = 8,        // or so many whole bodies
    HELD_SMALL = 8 << 10,   // a request of at most this size is never refused because of others
    THREADS_MOST = 4,       // for connections
    DESCRIPTORS = 160,      // descriptors for other things than connections
    CONNECTIONS_LEAST = 16,
    BACKLOG = 4096,
    WAITING_MOST = 64,    // predictions
    WHOLE_NUMBERS = 8192, // longer answers are written while they are sent
    PIECE = 16 << 10,
    CONNECTION_BYTES = 16 << 10, // the head of a request, and what is read and written at a time
    SOCKET_BYTES = 128 << 10,    // part of an answer that the system buffers, twice with its
                                 // overhead
    LOOK_MS = 20,
    SHORT_BODY = 16 << 10, // a longer body is read in one of a few lanes
    LANES = 32,
    LANE_IDLE_MS = 100,
};
static const char binary_header[] = "Inference-Header-Content-Length";
static const char filled[] = "the requests of others, or answers they do not read, fill its memory";
static const int64_t last_words =
    2 * CLOCK_SEC; // time for waiting clients to be told that the server ends

struct server {
    struct serve_options options;
    struct MHD_Daemon *daemon;
    atomic_int under_way; // requests that have begun and are not answered completely
    atomic_int waiting;   // of these, requests that are predicted or wait for that
    atomic_size_t held;
    atomic_bool closing, stopped, loss_reported;
    size_t connections; // the most
    batcher *batcher;
    guests *guests;
    lanes *lanes;
    counts *counts;
    record *record; // NULL: nothing is recorded
};

// A connection.
struct visit {
    guest *guest;
    bool lingers; // it was answered before its whole request was read
};

struct request {
    server *server;
    struct MHD_Connection *connection;
    struct visit *visit;
    struct about about;
    unsigned refusal; // the status with which it is refused, and why; 0: not refused
    char *why;
    body *body; // NULL: it is not kept
    unpacker *unpacker;
    size_t size; // of the body, unpacked
    struct lane_place place;
    bool is_long;
    buf text; // the body itself, if requests are recorded
    infer_request *infer;
    struct batch_job *job; // NULL: not yet
    buf out;               // the answer, or its next part
    size_t at;             // how much of it was read
    bool more, closes;
    size_t held;
    int64_t begun;
};

size_t serve_held_most(size_t body_bytes)
{
    return body_bytes > HELD_LEAST / HELD_BODIES ? HELD_BODIES * body_bytes : (size_t)HELD_LEAST;
}

static const struct serve_model *model_of(const struct request *q)
{
    return &q->server->options.models[q->about.model];
}

// Notes that it holds so many bytes now. Returns false if all together hold too many.
static bool hold(struct request *q, size_t now)
{
    server *s = q->server;
    size_t before = q->held, most = serve_held_most(s->options.body_bytes);
    q->held = now;
    guest_hold(s->guests, q->visit->guest, now);
    if (now <= before) {
        atomic_fetch_sub(&s->held, before - now);
        return true;
    }
    size_t all = atomic_fetch_add(&s->held, now - before) + now - before;
    return now <= HELD_SMALL || all <= most;
}

static void drop_body(struct request *q)
{
    lanes_leave(q->server->lanes, &q->place);
    body_free(q->body);
    unpack_free(q->unpacker);
    q->body = NULL;
    q->unpacker = NULL;
}

static void refuse(struct request *q, unsigned status, const char *why)
{
    drop_body(q);
    buf_done(&q->text);
    hold(q, 0);
    free(q->why);
    q->refusal = status;
    q->why = mem_strdup(why);
}

// Answers.

static enum MHD_Result queue(struct request *q, unsigned code, struct MHD_Response *r)
{
    bool counted = q->about.what == ABOUT_COUNTS && code == MHD_HTTP_OK;
    if (!r)
        return MHD_NO;
    guest_turn_to(q->server->guests, q->visit->guest, GUEST_READS);
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE,
        counted ? "text/plain; version=0.0.4; charset=utf-8" : "application/json");
    if (q->closes || atomic_load(&q->server->closing))
        MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
    if (code == MHD_HTTP_SERVICE_UNAVAILABLE)
        MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    if (code == MHD_HTTP_UNSUPPORTED_MEDIA_TYPE)
        MHD_add_response_header(r, MHD_HTTP_HEADER_ACCEPT_ENCODING, "gzip, deflate");
    enum MHD_Result queued = MHD_queue_response(q->connection, code, r);
    MHD_destroy_response(r);
    return queued;
}

// Takes the bytes of the body.
static enum MHD_Result answer(struct request *q, unsigned code, buf *out)
{
    size_t n = out->len;
    char *bytes = buf_take(out);
    struct MHD_Response *r = MHD_create_response_from_buffer(n, bytes, MHD_RESPMEM_MUST_FREE);
    if (!r)
        free(bytes);
    return queue(q, code, r);
}

static enum MHD_Result fail(struct request *q, unsigned code, const char *text)
{
    AUTO_JSON *j = cJSON_CreateObject();
    AUTO_BUF out = {0};
    json_set_str(j, "error", text);
    json_print(&out, j);
    return answer(q, code, &out);
}

// Refuses it before its body is read: the connection ends with the answer.
static enum MHD_Result fail_early(struct request *q, unsigned code, const char *text)
{
    q->closes = q->visit->lingers = true;
    return fail(q, code, text);
}

static ssize_t read_answer(void *arg, uint64_t from, char *to, size_t most)
{
    struct request *q = arg;
    if (q->at == q->out.len && !q->more)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (q->at == q->out.len) {
        buf_clear(&q->out);
        q->at = 0;
        q->more = infer_write(q->infer, model_of(q)->name, PIECE, &q->out);
    }
    size_t n = q->out.len - q->at < most ? q->out.len - q->at : most;
    memcpy(to, q->out.data + q->at, n);
    q->at += n;
    return (ssize_t)n;
}

// Predictions.

struct job {
    struct batch_job as; // first
    struct request *q;
};

static struct request *request_of(struct batch_job *j)
{
    return ((struct job *)j)->q;
}

static int run_function(struct batch_job *j, const atomic_bool *stop, err *e)
{
    struct request *q = request_of(j);
    const struct serve_model *m = model_of(q);
    return m->infer(m->ctx, m->name, q->body, stop, &q->out, e);
}

static unsigned code_of(const struct batch_job *j)
{
    bool later = j->e.code == ERR_CANCELLED || j->e.code == ERR_UNAVAILABLE;
    return j->status == 0             ? MHD_HTTP_OK
           : later                    ? MHD_HTTP_SERVICE_UNAVAILABLE
           : j->e.code == ERR_INVALID ? MHD_HTTP_BAD_REQUEST
                                      : MHD_HTTP_INTERNAL_SERVER_ERROR;
}

// Counts a request that cannot be recorded, and reports the first one: the prediction itself is
// good.
static void write_down(struct request *q)
{
    err e = {0};
    server *s = q->server;
    if (q->infer)
        infer_write(q->infer, model_of(q)->name, SIZE_MAX, &q->out);
    if (record_add(s->record, model_of(q)->name, clock_mono() - q->begun, q->text.data, q->text.len,
            q->out.data, q->out.len, &e) == 0)
        return;
    counts_lost_record(s->counts);
    if (!atomic_exchange(&s->loss_reported, true) && s->options.trouble)
        s->options.trouble(e.text);
}

// Once it is resumed, the request belongs to its connection's thread again.
static void on_predicted(struct batch_job *j)
{
    struct request *q = request_of(j);
    server *s = q->server;
    if (j->status == 0 && s->record)
        write_down(q);
    counts_answer(s->counts, q->about.model, code_of(j), clock_mono() - q->begun);
    MHD_resume_connection(q->connection);
    atomic_fetch_sub(&s->waiting, 1);
}

static void drop_prediction(struct request *q)
{
    drop_body(q);
    infer_free(q->infer);
    q->infer = NULL;
    buf_done(&q->out);
    buf_done(&q->text);
    hold(q, 0);
}

static enum MHD_Result refuse_prediction(struct request *q, unsigned code, const char *text)
{
    drop_prediction(q);
    counts_answer(q->server->counts, q->about.model, code, clock_mono() - q->begun);
    return fail(q, code, text);
}

// The connection is suspended until it is predicted.
static enum MHD_Result predict(struct request *q)
{
    server *s = q->server;
    const struct serve_model *m = model_of(q);
    if (atomic_fetch_add(&s->waiting, 1) >= WAITING_MOST || atomic_load(&s->stopped)) {
        AUTO_FREE char *text = str_fmt("%d predictions are under way or wait", WAITING_MOST);
        atomic_fetch_sub(&s->waiting, 1);
        return refuse_prediction(
            q, MHD_HTTP_SERVICE_UNAVAILABLE, atomic_load(&s->stopped) ? "it is closing" : text);
    }
    struct job *j = mem_alloc(sizeof *j);
    *j = (struct job){.q = q,
        .as = {.number = q->about.model,
            .m = m->model,
            .q = q->infer,
            .run = run_function,
            .done = on_predicted}};
    q->job = &j->as;
    guest_turn_to(s->guests, q->visit->guest, GUEST_WAITS);
    MHD_suspend_connection(q->connection);
    batch_add(s->batcher, q->job);
    return MHD_YES;
}

// The body is whole.
static enum MHD_Result ask(struct request *q)
{
    err e = {0};
    int status = q->unpacker ? unpack_end(q->unpacker, &e) : 0;
    if (status == 0)
        status = body_end(q->body, &e);
    const struct serve_model *m = model_of(q);
    if (status == 0 && !m->infer)
        status = (q->infer = infer_read(m->model, q->body, &e)) ? 0 : -1;
    if (status < 0)
        return refuse_prediction(q,
            e.code == ERR_INVALID ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_INTERNAL_SERVER_ERROR, e.text);
    if (q->infer)
        drop_body(q);
    if (q->infer && !hold(q, infer_held(q->infer) + q->text.cap))
        return refuse_prediction(q, MHD_HTTP_SERVICE_UNAVAILABLE, filled);
    return predict(q);
}

static enum MHD_Result fail_for_memory(struct request *q)
{
    drop_prediction(q);
    return fail(q, MHD_HTTP_SERVICE_UNAVAILABLE, filled);
}

static enum MHD_Result answer_prediction(struct request *q)
{
    const struct batch_job *j = q->job;
    drop_body(q);
    buf_done(&q->text);
    if (j->status < 0) {
        drop_prediction(q);
        return fail(q, code_of(j), j->e.text);
    }
    if (q->infer && !q->out.len && infer_numbers(q->infer) > WHOLE_NUMBERS) {
        q->more = true;
        if (!hold(q, infer_held(q->infer) + PIECE + 2 * SOCKET_BYTES))
            return fail_for_memory(q);
        return queue(q, MHD_HTTP_OK,
            MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, read_answer, q, NULL));
    }
    if (q->infer && !q->out.len)
        infer_write(q->infer, model_of(q)->name, SIZE_MAX, &q->out);
    infer_free(q->infer);
    q->infer = NULL;
    return hold(q, q->out.len) ? answer(q, MHD_HTTP_OK, &q->out) : fail_for_memory(q);
}

static enum MHD_Result route(struct request *q)
{
    AUTO_BUF out = {0};
    server *s = q->server;
    bool infers = q->about.what == ABOUT_INFER;
    if (q->refusal)
        return infers ? refuse_prediction(q, q->refusal, q->why) : fail(q, q->refusal, q->why);
    if (infers)
        return ask(q);
    if (q->about.what == ABOUT_READY && atomic_load(&s->closing))
        return fail(q, MHD_HTTP_SERVICE_UNAVAILABLE, "it is closing");
    struct counts_now now = {.waiting = atomic_load(&s->waiting),
        .held = atomic_load(&s->held),
        .connections = guests_count(s->guests),
        .most = s->connections,
        .shown_out = guests_shown_out(s->guests)};
    about_tell(&s->options, &q->about, s->counts, &now, &out);
    return answer(q, MHD_HTTP_OK, &out);
}

// Requests.

static const char *header(const struct request *q, const char *name)
{
    return MHD_lookup_connection_value(q->connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result count_lengths(
    void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
    size_t *n = arg;
    *n += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
    return MHD_YES;
}

// The end of a body must be declared in one way only: a proxy before us might use the other one,
// and the two would disagree about where the next request begins (RFC 9112, 6.3). NULL: it is.
static const char *framing_fault(const struct request *q, const char *version)
{
    size_t lengths = 0;
    const char *coding = header(q, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    MHD_get_connection_values(q->connection, MHD_HEADER_KIND, count_lengths, &lengths);
    if (lengths > 1)
        return "it has Content-Length more than once";
    if (coding && lengths)
        return "it has Transfer-Encoding and Content-Length";
    if (coding && strcasecmp(coding, "chunked") != 0)
        return "the only Transfer-Encoding that is taken is chunked";
    if (coding && str_eq(version, MHD_HTTP_VERSION_1_0))
        return "HTTP/1.0 has no Transfer-Encoding";
    return NULL;
}

static size_t announced(const struct request *q)
{
    int64_t length = 0;
    const char *said = header(q, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return said && str_to_int(said, &length) && length > 0 ? (size_t)length : 0;
}

static void refuse_too_long(struct request *q)
{
    AUTO_FREE char *text =
        str_fmt("a request has up to %zu bytes (--body-size)", q->server->options.body_bytes);
    refuse(q, MHD_HTTP_CONTENT_TOO_LARGE, text);
}

// How its body is read, and whether at all.
static void expect_body(struct request *q)
{
    const char *coding = header(q, MHD_HTTP_HEADER_CONTENT_ENCODING);
    bool plain = !coding || !*coding || strcasecmp(coding, "identity") == 0;
    bool packed = !plain && (strcasecmp(coding, "gzip") == 0 || strcasecmp(coding, "x-gzip") == 0 ||
                                strcasecmp(coding, "deflate") == 0);
    q->is_long = announced(q) > SHORT_BODY;
    if (announced(q) > q->server->options.body_bytes) {
        refuse_too_long(q);
    } else if (q->refusal || q->about.what != ABOUT_INFER) {
        return;
    } else if (header(q, binary_header)) {
        AUTO_FREE char *text = str_fmt("it has %s: binary data is not taken, only JSON "
                                       "(binary_data=False of tritonclient)",
            binary_header);
        refuse(q, MHD_HTTP_BAD_REQUEST, text);
    } else if (!plain && !packed) {
        AUTO_FREE char *text = str_fmt(
            "Content-Encoding %s is not taken; gzip and deflate are", str_short(coding, 100).text);
        refuse(q, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, text);
    } else {
        q->body = body_new();
        q->unpacker = packed ? unpack_new() : NULL;
    }
}

static struct visit *visit_of(struct MHD_Connection *c)
{
    return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static enum MHD_Result begin(server *s, struct MHD_Connection *c, const char *path,
    const char *method, const char *version, void **state)
{
    err e = {0};
    struct request *q = *state = mem_alloc(sizeof *q);
    *q =
        (struct request){.server = s, .connection = c, .visit = visit_of(c), .begun = clock_mono()};
    q->place.who = q;
    atomic_fetch_add(&s->under_way, 1);
    guest_turn_to(s->guests, q->visit->guest, GUEST_SENDS);
    unsigned refusal = about_find(&s->options, method, path, &q->about, &e);
    if (refusal)
        refuse(q, refusal, e.text);
    const char *fault = framing_fault(q, version);
    if (fault)
        return fail_early(q, MHD_HTTP_BAD_REQUEST, fault);
    expect_body(q);
    bool asks = header(q, MHD_HTTP_HEADER_EXPECT); // whether to send its body
    bool early = q->refusal == MHD_HTTP_CONTENT_TOO_LARGE || (q->refusal && asks);
    return early ? fail_early(q, q->refusal, q->why) : MHD_YES;
}

// Takes more of the decompressed body. Returns false to stop.
static bool take(void *arg, const char *bytes, size_t n)
{
    struct request *q = arg;
    err e = {0};
    q->size += n;
    if (q->size > q->server->options.body_bytes)
        refuse_too_long(q);
    else if (body_feed(q->body, bytes, n, &e) < 0)
        refuse(
            q, e.code == ERR_INVALID ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_SERVICE_UNAVAILABLE, e.text);
    else if (!hold(q, body_held(q->body) + q->text.cap))
        refuse(q, MHD_HTTP_SERVICE_UNAVAILABLE, filled);
    else if (q->server->record)
        buf_add(&q->text, bytes, n);
    return !q->refusal;
}

// Returns whether the piece was taken; if not, the connection is suspended until there is a lane.
static bool keep(struct request *q, const char *bytes, size_t n)
{
    err e = {0};
    if (!q->body)
        return true; // the request needs no body
    q->is_long = q->is_long || q->size > SHORT_BODY;
    if (q->is_long && !lanes_take(q->server->lanes, &q->place)) {
        MHD_suspend_connection(q->connection);
        lanes_wait(q->server->lanes, &q->place);
        guest_hold_up(q->server->guests, q->visit->guest, &q->place);
        return false;
    }
    if (!q->unpacker)
        take(q, bytes, n);
    else if (unpack_feed(q->unpacker, bytes, n, take, q, &e) < 0)
        refuse(q, MHD_HTTP_BAD_REQUEST, e.text);
    return true;
}

static void go_on(void *who)
{
    MHD_resume_connection(((struct request *)who)->connection);
}

static void let_go(void *arg, void *place)
{
    lanes_let_go(((server *)arg)->lanes, place);
}

static void tick(void *arg)
{
    lanes_tick(((server *)arg)->lanes);
}

// The first call of a request has its head; the next calls have pieces of the body; the last call
// has none. After a prediction it is called once more.
static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *path,
    const char *method, const char *version, const char *bytes, size_t *n, void **state)
{
    struct request *q = *state;
    if (!q)
        return begin(arg, c, path, method, version, state);
    if (*n == 0)
        return q->job ? answer_prediction(q) : route(q);
    if (keep(q, bytes, *n))
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
    guest_hold_up(s->guests, q->visit->guest, NULL);
    drop_body(q);
    hold(q, 0);
    guest_turn_to(s->guests, q->visit->guest, GUEST_KEPT);
    infer_free(q->infer);
    buf_done(&q->text);
    buf_done(&q->out);
    free(q->job);
    free(q->why);
    free(q);
    *state = NULL;
    atomic_fetch_sub(&s->under_way, 1);
}

static void on_connection(
    void *arg, struct MHD_Connection *c, void **context, enum MHD_ConnectionNotificationCode what)
{
    server *s = arg;
    struct visit *v = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        int bytes = SOCKET_BYTES,
            fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        v = *context = mem_alloc(sizeof *v);
        v->guest = guest_enter(s->guests, fd);
    } else if (v) {
        guest_leave(s->guests, v->guest, v->lingers);
        free(v);
        *context = NULL;
    }
}

// Opening and closing.

static unsigned threads_for_connections(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 2 ? 2 : cores > THREADS_MOST ? THREADS_MOST : (unsigned)cores;
}

static struct MHD_Daemon *start(server *s, unsigned how)
{
    return MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | how,
        s->options.port, NULL, NULL, on_request, s, MHD_OPTION_NOTIFY_COMPLETED, on_done, s,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)s->connections, MHD_OPTION_THREAD_POOL_SIZE, threads_for_connections(),
        MHD_OPTION_LISTEN_BACKLOG_SIZE, (unsigned)BACKLOG, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_END);
}

static void free_server(server *s)
{
    batch_free(s->batcher);
    guests_free(s->guests);
    lanes_free(s->lanes);
    counts_free(s->counts);
    record_close(s->record);
    free(s);
}

// Each connection is a descriptor.
static int count_connections(server *s, err *e)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return err_errno(e, errno, "the limit of open files");
    if (limit.rlim_cur < DESCRIPTORS + CONNECTIONS_LEAST)
        return err_set(e, ERR_LIMIT,
            "the limit of open files is %llu (ulimit -n): a server needs %d or more",
            (unsigned long long)limit.rlim_cur, DESCRIPTORS + CONNECTIONS_LEAST);
    size_t room = (size_t)limit.rlim_cur - DESCRIPTORS;
    s->connections = room < SERVE_CONNECTIONS ? room : SERVE_CONNECTIONS;
    return 0;
}

server *serve_open(const struct serve_options *o, err *e)
{
    server *s = mem_alloc(sizeof *s);
    AUTO_FREE const char **names = mem_array(o->n + 1, sizeof *names);
    for (size_t i = 0; i < o->n; i++)
        names[i] = o->models[i].name;
    *s = (server){.options = *o, .counts = counts_new(names, o->n)};
    s->options.batch_rows = o->batch_rows ? o->batch_rows : 1;
    if (count_connections(s, e) < 0 ||
        (o->record && !(s->record = record_open(o->record, o->record_bytes, o->record_files, e)))) {
        free_server(s);
        return NULL;
    }
    s->batcher = batch_new(
        &(struct batch_options){s->options.batch_rows, o->batch_latency_ns, s->counts}, e);
    s->lanes = lanes_new(&(struct lanes_options){.most = LANES,
        .idle_ns = LANE_IDLE_MS * CLOCK_MS,
        .ride_ns = CLOCK_SEC,
        .wait_ns = o->body_ns,
        .go = go_on});
    s->guests = guests_new(&(struct guests_options){.tick = tick,
                               .let_go = let_go,
                               .arg = s,
                               .most = s->connections,
                               .held = serve_held_most(o->body_bytes) / 4 * 3,
                               .ns = {[GUEST_NEW] = o->head_ns,
                                   [GUEST_KEPT] = o->head_ns,
                                   [GUEST_SENDS] = o->body_ns,
                                   [GUEST_READS] = o->answer_ns}},
        e);
    if (!s->batcher || !s->guests) {
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

size_t serve_connections(const server *s)
{
    return s->connections;
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
        shutdown(listening, SHUT_RD); // otherwise the system would accept connections that nobody
                                      // answers
    wait_until_none(&s->under_way, clock_mono() + patience_ns);
    atomic_store(&s->stopped, true);
    lanes_open(s->lanes);
    batch_stop(s->batcher);
    wait_until_none(&s->waiting, INT64_MAX); // a suspended connection cannot be closed
    wait_until_none(&s->under_way, clock_mono() + last_words);
    MHD_stop_daemon(s->daemon);
    if (listening != MHD_INVALID_SOCKET)
        close(listening);
    free_server(s);
}
