// SPDX-License-Identifier: MIT
#include "script/jupyter/channels.h"

#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <zmq.h>

enum {
    LINGER_MS = 200, // for what was sent last
    SEND_MS = 2000,
    FDS_MOST = 5,
    BIND_TRIES = 20, // of a port that a killed kernel has not given back yet
    BIND_MS = 100,
    SHOWN_MOST = 20000, // messages of ours that wait for a client which does not read
    HEARTBEAT = CHANNELS,
    SOCKETS,
};

static const struct {
    const char *name;
    int number;
} table[CHANNELS] = {
#define X(id, text, number) [CHANNEL_##id] = {text, number},
    CHANNELS_LIST(X)
#undef X
};

struct channels {
    void *context;
    void *sockets[SOCKETS]; // the heartbeat's is NULL on a client's side
    zmq_msg_t *parts;       // of the message that was taken last
    struct wire_frame *frames;
    size_t n;
};

const char *channel_name(enum channel c)
{
    return table[c].name;
}

enum channel channel_of(const char *name)
{
    enum channel c = 0;
    while (c < CHANNELS && !str_eq(channel_name(c), name))
        c++;
    return c;
}

static void drop_parts(channels *c)
{
    for (size_t i = 0; i < c->n; i++)
        zmq_msg_close(&c->parts[i]);
    c->n = 0;
}

void channels_close(channels *c)
{
    if (!c)
        return;
    drop_parts(c);
    for (size_t i = 0; i < SOCKETS; i++)
        if (c->sockets[i])
            zmq_close(c->sockets[i]);
    if (c->context)
        zmq_ctx_term(c->context);
    free(c->parts);
    free(c->frames);
    free(c);
}

static void set_int(void *socket, int option, int value)
{
    zmq_setsockopt(socket, option, &value, sizeof value);
}

// Replies and questions find us by the identity, which is the same on all sockets. What the kernel
// shows is never dropped on our side for want of room: we read at once.
static int connect_one(channels *c, enum channel i, const char *path, const char *identity)
{
    void *s = c->sockets[i] = zmq_socket(c->context, i == CHANNEL_IOPUB ? ZMQ_SUB : ZMQ_DEALER);
    if (!s)
        return -1;
    AUTO_FREE char *address = str_fmt("ipc://%s", path);
    set_int(s, ZMQ_LINGER, LINGER_MS);
    set_int(s, ZMQ_SNDTIMEO, SEND_MS);
    set_int(s, ZMQ_RECONNECT_IVL, 10);
    set_int(s, ZMQ_RCVHWM, 0);
    if (i == CHANNEL_IOPUB)
        zmq_setsockopt(s, ZMQ_SUBSCRIBE, "", 0);
    else
        zmq_setsockopt(s, ZMQ_ROUTING_ID, identity, strlen(identity));
    return zmq_connect(s, address);
}

channels *channels_open(const char *folder, const char *identity, err *e)
{
    channels *c = mem_alloc(sizeof *c);
    *c = (channels){.context = zmq_ctx_new()};
    for (enum channel i = 0; i < CHANNELS; i++) {
        AUTO_FREE char *path = str_fmt("%s/k-%d", folder, table[i].number);
        struct sockaddr_un longest;
        if (strlen(path) >= sizeof longest.sun_path)
            err_set(e, ERR_LIMIT,
                "%s is too long for a socket; a short FIRESTEEL_RUNTIME_DIR helps", path);
        else if (!c->context || connect_one(c, i, path, identity) < 0)
            err_set(e, ERR_FAILED, "cannot connect to %s: %s", path, zmq_strerror(zmq_errno()));
        else
            continue;
        channels_close(c);
        return NULL;
    }
    return c;
}

static int bind_soon(void *socket, const char *address)
{
    int tries = 0;
    while (zmq_bind(socket, address) < 0) {
        if (zmq_errno() != EADDRINUSE || ++tries == BIND_TRIES)
            return -1;
        poll(NULL, 0, BIND_MS);
    }
    return 0;
}

// Clients need the public key that belongs to it.
static int encrypt(void *socket, const char *secret_key)
{
    if (!secret_key)
        return 0;
    set_int(socket, ZMQ_CURVE_SERVER, 1);
    return zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret_key, strlen(secret_key) + 1);
}

// A client that connects anew with the name that it had gets the answers (libzmq's issue 2892).
static int bind_one(channels *c, size_t i, const char *address, const char *secret_key)
{
    void *s = c->sockets[i] = zmq_socket(c->context, i == CHANNEL_IOPUB ? ZMQ_XPUB : ZMQ_ROUTER);
    if (!s)
        return -1;
    set_int(s, ZMQ_LINGER, LINGER_MS);
    set_int(s, ZMQ_SNDTIMEO, SEND_MS);
    set_int(s, ZMQ_RCVHWM, 0);
    set_int(s, ZMQ_IPV6, 1);
    if (i == CHANNEL_IOPUB) {
        set_int(s, ZMQ_SNDHWM, SHOWN_MOST);
        set_int(s, ZMQ_XPUB_VERBOSE, 1); // each client hears that its subscription has come
    } else {
        set_int(s, ZMQ_ROUTER_HANDOVER, 1);
    }
    return encrypt(s, secret_key) < 0 ? -1 : bind_soon(s, address);
}

channels *channels_bind(const struct channels_places *places, err *e)
{
    channels *c = mem_alloc(sizeof *c);
    *c = (channels){.context = zmq_ctx_new()};
    bool files = str_eq(places->transport, "ipc");
    for (size_t i = 0; i < SOCKETS; i++) {
        int number = i == HEARTBEAT ? places->heartbeat : places->numbers[i];
        AUTO_FREE char *address =
            str_fmt("%s://%s%c%d", places->transport, places->ip, files ? '-' : ':', number);
        if (c->context && bind_one(c, i, address, places->secret_key) == 0)
            continue;
        err_set(e, ERR_FAILED, "cannot listen on %s: %s", address, zmq_strerror(zmq_errno()));
        channels_close(c);
        return NULL;
    }
    return c;
}

static int send_one(channels *c, enum channel to, const void *bytes, size_t n, int flags, err *e)
{
    if (zmq_send(c->sockets[to], bytes, n, flags) >= 0)
        return 0;
    return err_set(e, ERR_UNAVAILABLE, "nobody takes anything on the %s channel: %s",
        channel_name(to), zmq_strerror(zmq_errno()));
}

int channels_send(channels *c, enum channel to, const struct wire_frame *before, size_t n,
    char *const frames[WIRE_FRAMES], err *e)
{
    for (size_t i = 0; i < n; i++)
        if (send_one(c, to, before[i].data, before[i].n, ZMQ_SNDMORE, e) < 0)
            return -1;
    for (size_t i = 0; i < WIRE_FRAMES; i++) {
        int flags = i + 1 < WIRE_FRAMES ? ZMQ_SNDMORE : 0;
        if (send_one(c, to, frames[i], strlen(frames[i]), flags, e) < 0)
            return -1;
    }
    return 0;
}

static bool take_part(channels *c, void *socket, bool *more)
{
    c->parts = mem_resize(c->parts, c->n + 1, sizeof *c->parts);
    zmq_msg_t *part = &c->parts[c->n];
    zmq_msg_init(part);
    if (zmq_msg_recv(part, socket, c->n ? 0 : ZMQ_DONTWAIT) < 0) {
        zmq_msg_close(part);
        return false;
    }
    c->n++;
    *more = zmq_msg_more(part);
    return true;
}

static void take_parts(channels *c, void *socket)
{
    bool more = true;
    drop_parts(c);
    while (more)
        if (!take_part(c, socket, &more))
            break;
}

static void answer_heartbeats(channels *c)
{
    for (take_parts(c, c->sockets[HEARTBEAT]); c->n; take_parts(c, c->sockets[HEARTBEAT]))
        for (size_t i = 0; i < c->n; i++)
            zmq_msg_send(&c->parts[i], c->sockets[HEARTBEAT], i + 1 < c->n ? ZMQ_SNDMORE : 0);
}

bool channels_take(channels *c, enum channel from, const struct wire_frame **frames, size_t *n)
{
    take_parts(c, c->sockets[from]);
    c->frames = mem_resize(c->frames, c->n + 1, sizeof *c->frames);
    for (size_t i = 0; i < c->n; i++)
        c->frames[i] = (struct wire_frame){zmq_msg_data(&c->parts[i]), zmq_msg_size(&c->parts[i])};
    *frames = c->frames;
    *n = c->n;
    return c->n > 0;
}

void channels_wait(channels *c, struct pollfd *fds, size_t n, int ms)
{
    zmq_pollitem_t items[SOCKETS + FDS_MOST] = {0};
    size_t at[FDS_MOST], used = 0; // where they are among the items
    for (; used < SOCKETS && c->sockets[used]; used++)
        items[used] = (zmq_pollitem_t){.socket = c->sockets[used], .events = ZMQ_POLLIN};
    for (size_t i = 0; i < n && i < FDS_MOST; i++) {
        at[i] = used;
        short events = fds[i].events & POLLOUT ? ZMQ_POLLIN | ZMQ_POLLOUT : ZMQ_POLLIN;
        items[used] = (zmq_pollitem_t){.fd = fds[i].fd, .events = events};
        used += fds[i].fd >= 0;
    }
    int ready = zmq_poll(items, (int)used, ms);
    if (c->sockets[HEARTBEAT])
        answer_heartbeats(c);
    for (size_t i = 0; i < n && i < FDS_MOST; i++) {
        int seen = ready > 0 && fds[i].fd >= 0 ? items[at[i]].revents : 0;
        fds[i].revents =
            (short)((seen & ~ZMQ_POLLOUT ? POLLIN : 0) | (seen & ZMQ_POLLOUT ? POLLOUT : 0));
    }
}
