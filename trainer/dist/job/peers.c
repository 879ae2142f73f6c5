// SPDX-License-Identifier: MIT
#include "trainer/dist/job/peers.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STRANGERS_MAX = 64, READ_SIZE = 1 << 16 };
static const int64_t STRANGER_PATIENCE = 10 * CLOCK_SEC; // the time to prove the secret

static struct peer *peer_add(driver *d, int fd)
{
    struct peer *p = mem_alloc(sizeof *p);
    *p = (struct peer){.fd = fd, .deadline = clock_mono() + STRANGER_PATIENCE};
    d->peers = mem_resize(d->peers, d->n + 1, sizeof *d->peers);
    d->peers[d->n++] = p;
    return p;
}

void peers_remove(driver *d, size_t i)
{
    struct peer *p = d->peers[i];
    close(p->fd);
    buf_done(&p->in);
    buf_done(&p->plain);
    seal_done(&p->seal);
    free(p);
    d->peers[i] = d->peers[--d->n];
}

size_t peers_count(const driver *d, enum peer_state state)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++)
        n += d->peers[i]->state == state;
    return n;
}

bool peers_any_busy(const driver *d)
{
    for (size_t i = 0; i < d->n; i++) {
        if (d->peers[i]->state == EXECUTOR && d->peers[i]->busy)
            return true;
    }
    return false;
}

void peers_accept(driver *d)
{
    int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (peers_count(d, STRANGER) >= STRANGERS_MAX) {
        close(fd);
        return;
    }
    net_tune(fd);
    struct peer *p = peer_add(d, fd);
    peer_challenge(p->nonce);
    if (message_send(fd, MESSAGE_CHALLENGE, p->nonce, NONCE_SIZE, NULL))
        peers_remove(d, d->n - 1);
}

static int hear_stranger(driver *d, struct peer *p, const message *m, err *e)
{
    uint8_t welcome[32];
    if (peer_check(d->secret, p->nonce, m, welcome, &p->seal, e) ||
        message_send(p->fd, MESSAGE_WELCOME, welcome, sizeof welcome, e))
        return -1;
    if (peers_count(d, EXECUTOR) >= (size_t)d->options.executors_most)
        return err_set(e, ERR_INVALID, "more executors called than are awaited");
    p->state = EXECUTOR;
    return net_host(p->fd, true, p->host, sizeof p->host, e);
}

// The rank number at the start of a message; -1 if it is not a rank of this executor.
static int rank_of(const struct run *r, const struct peer *p, const message *m)
{
    uint32_t rank = m->n >= 4 && r ? get_u32(m->body) : UINT32_MAX;
    return r && rank < (uint32_t)r->job->np && r->ranks[rank].host == p ? (int)rank : -1;
}

static int hear_executor(struct run *r, struct peer *p, const message *m, err *e)
{
    int rank = rank_of(r, p, m);
    if (!r && p->busy && (m->kind == MESSAGE_RELAY || m->kind == MESSAGE_GONE))
        return 0; // from a job that was given up; its RAN is still to come
    switch (m->kind) {
    case MESSAGE_RELAY:
        if (rank < 0 || m->n < RELAY_HEADER || (uint8_t)m->body[4] >= CHANNELS)
            break;
        ranks_hear(r, rank, (enum channel)m->body[4], m->body + RELAY_HEADER, m->n - RELAY_HEADER);
        return 0;
    case MESSAGE_GONE:
        if (rank < 0 || m->n != 8)
            break;
        ranks_gone(r, rank, (int)get_u32(m->body + 4));
        return 0;
    case MESSAGE_RAN:
        p->busy = false;
        return 0;
    case MESSAGE_REFUSED:
        p->busy = false;
        if (r)
            RUN_FAIL(r, ERR_FAILED, "executor %s could not start its ranks: %.*s", p->host,
                (int)m->n, m->body);
        return 0;
    default:
        break;
    }
    return err_set(e, ERR_INVALID, "executor %s sent a %s that makes no sense", p->host,
        message_name(m->kind));
}

static int hear(driver *d, struct peer *p, const message *m, err *e)
{
    return p->state == STRANGER ? hear_stranger(d, p, m, e) : hear_executor(d->run, p, m, e);
}

// Takes the messages at the start of `in`. A stranger that proves the secret becomes an executor:
// later bytes are sealed.
static int read_messages(driver *d, struct peer *p, buf *in, err *e)
{
    enum peer_state before = p->state;
    size_t used = 0;
    while (p->state == before) {
        buf rest = {in->data + used, in->len - used, 0};
        message m;
        int there = message_parse(&rest, &m, e);
        // A stranger may only send HELLO: that bounds its memory before it has proved anything.
        if (there < 0 || (p->state == STRANGER && rest.len >= 1 && rest.data[0] != MESSAGE_HELLO))
            return err_set(e, ERR_INVALID, "what was sent is not for a driver");
        if (!there)
            break;
        if (hear(d, p, &m, e))
            return -1;
        used += MESSAGE_HEADER + m.n;
    }
    buf_consume(in, used);
    return 0;
}

static int send_sealed(struct peer *p, const buf *plain, err *e)
{
    AUTO_BUF sealed = {0};
    seal_put(&p->seal, plain->data, plain->len, &sealed);
    return message_send_bytes(p->fd, sealed.data, sealed.len, e);
}

int peer_send(struct peer *p, message_kind kind, const void *body, size_t n, err *e)
{
    AUTO_BUF plain = {0};
    message_put(&plain, kind, body, n);
    return send_sealed(p, &plain, e);
}

int peer_relay(struct peer *p, int rank, enum channel channel, const void *bytes, size_t n, err *e)
{
    AUTO_BUF plain = {0};
    message_put_relay(&plain, rank, (int)channel, bytes, n);
    return send_sealed(p, &plain, e);
}

static int read_peer(driver *d, struct peer *p, err *e)
{
    buf_reserve(&p->in, READ_SIZE);
    ssize_t got = recv(p->fd, p->in.data + p->in.len, READ_SIZE, MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : err_errno(e, errno, "cannot read");
    if (got == 0)
        return err_set(e, ERR_UNAVAILABLE, "closed");
    p->in.len += (size_t)got;
    if (p->state == STRANGER && read_messages(d, p, &p->in, e))
        return -1;
    if (p->state == STRANGER)
        return 0;
    return seal_take(&p->seal, &p->in, &p->plain, e) || read_messages(d, p, &p->plain, e) ? -1 : 0;
}

// The executor's ranks are gone with it.
static void executor_gone(struct run *r, const struct peer *p, const err *why)
{
    bool mattered = false;
    for (int i = 0; i < r->job->np; i++) {
        struct rank *k = &r->ranks[i];
        if (k->host != p)
            continue;
        mattered |= !k->done;
        r->gone += !k->gone;
        k->gone = true;
        k->host = NULL;
    }
    err lost;
    err_set(&lost, ERR_UNAVAILABLE,
        "executor %s was lost: its connection has ended. Look at its log, and at what happened to "
        "its pod",
        p->host);
    if (mattered && why->code == ERR_UNAVAILABLE)
        run_lose(r, -1, &lost);
    else if (mattered)
        run_fail(r, why);
}

// A peer has disconnected. If it was a stranger, that does not matter; if an executor, it may have
// finished its part.
static void peer_gone(driver *d, size_t i, const err *why)
{
    const struct peer *p = d->peers[i];
    if (p->state == EXECUTOR && d->run)
        executor_gone(d->run, p, why);
    peers_remove(d, i);
}

void peers_read(driver *d, size_t i)
{
    err why;
    if (read_peer(d, d->peers[i], &why))
        peer_gone(d, i, &why);
}

void peers_drop_late(driver *d)
{
    for (size_t i = d->n; i-- > 0;) {
        if (d->peers[i]->state == STRANGER && clock_mono() > d->peers[i]->deadline)
            peers_remove(d, i);
    }
}
