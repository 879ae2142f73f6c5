// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/http.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

// MHD runs without a thread of its own: our loop polls its epoll descriptor, and MHD_run handles
// what is ready. A connection that waits for us is suspended, which removes it from that epoll. So,
// to find clients that have left meanwhile, we look at the suspended sockets every few seconds.
enum {
    SWEEP_MS = 5000,
    IDLE_SECONDS = 300,
    CONNECTION_MEMORY = 128 * 1024,
    CHUNK = 32 * 1024,
    FRUITLESS_MAX = 8,
};

struct route {
    const char *prefix;
    const struct http_handler *handler;
    void *arg;
};

struct http_server {
    loop *loop;
    struct MHD_Daemon *daemon;
    loop_poll *poll;
    loop_timer *timer, *sweep;
    uint16_t port;
    char *token;
    bool closing;       // no new requests are taken
    bool sweeping;      // the sweep's timer runs
    bool resumed;       // MHD_run must continue a resumed connection
    bool moved;         // the last MHD_run called us back
    unsigned fruitless; // number of MHD_runs in a row without a callback
    struct route routes[8];
    size_t route_n;
    http_exchange *exchanges;
};

struct http_exchange {
    http_server *server;
    struct MHD_Connection *connection;
    const struct route *route;
    void *state;
    char *method, *path;
    struct MHD_Response *response;
    int code;
    bool ended;     // handler->end was called
    bool suspended; // it waits for http_respond or http_wake
    bool lost;      // the client has gone, or the server is closing
    struct http_source source;
    void *source_arg;
    char **headers; // of the response: name, value, name, value …
    http_exchange *next, **at;
};

static void run(http_server *s)
{
    MHD_UNSIGNED_LONG_LONG ms;
    s->resumed = s->moved = false;
    MHD_run(s->daemon);
    s->fruitless = s->moved ? 0 : s->fruitless + 1;
    if (s->resumed)
        loop_timer_start(s->timer, 0, 0);
    else if (MHD_get_timeout(s->daemon, &ms) == MHD_YES)
        // During a client's slow TLS handshake, MHD asks to be run at once, again and again.
        loop_timer_start(s->timer, ms || s->fruitless < FRUITLESS_MAX ? ms : 1, 0);
    else
        loop_timer_stop(s->timer);
}

static void on_poll(void *arg, int events)
{
    run(arg);
}

static void on_timer(void *arg)
{
    run(arg);
}

static void suspend(http_exchange *x)
{
    if (!x->server->sweeping)
        loop_timer_start(x->server->sweep, SWEEP_MS, SWEEP_MS);
    x->server->sweeping = true;
    x->suspended = true;
    MHD_suspend_connection(x->connection);
}

static void resume(http_exchange *x)
{
    if (!x->suspended)
        return;
    x->suspended = false;
    MHD_resume_connection(x->connection);
    // MHD handles it in its next run, but its descriptor does not always ask for one.
    x->server->resumed = true;
    loop_timer_start(x->server->timer, 0, 0);
}

static void on_sweep(void *arg)
{
    http_server *s = arg;
    bool any = false;
    for (http_exchange *x = s->exchanges; x; x = x->next) {
        if (!x->suspended)
            continue;
        any = true;
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct pollfd p = {.fd = info ? info->connect_fd : -1, .events = POLLRDHUP};
        if (poll(&p, 1, 0) > 0) {
            x->lost = true;
            resume(x);
        }
    }
    if (!any) { // nothing to look at: stop waking up
        loop_timer_stop(s->sweep);
        s->sweeping = false;
    }
}

static const struct route *find_route(const http_server *s, const char *path)
{
    const struct route *best = NULL;
    for (size_t i = 0; i < s->route_n; i++)
        if (str_starts(path, s->routes[i].prefix) &&
            (!best || strlen(s->routes[i].prefix) > strlen(best->prefix)))
            best = &s->routes[i];
    return best;
}

static http_exchange *exchange_new(
    http_server *s, struct MHD_Connection *c, const char *method, const char *path)
{
    http_exchange *x = mem_alloc(sizeof *x);
    x->server = s;
    x->connection = c;
    x->method = mem_strdup(method);
    x->path = mem_strdup(path);
    x->route = find_route(s, path);
    x->next = s->exchanges;
    if (x->next)
        x->next->at = &x->next;
    x->at = &s->exchanges;
    s->exchanges = x;
    return x;
}

static void close_source(http_exchange *x)
{
    if (x->source.close)
        x->source.close(x->source_arg);
    x->source = (struct http_source){0};
}

static void on_completed(
    void *arg, struct MHD_Connection *c, void **con, enum MHD_RequestTerminationCode why)
{
    http_exchange *x = *con;
    *con = NULL;
    ((http_server *)arg)->moved = true;
    if (!x)
        return;
    close_source(x);
    if (x->route && x->route->handler->done)
        x->route->handler->done(x->state);
    *x->at = x->next;
    if (x->next)
        x->next->at = x->at;
    if (x->response)
        MHD_destroy_response(x->response);
    strv_free(x->headers);
    free(x->method);
    free(x->path);
    free(x);
}

static enum MHD_Result on_access(void *arg, struct MHD_Connection *c, const char *path,
    const char *method, const char *version, const char *bytes, size_t *n, void **con)
{
    http_exchange *x = *con;
    http_server *s = arg;
    s->moved = true;
    if (s->closing)
        return MHD_NO;
    if (!x) { // this call brings the head
        *con = x = exchange_new(s, c, method, path);
        if (x->route)
            x->state = x->route->handler->begin(x->route->arg, x);
        else
            http_respond(x, 404, "text/plain", "not found\n", 10);
        return MHD_YES;
    }
    const struct http_handler *h = x->route ? x->route->handler : NULL;
    if (*n) { // a piece of the body; after an early answer the rest is read and dropped
        if (!x->response)
            h->body(x->state, x, bytes, *n);
        *n = 0;
        return MHD_YES;
    }
    if (!x->ended && !x->response)
        h->end(x->state, x);
    x->ended = true;
    if (x->response)
        return MHD_queue_response(c, (unsigned)x->code, x->response);
    if (x->lost)
        return MHD_NO;
    suspend(x);
    return MHD_YES;
}

const char *http_method(const http_exchange *x)
{
    return x->method;
}

const char *http_path(const http_exchange *x)
{
    return x->path;
}

const char *http_request_header(const http_exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

struct search {
    const char *name, *value;
};

static enum MHD_Result match(void *arg, enum MHD_ValueKind kind, const char *key, const char *value)
{
    struct search *s = arg;
    if (!str_eq(key, s->name))
        return MHD_YES;
    s->value = value ? value : "";
    return MHD_NO;
}

const char *http_query(const http_exchange *x, const char *name)
{
    struct search s = {.name = name};
    MHD_get_connection_values(x->connection, MHD_GET_ARGUMENT_KIND, match, &s);
    return s.value;
}

static bool is_token(const http_exchange *x, const char *text, size_t n)
{
    const char *token = x->server->token;
    return n == strlen(token) && digest_equal(text, token, n);
}

bool http_is_authorized(const http_exchange *x)
{
    const char *value = http_request_header(x, "Authorization");
    if (value && strncasecmp(value, "Bearer ", 7) == 0)
        return is_token(x, value + 7, strlen(value + 7));
    if (!value || strncasecmp(value, "Basic ", 6) != 0)
        return false;
    AUTO_BUF b = {0};
    if (base64_decode(&b, value + 6, strlen(value + 6), NULL) != 0)
        return false;
    const char *colon = b.len ? memchr(b.data, ':', b.len) : NULL;
    return colon && is_token(x, colon + 1, b.len - (size_t)(colon + 1 - b.data));
}

void http_set_header(http_exchange *x, const char *name, const char *value)
{
    x->headers = strv_add(strv_add(x->headers, name), value);
}

static void answer(http_exchange *x, int code, const char *type, struct MHD_Response *r)
{
    if (type)
        MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    for (size_t i = 0; x->headers && x->headers[i]; i += 2)
        MHD_add_response_header(r, x->headers[i], x->headers[i + 1]);
    x->code = code;
    x->response = r;
    resume(x);
}

// Our own readers hand out a body in pieces, so that we know that it moves.
struct memory_body {
    http_server *server;
    char *bytes;
    size_t n;
};

static ssize_t read_memory(void *arg, uint64_t position, char *out, size_t max)
{
    struct memory_body *m = arg;
    size_t n = m->n - (size_t)position;
    n = n < max ? n : max;
    m->server->moved = true;
    memcpy(out, m->bytes + position, n);
    return (ssize_t)n;
}

static void close_memory(void *arg)
{
    struct memory_body *m = arg;
    free(m->bytes);
    free(m);
}

void http_respond(http_exchange *x, int code, const char *type, const void *bytes, size_t n)
{
    if (n <= CHUNK) {
        answer(x, code, type,
            MHD_create_response_from_buffer(n, (void *)bytes, MHD_RESPMEM_MUST_COPY));
        return;
    }
    struct memory_body *m = mem_alloc(sizeof *m);
    *m = (struct memory_body){x->server, mem_dup(bytes, n), n};
    answer(
        x, code, type, MHD_create_response_from_callback(n, CHUNK, read_memory, m, close_memory));
}

struct file_body {
    http_server *server;
    int fd;
    uint64_t offset;
};

static ssize_t read_file(void *arg, uint64_t position, char *out, size_t max)
{
    struct file_body *f = arg;
    f->server->moved = true;
    ssize_t n = pread(f->fd, out, max, (off_t)(f->offset + position));
    return n > 0 ? n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void close_file(void *arg)
{
    struct file_body *f = arg;
    close(f->fd);
    free(f);
}

void http_respond_file(
    http_exchange *x, int code, const char *type, int fd, uint64_t offset, uint64_t size)
{
    struct file_body *f = mem_alloc(sizeof *f);
    *f = (struct file_body){x->server, fd, offset};
    answer(x, code, type, MHD_create_response_from_callback(size, CHUNK, read_file, f, close_file));
}

static ssize_t read_nothing(void *arg, uint64_t position, char *out, size_t max)
{
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

void http_respond_length(http_exchange *x, int code, const char *type, uint64_t size)
{
    answer(x, code, type, MHD_create_response_from_callback(size, CHUNK, read_nothing, NULL, NULL));
}

static ssize_t read_source(void *arg, uint64_t position, char *out, size_t max)
{
    http_exchange *x = arg;
    x->server->moved = true;
    ssize_t n = x->lost || !x->source.read ? HTTP_BROKEN : x->source.read(x->source_arg, out, max);
    if (n == HTTP_END)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (n < 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (n == 0)
        suspend(x);
    return n;
}

void http_respond_stream(
    http_exchange *x, int code, const char *type, const struct http_source *source, void *arg)
{
    x->source = *source;
    x->source_arg = arg;
    answer(x, code, type,
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK, read_source, x, NULL));
}

void http_wake(http_exchange *x)
{
    if (x->response)
        resume(x);
}

void http_route(http_server *s, const char *prefix, const struct http_handler *h, void *arg)
{
    if (s->route_n < ARRAY_LEN(s->routes))
        s->routes[s->route_n++] = (struct route){prefix, h, arg};
}

uint16_t http_port(const http_server *s)
{
    return s->port;
}

static int listen_on(uint16_t *port, err *e)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(*port)};
    socklen_t size = sizeof a;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
    if (fd < 0)
        return err_errno(e, errno, "cannot make a socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&a, size) == 0 && listen(fd, 512) == 0 &&
        getsockname(fd, (struct sockaddr *)&a, &size) == 0) {
        *port = ntohs(a.sin_port);
        return fd;
    }
    if (errno == EADDRINUSE)
        err_set(e, ERR_EXISTS,
            "port %u on 127.0.0.1 is in use by another program; choose another with --port, or "
            "leave it out for a free one",
            *port);
    else
        err_errno(e, errno, "cannot listen on 127.0.0.1:%u", *port);
    close(fd);
    return -1;
}

static void be_quiet(void *arg, const char *fmt, va_list args)
{
}

static int start_daemon(http_server *s, const struct http_options *o, int fd, err *e)
{
    s->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_TLS | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
        on_access, s, MHD_OPTION_EXTERNAL_LOGGER, be_quiet, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_HTTPS_MEM_CERT, o->certificate, MHD_OPTION_HTTPS_MEM_KEY, o->key,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_CONNECTION_LIMIT, 4096u, MHD_OPTION_END);
    if (!s->daemon) {
        close(fd);
        return err_set(e, ERR_FAILED, "cannot start the HTTPS server (libmicrohttpd)");
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    s->poll = loop_poll_new(s->loop, info->epoll_fd, on_poll, s, e);
    if (!s->poll)
        return -1;
    loop_poll_set(s->poll, LOOP_READ);
    return 0;
}

http_server *http_open(loop *l, const struct http_options *o, err *e)
{
    uint16_t port = o->port;
    int fd = listen_on(&port, e);
    if (fd < 0)
        return NULL;
    http_server *s = mem_alloc(sizeof *s);
    s->loop = l;
    s->port = port;
    s->token = mem_strdup(o->token);
    s->timer = loop_timer_new(l, on_timer, s);
    s->sweep = loop_timer_new(l, on_sweep, s);
    if (start_daemon(s, o, fd, e) != 0) {
        http_close(s);
        return NULL;
    }
    return s;
}

void http_close(http_server *s)
{
    if (!s)
        return;
    s->closing = true;
    loop_poll_free(s->poll);
    // MHD refuses to stop while connections are suspended.
    for (http_exchange *x = s->exchanges; x; x = x->next) {
        x->lost = true;
        resume(x);
    }
    if (s->daemon) {
        MHD_run(s->daemon);
        MHD_stop_daemon(s->daemon);
    }
    loop_timer_free(s->timer); // not earlier: resume starts it
    loop_timer_free(s->sweep);
    free(s->token);
    free(s);
}
