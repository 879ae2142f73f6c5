// SPDX-License-Identifier: MIT
#include "base/loop/stream.h"

#include "base/loop/internal.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct stream {
    uv_pipe_t uv; // first: freed by loop_close_handle
    const struct stream_ops *ops;
    void *arg;
    bool is_closed_by_peer;
    bool is_broken;   // writing has failed; what the other side has sent is still read to its end
    bool is_reported; // the failure was reported after the other side's end
    char room[65536];
};

static void alloc_room(uv_handle_t *h, size_t suggested, uv_buf_t *room)
{
    stream *s = (stream *)h;
    *room = uv_buf_init(s->room, sizeof s->room);
}

static void tell_end(stream *s, int code)
{
    err reason = {0};
    if (code != UV_EOF && code != UV_ECONNRESET && code != UV_EPIPE)
        err_errno(&reason, -code, "the connection broke");
    s->ops->closed(s->arg, &reason);
}

static void tell_broken(stream *s, int code)
{
    if (s->is_reported)
        return;
    s->is_reported = true;
    tell_end(s, code);
}

static void report_end(stream *s, int code)
{
    if (s->is_closed_by_peer)
        return;
    s->is_closed_by_peer = true;
    s->is_broken |= code != UV_EOF;
    uv_read_stop((uv_stream_t *)&s->uv);
    tell_end(s, code);
    if (s->is_broken && !uv_is_closing((uv_handle_t *)&s->uv))
        tell_broken(s, code);
}

// Writing has failed. Data that can still be read comes first, even if reading was paused.
static void report_broken(stream *s, int code)
{
    s->is_broken = true;
    if (s->is_closed_by_peer)
        tell_broken(s, code);
    else
        stream_pause(s, false);
}

static void got_data(uv_stream_t *uv, ssize_t n, const uv_buf_t *room)
{
    stream *s = (stream *)uv;
    if (n > 0)
        s->ops->data(s->arg, room->base, (size_t)n);
    else if (n < 0)
        report_end(s, (int)n);
}

static stream *open_fd(loop *l, int fd, err *e)
{
    stream *s = mem_alloc(sizeof *s);
    uv_pipe_init(loop_uv(l), &s->uv, 0);
    int code = uv_pipe_open(&s->uv, fd);
    if (code < 0) {
        loop_close_handle(s);
        err_errno(e, -code, "cannot read and write descriptor %d", fd);
        return NULL;
    }
    return s;
}

void stream_start(stream *s, const struct stream_ops *ops, void *arg)
{
    s->ops = ops;
    s->arg = arg;
    uv_read_start((uv_stream_t *)&s->uv, alloc_room, got_data);
}

stream *stream_from_fd(loop *l, int fd, const struct stream_ops *ops, void *arg, err *e)
{
    stream *s = open_fd(l, fd, e);
    if (s)
        stream_start(s, ops, arg);
    return s;
}

static int unix_address(const char *path, struct sockaddr_un *address, err *e)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    _Static_assert(sizeof address->sun_path == STREAM_PATH_MOST + 1, "as the system has it");
    if (strlen(path) > STREAM_PATH_MOST)
        return err_set(
            e, ERR_USAGE, "the socket's path is longer than %d bytes: %s", STREAM_PATH_MOST, path);
    strcpy(address->sun_path, path);
    return 0;
}

// A connected descriptor, or -1.
static int connect_unix(const char *path, err *e)
{
    struct sockaddr_un address;
    if (unix_address(path, &address, e) < 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_errno(e, errno, "cannot make a socket");
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        int number = errno;
        close(fd);
        return err_errno(e, number, "cannot connect to %s", path);
    }
    return fd;
}

stream *stream_connect(loop *l, const char *path, const struct stream_ops *ops, void *arg, err *e)
{
    int fd = connect_unix(path, e);
    if (fd < 0)
        return NULL;
    stream *s = stream_from_fd(l, fd, ops, arg, e);
    if (!s)
        close(fd);
    return s;
}

struct write {
    uv_write_t uv;
    stream *s;
    char bytes[];
};

static void written(uv_write_t *uv, int status)
{
    struct write *w = (struct write *)uv;
    stream *s = w->s;
    free(w);
    if (uv_is_closing((uv_handle_t *)&s->uv) || !s->ops)
        return;
    if (status < 0) {
        report_broken(s, status);
        return;
    }
    if (!uv_stream_get_write_queue_size((uv_stream_t *)&s->uv) && s->ops->drained)
        s->ops->drained(s->arg);
}

// Writes as much as the system takes at once. What is left, and any error, are uv_write's.
static size_t write_now(stream *s, const void *bytes, size_t n)
{
    uv_buf_t data = uv_buf_init((char *)bytes, (unsigned)n);
    int done = uv_try_write((uv_stream_t *)&s->uv, &data, 1);
    return done > 0 ? (size_t)done : 0;
}

void stream_write(stream *s, const void *bytes, size_t n)
{
    size_t done = n ? write_now(s, bytes, n) : 0;
    bytes = (const char *)bytes + done;
    n -= done;
    if (!n)
        return;
    struct write *w = mem_alloc(sizeof *w + n);
    w->s = s;
    memcpy(w->bytes, bytes, n);
    uv_buf_t data = uv_buf_init(w->bytes, (unsigned)n);
    if (uv_write(&w->uv, (uv_stream_t *)&s->uv, &data, 1, written) < 0)
        free(w);
}

size_t stream_queued(const stream *s)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&s->uv);
}

void stream_pause(stream *s, bool paused)
{
    if (s->is_closed_by_peer)
        return;
    if (paused && !s->is_broken)
        uv_read_stop((uv_stream_t *)&s->uv);
    else
        uv_read_start((uv_stream_t *)&s->uv, alloc_room, got_data);
}

static void was_shut_down(uv_shutdown_t *request, int status)
{
    free(request);
}

void stream_shutdown(stream *s)
{
    uv_shutdown_t *request = mem_alloc(sizeof *request);
    if (uv_shutdown(request, (uv_stream_t *)&s->uv, was_shut_down) < 0)
        free(request);
}

void stream_close(stream *s)
{
    if (s)
        loop_close_handle(s);
}

int stream_peer(const stream *s, int *uid, int *pid)
{
    int fd;
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (uv_fileno((const uv_handle_t *)&s->uv, &fd) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
        return -1;
    *uid = (int)credentials.uid;
    *pid = credentials.pid;
    return 0;
}

enum { FULL_MS = 100 };

struct listener {
    loop_poll *poll;
    loop_timer *full; // set while no descriptor is left: tries again
    loop *loop;
    int fd;
    char *path;
    void (*accepted)(void *arg, stream *s);
    void *arg;
};

static void accept_ready(void *arg, int events)
{
    listener *l = arg;
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
        loop_poll_set(l->poll, 0); // clients wait in the queue; polling the listener would only
                                   // spin
        loop_timer_start(l->full, FULL_MS, 0);
    }
    if (fd < 0)
        return;
    stream *s = open_fd(l->loop, fd, NULL);
    if (s)
        l->accepted(l->arg, s);
    else
        close(fd);
}

static void try_again(void *arg)
{
    listener *l = arg;
    loop_poll_set(l->poll, LOOP_READ);
}

// Removes a socket file that a crash left behind, on which nobody listens. A socket that answers
// belongs to another process and stays.
static int remove_stale(const char *path, err *e)
{
    if (access(path, F_OK) < 0)
        return 0;
    int fd = connect_unix(path, NULL);
    if (fd >= 0) {
        close(fd);
        return err_set(e, ERR_EXISTS, "somebody listens on %s already", path);
    }
    unlink(path);
    return 0;
}

static int bind_unix(const char *path, err *e)
{
    struct sockaddr_un address;
    if (unix_address(path, &address, e) < 0 || remove_stale(path, e) < 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_errno(e, errno, "cannot make a socket");
    fchmod(fd, 0600); // bind makes the file with this mode; chmod is for systems that ignore it
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || chmod(path, 0600) < 0 ||
        listen(fd, 64) < 0) {
        int number = errno;
        close(fd);
        return err_errno(e, number, "cannot listen on %s", path);
    }
    return fd;
}

union tcp_address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

static int tcp_address(const char *text, int port, union tcp_address *out, err *e)
{
    *out = (union tcp_address){0};
    if (inet_pton(AF_INET, text, &out->four.sin_addr) == 1) {
        out->four.sin_family = AF_INET;
        out->four.sin_port = htons((uint16_t)port);
        return sizeof out->four;
    }
    if (inet_pton(AF_INET6, text, &out->six.sin6_addr) == 1) {
        out->six.sin6_family = AF_INET6;
        out->six.sin6_port = htons((uint16_t)port);
        return sizeof out->six;
    }
    return err_set(e, ERR_USAGE, "\"%s\" is no address to listen on, as 127.0.0.1 is", text);
}

static int bind_tcp(const char *text, int *port, err *e)
{
    union tcp_address address;
    int size = tcp_address(text, *port, &address, e), one = 1;
    if (size < 0)
        return -1;
    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_errno(e, errno, "cannot make a socket");
    socklen_t n = (socklen_t)size;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, &address.any, n) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, &address.any, &n) < 0) {
        int number = errno;
        close(fd);
        if (number == EADDRINUSE)
            return err_set(e, ERR_EXISTS,
                "port %d of %s is taken: choose another, or 0 for a free one", *port, text);
        return err_errno(e, number, "cannot listen on port %d of %s", *port, text);
    }
    *port = ntohs(address.any.sa_family == AF_INET ? address.four.sin_port : address.six.sin6_port);
    return fd;
}

static listener *listen_on(
    loop *l, int fd, const char *path, void (*accepted)(void *arg, stream *s), void *arg, err *e)
{
    if (fd < 0)
        return NULL;
    listener *listening = mem_alloc(sizeof *listening);
    *listening = (listener){.loop = l, .fd = fd, .accepted = accepted, .arg = arg};
    listening->poll = loop_poll_new(l, fd, accept_ready, listening, e);
    if (!listening->poll) {
        close(fd);
        free(listening);
        return NULL;
    }
    listening->path = mem_strdup(path);
    listening->full = loop_timer_new(l, try_again, listening);
    loop_poll_set(listening->poll, LOOP_READ);
    return listening;
}

listener *listener_open(
    loop *l, const char *path, void (*accepted)(void *arg, stream *s), void *arg, err *e)
{
    return listen_on(l, bind_unix(path, e), path, accepted, arg, e);
}

listener *listener_open_tcp(loop *l, const char *address, int *port,
    void (*accepted)(void *arg, stream *s), void *arg, err *e)
{
    return listen_on(l, bind_tcp(address, port, e), NULL, accepted, arg, e);
}

void listener_close(listener *l)
{
    if (!l)
        return;
    loop_poll_free(l->poll);
    loop_timer_free(l->full);
    close(l->fd);
    if (l->path)
        unlink(l->path);
    free(l->path);
    free(l);
}
