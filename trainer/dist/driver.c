// SPDX-License-Identifier: MIT
#include "trainer/dist/driver.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "trainer/dist/launch.h"
#include "trainer/dist/message.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STRANGERS_MAX = 64, LINE_MAX_BYTES = 1 << 16, READ_SIZE = 1 << 16 };
static const int64_t STRANGER_PATIENCE = 10 * CLOCK_SEC; // to prove the secret
static const int64_t END_PATIENCE = 10 * CLOCK_SEC;      // for processes that have finished
static const int64_t CAUSE_PATIENCE = 1 * CLOCK_SEC;     // for mpiexec to tell why a rank is gone

enum peer_state { STRANGER, RANK, EXECUTOR };

struct peer {
    enum peer_state state;
    int fd;
    int64_t deadline; // a stranger's
    uint8_t nonce[NONCE_SIZE];
    buf in;
    int rank;
    buf lines[2]; // of stdout and stderr, not yet complete
    bool done;    // a rank: its result is there
    bool busy;    // an executor: its proxy runs
    char host[64];
};

struct driver {
    struct driver_options options;
    char *secret;
    int listener;
    struct peer **peers;
    size_t n;
    struct run *run; // the job under way
};

struct run {
    const struct job *job;
    struct job_result *result;
    launch launch;
    buf mpiexec; // its stdout before the proxies are known
    buf banner;  // what hydra prints when a process was killed: it knows by what
    bool handed_out;
    int started, finished;
    uint32_t *pids; // of the ranks, where they run
    int lost;       // a rank that went without a word, -1: none
    int64_t lost_at;
    bool failed;
    err why;
};

// --- a rank's place

static const size_t place_fields[] = {offsetof(struct place, rank), offsetof(struct place, size),
    offsetof(struct place, local_rank), offsetof(struct place, local_size),
    offsetof(struct place, cross_rank), offsetof(struct place, cross_size),
    offsetof(struct place, threads)};

void place_put(const struct place *p, char out[PLACE_SIZE])
{
    for (size_t i = 0; i < ARRAY_LEN(place_fields); i++)
        put_u32(out + 4 * i, (uint32_t) * (const int *)((const char *)p + place_fields[i]));
}

int place_get(struct place *p, const void *bytes, size_t n, err *e)
{
    if (n < PLACE_SIZE)
        return err_set(e, ERR_INVALID, "the job's start is cut off");
    for (size_t i = 0; i < ARRAY_LEN(place_fields); i++)
        *(int *)((char *)p + place_fields[i]) = (int)get_u32((const char *)bytes + 4 * i);
    bool fits = p->size > 0 && p->rank >= 0 && p->rank < p->size && p->threads >= 0;
    return fits ? 0 : err_set(e, ERR_INVALID, "rank %d of %d makes no sense", p->rank, p->size);
}

struct place place_of(int rank, int np, int slots, int cores)
{
    slots = slots > 0 ? slots : np;
    int host = rank / slots, hosts = (np + slots - 1) / slots;
    int here = host == hosts - 1 ? np - host * slots : slots;
    int local = rank % slots, threads = cores / here;
    // The last host may have fewer ranks: then it is not among those that have this local rank.
    int last = np - (hosts - 1) * slots;
    return (struct place){
        .rank = rank,
        .size = np,
        .local_rank = local,
        .local_size = here,
        .cross_rank = host,
        .cross_size = local < last ? hosts : hosts - 1,
        .threads = threads > 1 ? threads : 1,
    };
}

// --- peers

static struct peer *peer_add(driver *d, int fd)
{
    struct peer *p = mem_alloc(sizeof *p);
    *p = (struct peer){.fd = fd, .rank = -1, .deadline = clock_mono() + STRANGER_PATIENCE};
    d->peers = mem_resize(d->peers, d->n + 1, sizeof *d->peers);
    d->peers[d->n++] = p;
    return p;
}

static void peer_remove(driver *d, size_t i)
{
    struct peer *p = d->peers[i];
    close(p->fd);
    buf_done(&p->in);
    buf_done(&p->lines[0]);
    buf_done(&p->lines[1]);
    free(p);
    d->peers[i] = d->peers[--d->n];
}

static size_t count(const driver *d, enum peer_state state)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++)
        n += d->peers[i]->state == state;
    return n;
}

static bool any_busy(const driver *d)
{
    for (size_t i = 0; i < d->n; i++) {
        if (d->peers[i]->state == EXECUTOR && d->peers[i]->busy)
            return true;
    }
    return false;
}

static void accept_one(driver *d)
{
    int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (count(d, STRANGER) >= STRANGERS_MAX) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    struct peer *p = peer_add(d, fd);
    peer_challenge(p->nonce);
    if (message_send(fd, MESSAGE_CHALLENGE, p->nonce, NONCE_SIZE, NULL))
        peer_remove(d, d->n - 1);
}

// --- the job under way

static int run_fail(struct run *r, const err *why)
{
    if (!r->failed)
        r->why = *why;
    r->failed = true;
    return -1;
}

#define RUN_FAIL(r, code, ...)                                                                     \
    ({                                                                                             \
        err e_;                                                                                    \
        err_set(&e_, code, __VA_ARGS__);                                                           \
        run_fail(r, &e_);                                                                          \
    })

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
    r->pids[rank] = id->pid;
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
    if (count(d, EXECUTOR) >= (size_t)d->options.executors)
        return err_set(e, ERR_INVALID, "more executors called than are awaited");
    p->state = EXECUTOR;
    return net_host(p->fd, true, p->host, sizeof p->host, e);
}

static void rank_failed(struct run *r, struct peer *p, const message *m)
{
    if (r->failed || r->lost >= 0) // a rank that lost its peer is not the cause
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

// A peer that is gone: a stranger does not matter, a rank may have done its part.
static void peer_gone(driver *d, size_t i, const err *why)
{
    struct peer gone = *d->peers[i];
    struct run *r = d->run;
    if (gone.state == RANK && r)
        show_rest(r, d->peers[i]);
    peer_remove(d, i);
    if (!r || r->failed)
        return;
    if (gone.state == RANK && !gone.done) {
        if (why->code != ERR_UNAVAILABLE)
            RUN_FAIL(r, why->code, "lost rank %d: %s", gone.rank, why->text);
        else if (r->lost < 0) {
            r->lost = gone.rank;
            r->lost_at = clock_mono();
        }
    }
    if (gone.state == EXECUTOR && r->finished < r->job->np)
        RUN_FAIL(r, ERR_UNAVAILABLE,
            "executor %s was lost: its connection has ended. Look at its log, and at what "
            "happened to its pod",
            gone.host);
}

// --- mpiexec's words

static void mpiexec_words(struct run *r, int stream, const char *bytes, size_t got)
{
    const char *banner = stream == 1 ? memmem(bytes, got, "\n========================", 25) : NULL;
    if (stream == 1 && !r->handed_out)
        buf_add(&r->mpiexec, bytes, got);
    else if (banner || (stream == 1 && r->banner.len && r->banner.len < LINE_MAX_BYTES))
        buf_add(&r->banner, bytes, got);
    else if (!r->failed)
        r->job->sink.text(r->job->sink.ctx, stream, bytes, got);
}

// Reads what is there.
static void hear_mpiexec(struct run *r)
{
    char bytes[4096];
    int *fds[] = {&r->launch.out, &r->launch.err};
    for (int i = 0; i < 2; i++) {
        ssize_t got;
        while (*fds[i] >= 0 && (got = read(*fds[i], bytes, sizeof bytes)) > 0)
            mpiexec_words(r, i + 1, bytes, (size_t)got);
        if (*fds[i] >= 0 && got == 0) {
            close(*fds[i]);
            *fds[i] = -1;
        }
    }
}

static void hand_out(driver *d, struct run *r)
{
    err e;
    size_t n = (size_t)d->options.executors;
    buf *proxies = mem_array(n, sizeof *proxies);
    int found = launch_parse_proxies(&r->mpiexec, proxies, n, &e);
    if (found < 0)
        run_fail(r, &e);
    r->handed_out = found != 0;
    size_t next = 0;
    for (size_t i = 0; i < d->n && next < (size_t)(found > 0 ? found : 0); i++) {
        struct peer *p = d->peers[i];
        if (p->state != EXECUTOR)
            continue;
        if (message_send(p->fd, MESSAGE_RUN, proxies[next].data, proxies[next].len, &e))
            run_fail(r, &e);
        p->busy = true;
        next++;
    }
    for (size_t i = 0; i < n; i++)
        buf_done(&proxies[i]);
    free(proxies);
}

static const char *cause(const struct run *r, char *text, size_t size)
{
    static const char word[] = "EXIT STRING: ";
    const char *at = strstr(buf_cstr(&r->banner), word);
    if (at)
        snprintf(text, size, "%.*s", (int)strcspn(at + strlen(word), "\n"), at + strlen(word));
    else
        snprintf(text, size, "mpiexec ended with exit code %d", r->launch.code);
    return text;
}

// Hydra ends all ranks when one has gone; its banner has the process id of that one.
static int first_lost(const struct run *r)
{
    const char *at = strstr(buf_cstr(&r->banner), "PID ");
    uint32_t pid = at ? (uint32_t)strtoul(at + strlen("PID "), NULL, 10) : 0;
    int rank = 0;
    while (rank < r->job->np && r->pids[rank] != pid)
        rank++;
    return rank < r->job->np && pid ? rank : r->lost;
}

// Ranks or mpiexec that went without a word.
static void look_for_losses(driver *d, struct run *r)
{
    char text[128];
    bool ended = launch_ended(&r->launch);
    if (ended)
        hear_mpiexec(r); // its last words
    if (r->failed || r->finished == r->job->np)
        return;
    if (ended && r->lost >= 0)
        r->lost = first_lost(r);
    if (r->lost >= 0 && (ended || clock_mono() > r->lost_at + CAUSE_PATIENCE))
        RUN_FAIL(r, ERR_FAILED, "rank %d ended without a result (%s)", r->lost,
            ended ? cause(r, text, sizeof text) : "its process is gone");
    else if (ended && count(d, RANK) == 0)
        RUN_FAIL(r, ERR_FAILED, "%d of %d ranks have started (%s)", r->started, r->job->np,
            cause(r, text, sizeof text));
}

// --- the loop

static int wait_once(driver *d, int64_t deadline, err *e)
{
    size_t n = d->n, at = 0;
    struct pollfd *fds = mem_array(n + 4, sizeof *fds);
    for (size_t i = 0; i < n; i++)
        fds[at++] = (struct pollfd){.fd = d->peers[i]->fd, .events = POLLIN};
    fds[at++] = (struct pollfd){.fd = d->listener, .events = POLLIN};
    struct run *r = d->run;
    fds[at++] = (struct pollfd){.fd = r ? r->launch.out : -1, .events = POLLIN};
    fds[at++] = (struct pollfd){.fd = r ? r->launch.err : -1, .events = POLLIN};
    fds[at++] = (struct pollfd){.fd = r && r->launch.pid ? r->launch.pidfd : -1, .events = POLLIN};

    // Signals get through only while we wait, so none comes between the look and the wait.
    int64_t left = deadline - clock_mono();
    left = left < 0 ? 0 : left > CLOCK_SEC ? CLOCK_SEC : left;
    struct timespec time = {left / CLOCK_SEC, left % CLOCK_SEC};
    sigset_t before;
    sigprocmask(SIG_BLOCK, d->options.stop_signals, &before);
    bool stop = atomic_load(d->options.stop);
    int ready = stop ? 0 : ppoll(fds, at, &time, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (stop || atomic_load(d->options.stop)) {
        free(fds);
        return err_set(e, ERR_CANCELLED, "interrupted");
    }

    for (size_t i = n; ready > 0 && i-- > 0;) { // backwards: removal moves the last one here
        err why;
        if (fds[i].revents && read_peer(d, d->peers[i], &why))
            peer_gone(d, i, &why);
    }
    if (fds[n].revents)
        accept_one(d);
    if (r)
        hear_mpiexec(r);
    free(fds);
    for (size_t i = d->n; i-- > 0;) {
        if (d->peers[i]->state == STRANGER && clock_mono() > d->peers[i]->deadline)
            peer_remove(d, i);
    }
    return 0;
}

static int late(const char *what, int there, int wanted, int64_t timeout, err *e)
{
    return err_set(e, ERR_TIMEOUT,
        "Timed out waiting for %s to start: %d of %d called within %g s. Please check that you "
        "have enough resources to run all Horovod processes. You may need to increase the "
        "start_timeout parameter (HOROVOD_SPARK_START_TIMEOUT) if your resources are allocated "
        "on-demand.",
        what, there, wanted, (double)timeout / (double)CLOCK_SEC);
}

static int await_executors(driver *d, const struct job *job, int64_t deadline, err *e)
{
    int wanted = d->options.executors;
    while (count(d, EXECUTOR) < (size_t)wanted || any_busy(d)) {
        if (clock_mono() >= deadline)
            return late("executors", (int)count(d, EXECUTOR), wanted, job->start_timeout, e);
        if (wait_once(d, deadline, e))
            return -1;
    }
    return 0;
}

static int start(driver *d, struct run *r, err *e)
{
    char host[64] = "127.0.0.1";
    for (size_t i = 0; i < d->n && d->options.executors; i++) {
        // This host, as an executor sees it.
        if (d->peers[i]->state == EXECUTOR &&
            net_host(d->peers[i]->fd, false, host, sizeof host, e))
            return -1;
    }
    bool v6 = strchr(host, ':');
    AUTO_FREE char *address = str_fmt(
        "FIRESTEEL_DRIVER=%s%s%s:%d", v6 ? "[" : "", host, v6 ? "]" : "", net_port(d->listener));
    AUTO_FREE char *secret = str_fmt("FIRESTEEL_SECRET=%s", d->secret);
    // Pods do not share /dev/shm, and know the secret from their manifest.
    // A rank that is gone is told once, by us, and not by UCX of every other rank.
    const char *const here[] = {
        address, secret, "UCX_HANDLE_ERRORS=none", "UCX_LOG_LEVEL=fatal", NULL};
    const char *const pods[] = {address, "UCX_HANDLE_ERRORS=none", "UCX_LOG_LEVEL=fatal",
        "MPIR_CVAR_NOLOCAL=1", "UCX_TLS=tcp,self", NULL};
    struct launch_spec spec = {
        .mpiexec = d->options.mpiexec,
        .worker = d->options.worker,
        .np = r->job->np,
        .env = d->options.executors ? pods : here,
        .executors = d->options.executors,
        .slots = d->options.slots,
        .localhost = host,
    };
    r->handed_out = !d->options.executors;
    return launch_start(&r->launch, &spec, e);
}

static int run_until_done(driver *d, struct run *r, int64_t deadline, err *e)
{
    while (r->finished < r->job->np && !r->failed) {
        bool waiting = r->started < r->job->np;
        if (waiting && clock_mono() >= deadline)
            return late("ranks", r->started, r->job->np, r->job->start_timeout, e);
        if (wait_once(d, waiting ? deadline : INT64_MAX, e))
            return -1;
        if (!r->handed_out)
            hand_out(d, r);
        look_for_losses(d, r);
    }
    if (r->failed && e)
        *e = r->why;
    return r->failed ? -1 : 0;
}

// Processes that have sent their results end by themselves; the others are told to. Executors have
// ended theirs when they say so.
static void end_processes(driver *d, struct run *r, bool ok)
{
    int64_t deadline = clock_mono() + END_PATIENCE;
    while (ok && !launch_ended(&r->launch) && clock_mono() < deadline) {
        if (wait_once(d, deadline, NULL))
            break;
    }
    r->failed = true; // what still comes is not shown
    for (size_t i = d->n; i-- > 0;) {
        if (d->peers[i]->state != RANK)
            continue;
        message_send(d->peers[i]->fd, MESSAGE_STOP, NULL, 0, NULL);
        peer_remove(d, i);
    }
    launch_close(&r->launch);
    deadline = clock_mono() + END_PATIENCE;
    while (any_busy(d) && clock_mono() < deadline && wait_once(d, deadline, NULL) == 0) {
    }
}

int driver_run(driver *d, const struct job *job, struct job_result *result, err *e)
{
    *result = (struct job_result){.np = job->np, .failed_rank = -1, .exit_code = -1};
    result->results = mem_array((size_t)job->np, sizeof *result->results);
    if (!d->options.mpiexec)
        return err_set(e, ERR_NOT_FOUND,
            "np=%d needs mpiexec (Debian: apt install mpich); np=1 needs nothing", job->np);
    int slots = d->options.executors * d->options.slots;
    if (slots && job->np > slots)
        return err_set(e, ERR_USAGE,
            "Requested more processes (%d) than there are available slots (%d)", job->np, slots);
    if (d->listener < 0 && (d->listener = net_listen("127.0.0.1", 0, e)) < 0)
        return -1;
    int64_t deadline = clock_mono() + job->start_timeout;
    if (await_executors(d, job, deadline, e))
        return -1;
    struct run run = {.job = job, .result = result, .lost = -1, .launch = {.out = -1, .err = -1}};
    run.pids = mem_array((size_t)job->np, sizeof *run.pids);
    d->run = &run;
    int code = start(d, &run, e);
    if (code == 0) {
        code = run_until_done(d, &run, deadline, e);
        end_processes(d, &run, code == 0);
    }
    d->run = NULL;
    buf_done(&run.mpiexec);
    buf_done(&run.banner);
    free(run.pids);
    return code;
}

void job_result_done(struct job_result *r)
{
    for (int i = 0; r->results && i < r->np; i++)
        buf_done(&r->results[i]);
    free(r->results);
    buf_done(&r->failure);
    *r = (struct job_result){0};
}

driver *driver_open(const struct driver_options *options, err *e)
{
    driver *d = mem_alloc(sizeof *d);
    *d = (driver){.options = *options, .listener = -1};
    char random[2 * 32 + 1];
    random_hex(random, 32);
    d->secret = mem_strdup(options->secret ? options->secret : random);
    if (options->executors) {
        d->listener = net_listen(options->bind, options->port, e);
        if (d->listener < 0) {
            driver_close(d);
            return NULL;
        }
    }
    return d;
}

void driver_close(driver *d)
{
    if (!d)
        return;
    // Executors whose call has not been answered yet are told, too.
    int64_t deadline = clock_mono() + CLOCK_SEC / 2;
    while (d->options.executors && clock_mono() < deadline &&
           count(d, EXECUTOR) < (size_t)d->options.executors) {
        if (wait_once(d, deadline, NULL))
            break;
    }
    for (; d->n; peer_remove(d, d->n - 1)) {
        if (d->peers[d->n - 1]->state == EXECUTOR)
            message_send(d->peers[d->n - 1]->fd, MESSAGE_END, NULL, 0, NULL);
    }
    if (d->listener >= 0)
        close(d->listener);
    free(d->peers);
    free(d->secret);
    free(d);
}

int driver_default_np(const driver *d)
{
    return d->options.executors ? d->options.executors * d->options.slots : 1;
}
