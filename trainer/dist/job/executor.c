// SPDX-License-Identifier: MIT
#include "trainer/dist/job/executor.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "trainer/dist/job/launch.h"
#include "trainer/dist/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// While more than QUEUE_MOST bytes wait for the driver, nothing is read from the ranks.
enum {
    RETRY_MS = 100,
    LOOK_MS = 200,
    READ_SIZE = 1 << 16,
    QUEUE_MOST = 1 << 20,
    RANKS_MOST = 4096
};

// Everything to be sent waits in a queue, so that neither side blocks until the other reads.
struct executor {
    const struct executor_options *options;
    int fd;
    seal seal;
    buf arrived, sealed; // from and to the driver, as transported
    buf in, out;         // the messages in them
    launch launch;       // empty when there is no job
    buf (*queues)[2];    // for each rank: to its link, to its PMI
    bool ended;          // the driver has no more work
};

// The driver's pod may start later than this one: until then its name is unknown, or its port
// closed.
static int call_driver(const struct executor_options *o, seal *s, err *e)
{
    ERR_GUARD(e);
    int64_t deadline = clock_mono() + o->start_timeout;
    for (;;) {
        int fd = net_dial(o->driver, e);
        if (fd >= 0 && peer_introduce(fd, o->secret, deadline, s, e) == 0)
            return fd;
        bool wrong_secret = fd >= 0 && e->code == ERR_UNAUTHORIZED;
        if (fd >= 0)
            close(fd);
        if (atomic_load(o->stop))
            return err_set(e, ERR_CANCELLED, "interrupted");
        if (wrong_secret || e->code == ERR_USAGE)
            return -1;
        if (clock_mono() > deadline) {
            err_wrap(e, "Timed out waiting for the driver to start: no answer within %g s",
                (double)o->start_timeout / (double)CLOCK_SEC);
            e->code = ERR_TIMEOUT;
            return -1;
        }
        nanosleep(&(struct timespec){.tv_nsec = RETRY_MS * 1000 * 1000}, NULL);
    }
}

static void pass_bytes(void *ctx, int rank, enum channel channel, const char *bytes, size_t n)
{
    struct executor *x = ctx;
    message_put_relay(&x->out, rank, (int)channel, bytes, n);
}

static void pass_end(void *ctx, int rank, int status)
{
    struct executor *x = ctx;
    uint8_t body[8];
    put_u32(body, (uint32_t)rank);
    put_u32(body + 4, (uint32_t)status);
    message_put(&x->out, MESSAGE_GONE, body, sizeof body);
}

// Kills the remaining ranks, and everything that they have started.
static void end_job(struct executor *x)
{
    for (int i = 0; i < x->launch.n; i++) {
        buf_done(&x->queues[i][0]);
        buf_done(&x->queues[i][1]);
    }
    free(x->queues);
    x->queues = NULL;
    launch_close(&x->launch);
}

static int refuse(struct executor *x, const err *why)
{
    message_put(&x->out, MESSAGE_REFUSED, why->text, strlen(why->text));
    return 0;
}

// Takes RUN's body. A buf has a NUL behind it, which ends the last string.
static int start_job(struct executor *x, const message *m, err *e)
{
    struct launch_spec spec = {.worker = x->options->worker};
    if (m->n < 12 || m->body[m->n - 1] || x->launch.n)
        return err_set(e, ERR_INVALID, "the driver sent a job that makes no sense");
    uint32_t size = get_u32(m->body), first = get_u32(m->body + 4), n = get_u32(m->body + 8);
    if (n < 1 || n > RANKS_MOST || size > RANKS_MOST || first > size || n > size - first)
        return err_set(e, ERR_INVALID, "the driver sent ranks that make no sense");
    spec.size = (int)size;
    spec.first = (int)first;
    spec.n = (int)n;
    char **settings = strv_dup((const char *const[]){NULL});
    for (const char *at = m->body + 12; at < m->body + m->n; at += strlen(at) + 1)
        settings = strv_add(settings, at);
    spec.settings = (const char *const *)settings;
    err why;
    int result = launch_start(&x->launch, &spec, &why);
    strv_free(settings);
    if (result)
        return refuse(x, &why);
    x->queues = mem_array(n, sizeof *x->queues);
    return 0;
}

static int pass_to_rank(struct executor *x, const message *m, err *e)
{
    uint32_t rank = m->n >= RELAY_HEADER ? get_u32(m->body) : 0;
    uint8_t channel = m->n >= RELAY_HEADER ? (uint8_t)m->body[4] : CHANNELS;
    uint32_t i = rank - (uint32_t)x->launch.first;
    if (channel > CHANNEL_PMI)
        return err_set(e, ERR_INVALID, "the driver sent what is not for a rank");
    if (i < (uint32_t)x->launch.n) // otherwise the job is over
        buf_add(&x->queues[i][channel], m->body + RELAY_HEADER, m->n - RELAY_HEADER);
    return 0;
}

static int obey(struct executor *x, const message *m, err *e)
{
    switch (m->kind) {
    case MESSAGE_RUN:
        return start_job(x, m, e);
    case MESSAGE_RELAY:
        return pass_to_rank(x, m, e);
    case MESSAGE_KILL:
        if (x->launch.n) {
            end_job(x);
            message_put(&x->out, MESSAGE_RAN, NULL, 0);
        }
        return 0;
    case MESSAGE_END:
        x->ended = true;
        return 0;
    default:
        return err_set(e, ERR_INVALID, "the driver sent %s, which is not for executors",
            message_name(m->kind));
    }
}

static int hear_driver(struct executor *x, err *e)
{
    buf_reserve(&x->arrived, READ_SIZE);
    ssize_t got = recv(x->fd, x->arrived.data + x->arrived.len, READ_SIZE, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got < 0)
        return err_errno(e, errno, "cannot read");
    if (got == 0)
        return err_set(e, ERR_UNAVAILABLE, "it has closed the connection");
    x->arrived.len += (size_t)got;
    if (seal_take(&x->seal, &x->arrived, &x->in, e))
        return -1;
    message m;
    int there;
    while ((there = message_parse(&x->in, &m, e)) == 1 && !x->ended) {
        if (obey(x, &m, e))
            return -1;
        buf_consume(&x->in, MESSAGE_HEADER + m.n);
    }
    return there < 0 ? -1 : 0;
}

// Sends as much of a queue as possible without blocking. A rank that no longer reads is about to
// end.
static int drain(int fd, buf *queue, err *e)
{
    while (fd >= 0 && queue->len) {
        ssize_t sent = send(fd, queue->data, queue->len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN ? 0 : err_errno(e, errno, "cannot send");
        buf_consume(queue, (size_t)sent);
    }
    return 0;
}

static void drain_to_ranks(struct executor *x)
{
    for (int i = 0; i < x->launch.n; i++) {
        for (int c = CHANNEL_LINK; c <= CHANNEL_PMI; c++) {
            if (drain(x->launch.ranks[i].fds[c], &x->queues[i][c], NULL))
                buf_clear(&x->queues[i][c]);
        }
    }
}

static void add_writes(const struct executor *x, struct pollfd *fds)
{
    fds[0].events |= x->sealed.len ? POLLOUT : 0;
    for (int i = 0; i < x->launch.n; i++) {
        for (int c = CHANNEL_LINK; c <= CHANNEL_PMI; c++) {
            struct pollfd *p = &fds[1 + i * LAUNCH_POLLS + c];
            if (x->queues[i][c].len)
                *p = (struct pollfd){.fd = x->launch.ranks[i].fds[c],
                    .events = (short)(POLLOUT | (p->fd >= 0 ? POLLIN : 0))};
        }
    }
}

static int serve_once(struct executor *x, err *e)
{
    size_t n = 1 + (size_t)x->launch.n * LAUNCH_POLLS;
    struct pollfd *fds = mem_array(n, sizeof *fds);
    fds[0] = (struct pollfd){.fd = x->fd, .events = POLLIN};
    launch_polls(&x->launch, x->sealed.len > QUEUE_MOST, fds + 1);
    add_writes(x, fds);
    if (poll(fds, n, LOOK_MS) <= 0)
        memset(fds, 0, n * sizeof *fds);
    if (x->launch.n)
        launch_hear(&x->launch, fds + 1, &(struct launch_sink){x, pass_bytes, pass_end});
    if (x->launch.n && !launch_any_left(&x->launch)) {
        end_job(x);
        message_put(&x->out, MESSAGE_RAN, NULL, 0);
    }
    int result = fds[0].revents & ~POLLOUT ? hear_driver(x, e) : 0;
    free(fds);
    if (result)
        return -1;
    drain_to_ranks(x);
    seal_put(&x->seal, x->out.data, x->out.len, &x->sealed);
    buf_clear(&x->out);
    return drain(x->fd, &x->sealed, e);
}

int executor_run(const struct executor_options *o, err *e)
{
    ERR_GUARD(e);
    struct executor x = {.options = o};
    x.fd = call_driver(o, &x.seal, e);
    if (x.fd < 0)
        return -1;
    int result = 0;
    while (result == 0 && !x.ended) {
        result =
            atomic_load(o->stop) ? err_set(e, ERR_CANCELLED, "interrupted") : serve_once(&x, e);
    }
    if (result && e->code != ERR_CANCELLED)
        err_wrap(e, "lost the driver %s", o->driver);
    end_job(&x);
    buf *all[] = {&x.arrived, &x.sealed, &x.in, &x.out};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        buf_done(all[i]);
    seal_done(&x.seal);
    close(x.fd);
    return result;
}
