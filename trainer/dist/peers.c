// SPDX-License-Identifier: MIT
#include "trainer/dist/peers.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STRANGERS_MAX = 64, LINE_MAX_BYTES = 1 << 16, READ_SIZE = 1 << 16 };
static const int64_t STRANGER_PATIENCE = 10 * CLOCK_SEC; // to prove the secret

static struct peer *peer_add(driver *d, int fd)
{
    struct peer *p = mem_alloc(sizeof *p);
    *p = (struct peer){.fd = fd, .rank = -1, .deadline = clock_mono() + STRANGER_PATIENCE};
    d->peers = mem_resize(d->peers, d->n + 1, sizeof *d->peers);
    d->peers[d->n++] = p;
    return p;
}

void peers_remove(driver *d, size_t i)
{
    struct peer *p = d->peers[i];
    close(p->fd);
    buf_done(&p->in);
    buf_done(&p->lines[0]);
    buf_done(&p->lines[1]);
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
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    struct peer *p = peer_add(d, fd);
    peer_challenge(p->nonce);
    if (message_send(fd, MESSAGE_CHALLENGE, p->nonce, NONCE_SIZE, NULL))
        peers_remove(d, d->n - 1);
}

int run_fail(struct run *r, const err *why)
{
    if (!r->failed)
        r->why = *why;
    r->failed = true;
    return -1;
}

static void show_line(struct run *r, int rank, int stream, const char *line, size_t n)
{
    AUTO_BUF tagged = {0};
    buf_fmt(&tagged, "[1,%d]<%s>:", rank, stream == 1 ? "stdout" : "stderr");
    buf_add(&tagged, line, n);
    buf_char(&tagged, '\n');
    r->job->sink.text(r->job->sink.ctx, stream, tagged.data, tagged.len);
}

// Lines stay whole, so that ranks that print at the same time do not mix.
static void show_text(struct run *r, struct peer *p, int stream, const char *bytes, size_t n)
{
    buf *lines = &p->lines[stream - 1];
    buf_add(lines, bytes, n);
    size_t shown = 0;
    for (const char *end; (end = memchr(lines->data + shown, '\n', lines->len - shown));) {
        size_t length = (size_t)(end - lines->data) - shown;
        show_line(r, p->rank, stream, lines->data + shown, length);
        shown += length + 1;
    }
    buf_consume(lines, shown);
    if (lines->len > LINE_MAX_BYTES) {
        show_line(r, p->rank, stream, lines->data, lines->len);
        buf_clear(lines);
    }
}

static void show_rest(struct run *r, struct peer *p)
{
    for (int stream = 1; stream <= 2; stream++) {
        buf *lines = &p->lines[stream - 1];
        if (lines->len)
            show_line(r, p->rank, stream, lines->data, lines->len);
        buf_clear(lines);
    }
}

static bool rank_is_there(const driver *d, uint32_t rank)
{
    for (size_t i = 0; i < d->n; i++) {
        if (d->peers[i]->state == RANK && d->peers[i]->rank == (int)rank)
            return true;
    }
    return false;
}

// A rank has proved the secret: it gets its place and the function.
static int welcome_rank(driver *d, struct peer *p, const struct peer_id *id, err *e)
{
    struct run *r = d->run;
    uint32_t rank = id->number;
    if (!r || rank >= (uint32_t)r->job->np || rank_is_there(d, rank))
        return err_set(e, ERR_INVALID, "rank %u called, but is not awaited", rank);
    p->rank = (int)rank;
    p->state = RANK;
    struct place place =
        place_of((int)rank, r->job->np, d->options.executors ? d->options.slots : 0,
            d->options.executors ? d->options.slots : d->options.cores);
    buf body = {0};
    buf_reserve(&body, PLACE_SIZE + r->job->function_n);
    place_put(&place, body.data);
    body.len = PLACE_SIZE;
    buf_add(&body, r->job->function, r->job->function_n);
    int result = message_send(p->fd, MESSAGE_JOB, body.data, body.len, e);
    buf_done(&body);
    r->started++;
    return result;
}

static int hear_stranger(driver *d, struct peer *p, const message *m, err *e)
{
    struct peer_id id;
    uint8_t welcome[32];
    if (peer_check(d->secret, p->nonce, m, &id, welcome, e) ||
        message_send(p->fd, MESSAGE_WELCOME, welcome, sizeof welcome, e))
        return -1;
    if (id.role == PEER_RANK)
        return welcome_rank(d, p, &id, e);
    if (peers_count(d, EXECUTOR) >= (size_t)d->options.executors)
        return err_set(e, ERR_INVALID, "more executors called than are awaited");
    p->state = EXECUTOR;
    return net_host(p->fd, true, p->host, sizeof p->host, e);
}

static void rank_failed(struct run *r, struct peer *p, const message *m)
{
    if (r->failed || r->lost.len) // a rank that lost its peer is not the cause
        return;
    r->result->failed_rank = p->rank;
    buf_add(&r->result->failure, m->body, m->n);
    const char *end = memchr(m->body, '\n', m->n);
    int length = (int)(end ? end - m->body : (ptrdiff_t)m->n);
    RUN_FAIL(r, ERR_FAILED, "rank %d failed: %.*s", p->rank, length, m->body);
}

static int hear_rank(struct run *r, struct peer *p, const message *m, err *e)
{
    switch (m->kind) {
    case MESSAGE_STDOUT:
    case MESSAGE_STDERR:
        show_text(r, p, m->kind == MESSAGE_STDOUT ? 1 : 2, m->body, m->n);
        return 0;
    case MESSAGE_EVENT:
        r->job->sink.event(r->job->sink.ctx, p->rank, m->body, m->n);
        return 0;
    case MESSAGE_RESULT:
        show_rest(r, p);
        if (p->done)
            return err_set(e, ERR_INVALID, "rank %d sent a second result", p->rank);
        buf_add(&r->result->results[p->rank], m->body, m->n);
        p->done = true;
        r->finished++;
        return 0;
    case MESSAGE_FAILURE:
        show_rest(r, p);
        rank_failed(r, p, m);
        return 0;
    case MESSAGE_EXIT:
        show_rest(r, p);
        r->result->exit_code = m->n == 4 ? (int)get_u32(m->body) : 1;
        RUN_FAIL(r, ERR_FAILED, "rank %d called os.exit(%d)", p->rank, r->result->exit_code);
        return 0;
    default:
        return err_set(e, ERR_INVALID, "rank %d sent %s, which is not for ranks", p->rank,
            message_name(m->kind));
    }
}

static int hear_executor(struct run *r, struct peer *p, const message *m, err *e)
{
    if (m->kind != MESSAGE_RAN || m->n != 4)
        return err_set(e, ERR_INVALID, "executor %s sent %s, which is not for executors", p->host,
            message_name(m->kind));
    p->busy = false;
    int code = (int)get_u32(m->body);
    if (code && r && r->started < r->job->np)
        RUN_FAIL(r, ERR_FAILED,
            "executor %s could not start its ranks: hydra_pmi_proxy ended with exit code %d",
            p->host, code);
    return 0;
}

static int hear(driver *d, struct peer *p, const message *m, err *e)
{
    switch (p->state) {
    case STRANGER:
        return hear_stranger(d, p, m, e);
    case RANK:
        return hear_rank(d->run, p, m, e);
    default:
        return hear_executor(d->run, p, m, e);
    }
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
    size_t used = 0;
    for (;;) {
        buf rest = {p->in.data + used, p->in.len - used, 0};
        message m;
        int there = message_parse(&rest, &m, e);
        // A stranger's memory is bounded before it has proved anything.
        if (there < 0 || (p->state == STRANGER && rest.len >= 1 && rest.data[0] != MESSAGE_HELLO))
            return err_set(e, ERR_INVALID, "what was sent is not for a driver");
        if (!there)
            break;
        if (hear(d, p, &m, e))
            return -1;
        used += MESSAGE_HEADER + m.n;
    }
    buf_consume(&p->in, used);
    return 0;
}

// Hydra ends all ranks when one has gone, so those that are missed later are not the cause; of
// those that are missed at once nobody knows.
static void rank_lost(driver *d, struct run *r, int rank)
{
    if (r->lost.len && r->lost_look != d->looks)
        return;
    buf_fmt(&r->lost, "%s%d", r->lost.len ? " or " : "", rank);
    r->lost_at = clock_mono();
    r->lost_look = d->looks;
}

// A peer that is gone: a stranger does not matter, a rank may have done its part.
static void peer_gone(driver *d, size_t i, const err *why)
{
    struct peer gone = *d->peers[i];
    struct run *r = d->run;
    if (gone.state == RANK && r)
        show_rest(r, d->peers[i]);
    peers_remove(d, i);
    if (!r || r->failed)
        return;
    if (gone.state == RANK && !gone.done) {
        if (why->code != ERR_UNAVAILABLE)
            RUN_FAIL(r, why->code, "lost rank %d: %s", gone.rank, why->text);
        else
            rank_lost(d, r, gone.rank);
    }
    if (gone.state == EXECUTOR && r->finished < r->job->np)
        RUN_FAIL(r, ERR_UNAVAILABLE,
            "executor %s was lost: its connection has ended. Look at its log, and at what "
            "happened to its pod",
            gone.host);
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
