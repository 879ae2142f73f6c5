// SPDX-License-Identifier: MIT
#include "trainer/dist/job/driver.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "trainer/dist/job/peers.h"
#include "trainer/dist/shared.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

static const int64_t END_PATIENCE = 5 * CLOCK_SEC; // the wait for processes that have finished
static const int64_t LOOK = CLOCK_SEC / 5;         // between checks for events that do not wake us

static void hear_bytes(void *ctx, int rank, enum channel channel, const char *bytes, size_t n)
{
    ranks_hear(ctx, rank, channel, bytes, n);
}

static void hear_gone(void *ctx, int rank, int status)
{
    ranks_gone(ctx, rank, status);
}

// Signals are delivered only while we wait, so none is lost between the check and the wait.
static int wait_for_any(driver *d, struct pollfd *fds, size_t n, int64_t deadline, err *e)
{
    int64_t left = deadline - clock_mono();
    left = left < 0 ? 0 : left > LOOK ? LOOK : left;
    struct timespec time = {left / CLOCK_SEC, left % CLOCK_SEC};
    sigset_t before;
    sigprocmask(SIG_BLOCK, d->options.stop_signals, &before);
    bool stop = atomic_load(d->options.stop);
    int ready = stop ? 0 : ppoll(fds, n, &time, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    for (size_t i = 0; i < n && ready <= 0; i++)
        fds[i].revents = 0;
    return stop || atomic_load(d->options.stop) ? err_set(e, ERR_CANCELLED, "interrupted") : 0;
}

static int wait_once(driver *d, int64_t deadline, err *e)
{
    struct run *r = d->run;
    size_t n = d->n, here = r ? (size_t)r->launch.n * LAUNCH_POLLS : 0;
    struct pollfd *fds = mem_array(n + 1 + here, sizeof *fds);
    for (size_t i = 0; i < n; i++)
        fds[i] = (struct pollfd){.fd = d->peers[i]->fd, .events = POLLIN};
    fds[n] = (struct pollfd){.fd = d->listener, .events = POLLIN};
    if (r)
        launch_polls(&r->launch, false, fds + n + 1);
    int result = wait_for_any(d, fds, n + 1 + here, deadline, e);
    for (size_t i = n; result == 0 && i-- > 0;) { // backwards: a removal moves the last one here
        if (fds[i].revents)
            peers_read(d, i);
    }
    if (result == 0 && fds[n].revents)
        peers_accept(d);
    if (result == 0 && r)
        launch_hear(&r->launch, fds + n + 1, &(struct launch_sink){r, hear_bytes, hear_gone});
    free(fds);
    peers_drop_late(d);
    return result;
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

// The driver reports the loss of a rank once; UCX in every other rank must not repeat it.
#define QUIET "UCX_HANDLE_ERRORS=none", "UCX_LOG_LEVEL=fatal"

// On one machine ranks share memory (MPICH's own for messages, and UCX's where it wants some), and
// nothing listens. Both remove the names of their files as soon as all ranks have opened them. With
// adaptive progress, a thread of UCX would wait on a socket of the interface until its first
// message. mpi.c replaces that socket; if the thread was late, it met the new one, and UCX called
// abort() without a message. Without adaptive progress the thread has nothing to wait for.
static const char *const here[] = {QUIET, "UCX_TLS=posix,self", "UCX_ADAPTIVE_PROGRESS=n",
    "MPIR_CVAR_NOLOCAL=0", "UCX_VFS_ENABLE=n", NULL};

// Pods do not share memory. Over TCP a rendezvous costs more than the copy that it saves, and one
// exchange is enough for two ranks.
#define PODS                                                                                       \
    QUIET, "UCX_TLS=tcp,self", "MPIR_CVAR_NOLOCAL=1", "UCX_VFS_ENABLE=n", "UCX_RNDV_THRESH=inf"

static bool is_loopback(const char *host)
{
    return str_starts(host, "127.") || str_eq(host, "::1") || str_starts(host, "::ffff:127.");
}

// MPI's settings for ranks on executors.
static char **pod_settings(const driver *d, const struct run *r)
{
    static const char *const always[] = {PODS, NULL};
    bool loopback = true;
    for (size_t i = 0; i < d->n; i++)
        loopback &= d->peers[i]->state != EXECUTOR || is_loopback(d->peers[i]->host);
    char **settings = strv_dup(always);
    if (r->job->np == 2)
        settings =
            strv_add(settings, "MPIR_CVAR_IALLREDUCE_INTRA_ALGORITHM=sched_recursive_doubling");
    if (loopback) // pods on one machine: nothing listens beyond it
        settings = strv_add(settings, "UCX_NET_DEVICES=lo");
    return settings;
}

static int run_on(struct run *r, struct peer *p, int first, int n, char *const *settings, err *e)
{
    char numbers[12];
    AUTO_BUF body = {0};
    put_u32(numbers, (uint32_t)r->job->np);
    put_u32(numbers + 4, (uint32_t)first);
    put_u32(numbers + 8, (uint32_t)n);
    buf_add(&body, numbers, sizeof numbers);
    for (size_t i = 0; settings[i]; i++)
        buf_add(&body, settings[i], strlen(settings[i]) + 1);
    for (int i = first; i < first + n; i++)
        r->ranks[i].host = p;
    p->busy = true;
    return peer_send(p, MESSAGE_RUN, body.data, body.len, e);
}

static bool is_ready(const struct peer *p, int64_t now)
{
    return p->state == EXECUTOR && now >= p->cooldown.until;
}

int driver_places(const driver *d, const struct elastic *x)
{
    int64_t now = clock_mono();
    int n = 0;
    for (size_t i = 0; i < d->n; i++)
        n += is_ready(d->peers[i], now) ? d->options.slots : 0;
    n = d->options.executors ? n : elastic_places(x, now);
    return n < x->options.max_np ? n : x->options.max_np;
}

static int start_on_executors(driver *d, struct run *r, err *e)
{
    char **settings = pod_settings(d, r);
    int next = 0, np = r->job->np, slots = d->options.slots, result = 0;
    for (size_t i = 0; i < d->n && next < np && result == 0; i++) {
        if (!is_ready(d->peers[i], clock_mono()))
            continue;
        int n = np - next < slots ? np - next : slots;
        result = run_on(r, d->peers[i], next, n, settings, e);
        next += n;
    }
    strv_free(settings);
    return result;
}

// The ranks keep the memory; nobody else has it.
static int start_here(const driver *d, struct run *r, err *e)
{
    err why;
    int np = r->job->np, memory = -1;
    r->shares = np > 1 && !d->options.mpi && !r->elastic;
    if (r->shares && (memory = shared_make(np, &why)) < 0)
        ranks_share_not(r, why.text);
    struct launch_spec spec = {.worker = d->options.worker,
        .size = np,
        .n = np,
        .settings = here,
        .shared = memory > 0 ? memory : 0};
    int result = launch_start(&r->launch, &spec, e);
    if (memory >= 0)
        close(memory);
    return result;
}

static int start(driver *d, struct run *r, err *e)
{
    if (d->options.executors)
        return start_on_executors(d, r, e);
    return start_here(d, r, e);
}

static int run_until_done(driver *d, struct run *r, int64_t deadline, err *e)
{
    while (r->finished + r->reset < r->job->np && !r->failed) {
        bool waiting = r->started < r->job->np;
        if (waiting && clock_mono() >= deadline)
            return late("ranks", r->ready, r->job->np, r->job->start_timeout, e);
        if (wait_once(d, waiting ? deadline : INT64_MAX, e))
            return -1;
        ranks_look(r);
    }
    if (r->failed)
        err_give(e, &r->why);
    return r->failed ? -1 : 0;
}

static void kill_on_executors(driver *d)
{
    for (size_t i = 0; i < d->n; i++) {
        if (d->peers[i]->state == EXECUTOR && d->peers[i]->busy)
            peer_send(d->peers[i], MESSAGE_KILL, NULL, 0, NULL);
    }
}

// Waits, within the allowed time, until all ranks have ended.
static void await_end(driver *d, struct run *r)
{
    int64_t deadline = clock_mono() + END_PATIENCE;
    while ((r->gone < r->job->np || peers_any_busy(d)) && clock_mono() < deadline &&
           wait_once(d, deadline, NULL) == 0) {
    }
}

// Ends all ranks: if every result is there, they end by themselves; else they are killed at once.
static void end_processes(driver *d, struct run *r, bool all_is_well)
{
    if (all_is_well) {
        ranks_stop(r);
        await_end(d, r);
        ranks_show_rest(r);
    }
    r->failed = true; // later output is not shown
    launch_close(&r->launch);
    if (peers_any_busy(d)) {
        kill_on_executors(d);
        int64_t deadline = clock_mono() + END_PATIENCE;
        while (peers_any_busy(d) && clock_mono() < deadline && wait_once(d, deadline, NULL) == 0) {
        }
    }
}

// How a generation of an elastic job ended.
enum ending { ENDED, LOST, NEWCOMERS };

// Runs the ranks once; *ending says whether the job may continue.
static int run_ranks(driver *d, const struct job *job, struct elastic *x, int64_t deadline,
    struct job_result *result, enum ending *ending, err *e)
{
    struct run run = {.job = job,
        .result = result,
        .options = &d->options,
        .driver = d,
        .elastic = x,
        .lost_rank = -1};
    *result = (struct job_result){.np = job->np, .failed_rank = -1, .exit_code = -1};
    result->results = mem_array((size_t)job->np, sizeof *result->results);
    ranks_init(&run);
    d->run = &run;
    int code = start(d, &run, e);
    if (code == 0)
        code = run_until_done(d, &run, deadline, e);
    struct peer *host = run.lost_rank >= 0 ? run.ranks[run.lost_rank].host : NULL;
    *ending = code == 0 && run.reset ? NEWCOMERS : code && run.lost ? LOST : ENDED;
    if (x && run.lost_rank >= 0 && host)
        cooldown_begin(&host->cooldown, &x->options, clock_mono());
    else if (x && run.lost_rank >= 0)
        elastic_lose(x, clock_mono());
    end_processes(d, &run, code == 0);
    d->run = NULL;
    ranks_done(&run);
    return code;
}

// An executor that does not even end its ranks is lost, too.
static void drop_busy(driver *d)
{
    for (size_t i = d->n; i-- > 0;) {
        if (d->peers[i]->state == EXECUTOR && d->peers[i]->busy)
            peers_remove(d, i);
    }
}

// The number of ranks of the next generation; -1 with e. why: what ended the one before.
static int await_places(driver *d, const struct elastic *x, const err *why, err *e)
{
    int64_t deadline = clock_mono() + x->options.timeout;
    for (int there; (there = driver_places(d, x)) < x->options.min_np;) {
        if (clock_mono() >= deadline)
            return err_set(e, ERR_TIMEOUT,
                "elastic training needs %d ranks (min_np), and %d can run: no more came within "
                "%g s (elastic_timeout), after %s",
                x->options.min_np, there, (double)x->options.timeout / (double)CLOCK_SEC,
                why->text);
        if (wait_once(d, deadline, e))
            return -1;
    }
    return driver_places(d, x);
}

static void tell(const struct job *job, const struct elastic *x, const err *why)
{
    AUTO_BUF line = {0};
    buf_fmt(&line, "firesteel-worker: %s; ", why ? why->text : "newcomers join");
    buf_fmt(&line, "training goes on with %d rank%s ", job->np, job->np == 1 ? "" : "s");
    if (x->commits)
        buf_fmt(&line, "from commit %lld\n", (long long)x->commits);
    else
        buf_str(&line, "from the start: nothing was committed\n");
    job->sink.text(job->sink.ctx, 2, line.data, line.len);
}

static int run_generations(
    driver *d, const struct job *job, int64_t deadline, struct job_result *result, err *e)
{
    struct elastic x;
    struct job now = *job;
    enum ending ending;
    err why;
    elastic_init(&x, job->elastic, job->np);
    int code = run_ranks(d, &now, &x, deadline, result, &ending, &why);
    while (ending != ENDED) {
        const err *loss = ending == LOST ? &why : NULL;
        job_result_done(result);
        *result = (struct job_result){.failed_rank = -1, .exit_code = -1};
        drop_busy(d);
        code = -1;
        if (elastic_next(&x, loss, e) || (now.np = await_places(d, &x, loss, e)) < 0)
            break;
        tell(&now, &x, loss);
        deadline = clock_mono() + job->start_timeout;
        code = run_ranks(d, &now, &x, deadline, result, &ending, &why);
    }
    if (code && ending == ENDED)
        err_give(e, &why);
    elastic_done(&x);
    return code;
}

int driver_run(driver *d, const struct job *job, struct job_result *result, err *e)
{
    *result = (struct job_result){.np = 0, .failed_rank = -1, .exit_code = -1};
    int slots = d->options.executors * d->options.slots;
    if (slots && job->np > slots)
        return err_set(e, ERR_USAGE,
            "Requested more processes (%d) than there are available slots (%d)", job->np, slots);
    int64_t deadline = clock_mono() + job->start_timeout;
    if (await_executors(d, job, deadline, e))
        return -1;
    enum ending ending;
    return job->elastic ? run_generations(d, job, deadline, result, e)
                        : run_ranks(d, job, NULL, deadline, result, &ending, e);
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
    d->secret = mem_strdup(options->secret);
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
    // Some executors have connected, but were not answered yet: they must get the END, too.
    int64_t deadline = clock_mono() + CLOCK_SEC / 2;
    while (d->options.executors && clock_mono() < deadline &&
           peers_count(d, EXECUTOR) < (size_t)d->options.executors) {
        if (wait_once(d, deadline, NULL))
            break;
    }
    for (; d->n; peers_remove(d, d->n - 1)) {
        if (d->peers[d->n - 1]->state == EXECUTOR)
            peer_send(d->peers[d->n - 1], MESSAGE_END, NULL, 0, NULL);
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
