// SPDX-License-Identifier: MIT
#include "trainer/dist/driver.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "trainer/dist/peers.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BANNER_MAX = 1 << 14 };
static const int64_t END_PATIENCE = 5 * CLOCK_SEC;   // for processes that have finished
static const int64_t CAUSE_PATIENCE = 1 * CLOCK_SEC; // for mpiexec to tell why a rank is gone

static void mpiexec_words(struct run *r, int stream, const char *bytes, size_t got)
{
    const char *banner = stream == 1 ? memmem(bytes, got, "\n========================", 25) : NULL;
    if (stream == 1 && !r->handed_out)
        buf_add(&r->mpiexec, bytes, got);
    else if (banner || (stream == 1 && r->banner.len && r->banner.len < BANNER_MAX))
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
        ssize_t got = -1;
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

// Ranks or mpiexec that went without a word.
static void look_for_losses(driver *d, struct run *r)
{
    char text[128];
    bool ended = launch_ended(&r->launch);
    if (ended)
        hear_mpiexec(r); // its last words
    if (r->failed || r->finished == r->job->np)
        return;
    if (r->lost.len && (ended || clock_mono() > r->lost_at + CAUSE_PATIENCE))
        RUN_FAIL(r, ERR_FAILED, "rank %s ended without a result (%s)", r->lost.data,
            ended ? cause(r, text, sizeof text) : "its process is gone");
    else if (ended && peers_count(d, RANK) == 0)
        RUN_FAIL(r, ERR_FAILED, "%d of %d ranks have started (%s)", r->started, r->job->np,
            cause(r, text, sizeof text));
}

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

    d->looks++;
    for (size_t i = n; ready > 0 && i-- > 0;) { // backwards: removal moves the last one here
        if (fds[i].revents)
            peers_read(d, i);
    }
    if (fds[n].revents)
        peers_accept(d);
    if (r)
        hear_mpiexec(r);
    free(fds);
    peers_drop_late(d);
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
    while (peers_count(d, EXECUTOR) < (size_t)wanted || peers_any_busy(d)) {
        if (clock_mono() >= deadline)
            return late("executors", (int)peers_count(d, EXECUTOR), wanted, job->start_timeout, e);
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
    // Over TCP a rendezvous costs more than the copy it saves, and two ranks need one exchange.
    const char *const here[] = {
        address, secret, "UCX_HANDLE_ERRORS=none", "UCX_LOG_LEVEL=fatal", NULL};
    const char *const pods[] = {address, "UCX_HANDLE_ERRORS=none", "UCX_LOG_LEVEL=fatal",
        "MPIR_CVAR_NOLOCAL=1", "UCX_TLS=tcp,self", "UCX_RNDV_THRESH=inf",
        r->job->np == 2 ? "MPIR_CVAR_IALLREDUCE_INTRA_ALGORITHM=sched_recursive_doubling" : NULL,
        NULL};
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

// All ranks end now: either every result is there, or none matters any more. Launchers and proxies
// follow by themselves, and what does not is ended.
static void end_processes(driver *d, struct run *r)
{
    r->failed = true; // what still comes is not shown
    for (size_t i = 0; i < d->n; i++) {
        if (d->peers[i]->state == RANK)
            message_send(d->peers[i]->fd, MESSAGE_STOP, NULL, 0, NULL);
    }
    int64_t deadline = clock_mono() + END_PATIENCE;
    while (
        !launch_ended(&r->launch) && clock_mono() < deadline && wait_once(d, deadline, NULL) == 0) {
    }
    for (size_t i = d->n; i-- > 0;) {
        if (d->peers[i]->state == RANK)
            peers_remove(d, i);
    }
    launch_close(&r->launch);
    deadline = clock_mono() + END_PATIENCE;
    while (peers_any_busy(d) && clock_mono() < deadline && wait_once(d, deadline, NULL) == 0) {
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
    struct run run = {.job = job, .result = result, .launch = {.out = -1, .err = -1}};
    d->run = &run;
    int code = start(d, &run, e);
    if (code == 0) {
        code = run_until_done(d, &run, deadline, e);
        end_processes(d, &run);
    }
    d->run = NULL;
    buf_done(&run.mpiexec);
    buf_done(&run.banner);
    buf_done(&run.lost);
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
           peers_count(d, EXECUTOR) < (size_t)d->options.executors) {
        if (wait_once(d, deadline, NULL))
            break;
    }
    for (; d->n; peers_remove(d, d->n - 1)) {
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
