// SPDX-License-Identifier: MIT
#include "trainer/dist/job/launch.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/follow.h"
#include "base/os/spawn.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { READ_SIZE = 1 << 16, LAST_PIECES = 64, STEP_MS = 1 };
static const int64_t KILL_PATIENCE = 3 * CLOCK_SEC;

// The descriptors of the channels in the rank.
static const int rank_fds[CHANNELS] = {[CHANNEL_LINK] = LAUNCH_LINK_FD,
    [CHANNEL_PMI] = LAUNCH_PMI_FD,
    [CHANNEL_STDOUT] = STDOUT_FILENO,
    [CHANNEL_STDERR] = STDERR_FILENO};

static bool names_same(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n) == 0 && b[n] == '=';
}

static char **merged_env(const char *const *more)
{
    char **env = strv_dup(more);
    for (char **old = environ; *old; old++) {
        size_t i = 0;
        while (more[i] && !names_same(more[i], *old))
            i++;
        if (!more[i])
            env = strv_add(env, *old);
    }
    return env;
}

// The settings of the job, and the variables that libmpich reads.
static char **rank_env(const struct launch_spec *spec, int rank)
{
    char **more = strv_dup(spec->settings);
    AUTO_FREE char *fd = str_fmt("PMI_FD=%d", LAUNCH_PMI_FD);
    AUTO_FREE char *number = str_fmt("PMI_RANK=%d", rank);
    AUTO_FREE char *size = str_fmt("PMI_SIZE=%d", spec->size);
    more = strv_add(strv_add(strv_add(more, fd), number), size);
    char **env = merged_env((const char *const *)more);
    strv_free(more);
    return env;
}

static void close_at(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int open_channel(enum channel c, int *ours, int *theirs)
{
    int ends[2];
    bool pipes = c == CHANNEL_STDOUT || c == CHANNEL_STDERR;
    if (pipes ? pipe2(ends, O_CLOEXEC) : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return -1;
    *ours = ends[0];
    *theirs = ends[1];
    return 0;
}

// All ranks are one process group, led by the first, so that Ctrl-C reaches only the driver.
static int start_process(
    launch *l, const struct launch_spec *spec, int i, const struct spawn_fd *fds, err *e)
{
    const char *const argv[] = {spec->worker, "--rank", NULL};
    char **env = rank_env(spec, spec->first + i);
    struct spawn_spec s = {.argv = argv,
        .env = (const char *const *)env,
        .fds = fds,
        .fd_n = spec->shared > 0 ? CHANNELS + 1 : CHANNELS,
        .place = SPAWN_GROUP,
        .group = l->ranks[0].pid,
        .death_signal = SIGTERM};
    int result = spawn(&s, &l->ranks[i].pid, e);
    strv_free(env);
    if (result == 0)
        l->ranks[i].followed = follow(l->ranks[i].pid);
    return result;
}

static int start_rank(launch *l, const struct launch_spec *spec, int i, err *e)
{
    struct spawn_fd fds[CHANNELS + 1];
    int result = 0, opened = 0;
    for (; opened < CHANNELS && result == 0; opened++) {
        fds[opened] = (struct spawn_fd){-1, rank_fds[opened]};
        if (open_channel((enum channel)opened, &l->ranks[i].fds[opened], &fds[opened].from))
            result = err_errno(e, errno, "cannot start rank %d", spec->first + i);
    }
    fds[CHANNELS] = (struct spawn_fd){spec->shared, LAUNCH_SHARED_FD};
    if (result == 0)
        result = start_process(l, spec, i, fds, e);
    while (opened-- > 0)
        close_at(&fds[opened].from);
    return result;
}

int launch_start(launch *l, const struct launch_spec *spec, err *e)
{
    *l = (launch){.first = spec->first, .n = spec->n};
    l->ranks = mem_array((size_t)spec->n, sizeof *l->ranks);
    for (int i = 0; i < spec->n; i++)
        l->ranks[i] = (struct launched){.followed = -1, .fds = {-1, -1, -1, -1}};
    int result = 0;
    for (int i = 0; i < spec->n && result == 0; i++)
        result = start_rank(l, spec, i, e);
    if (result)
        launch_close(l);
    return result;
}

void launch_polls(const launch *l, bool quiet, struct pollfd *out)
{
    for (int i = 0; i < l->n; i++, out += LAUNCH_POLLS) {
        const struct launched *r = &l->ranks[i];
        for (int c = 0; c < CHANNELS; c++)
            out[c] = (struct pollfd){.fd = quiet ? -1 : r->fds[c], .events = POLLIN};
        out[CHANNELS] = (struct pollfd){.fd = r->gone ? -1 : r->followed, .events = POLLIN};
    }
}

// Reads one piece from a channel; true when there may be more.
static bool hear_channel(
    const launch *l, int i, enum channel c, bool wait, const struct launch_sink *sink)
{
    char bytes[READ_SIZE];
    int *fd = &l->ranks[i].fds[c];
    struct pollfd p = {.fd = *fd, .events = POLLIN};
    if (*fd < 0 || (!wait && poll(&p, 1, 0) <= 0))
        return false;
    ssize_t got = read(*fd, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR)
        return true;
    if (got <= 0)
        close_at(fd);
    else
        sink->bytes(sink->ctx, l->first + i, c, bytes, (size_t)got);
    return got > 0;
}

// A rank's own message may end the job, so the output of its children is read first.
static const enum channel hearing_order[CHANNELS] = {
    CHANNEL_STDOUT, CHANNEL_STDERR, CHANNEL_PMI, CHANNEL_LINK};

// The last output of an ended rank is still in its channels. No more is read than a channel can
// hold: only a child of the rank could still be writing into its pipes. It may never end by itself,
// and is killed with the group.
static void look_for_end(launch *l, int i, const struct launch_sink *sink)
{
    struct launched *r = &l->ranks[i];
    siginfo_t info = {0};
    // The rank stays a zombie until the launch is closed, so that the group keeps its number.
    if (r->gone || waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) ||
        info.si_pid != r->pid)
        return;
    r->gone = true;
    for (int at = 0; at < CHANNELS; at++) {
        enum channel c = hearing_order[at];
        for (int n = 0; n < LAST_PIECES && hear_channel(l, i, c, false, sink); n++) {
        }
        close_at(&r->fds[c]);
    }
    sink->gone(sink->ctx, l->first + i,
        info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : W_EXITCODE(0, info.si_status));
}

void launch_hear(launch *l, const struct pollfd *polled, const struct launch_sink *sink)
{
    for (int i = 0; i < l->n; i++) {
        const struct pollfd *p = &polled[i * LAUNCH_POLLS];
        bool speaks = p[CHANNEL_LINK].revents & ~POLLOUT;
        for (int n = 0; n < CHANNELS; n++) {
            enum channel c = hearing_order[n];
            bool is_ready = p[c].revents & ~POLLOUT, prints = c >= CHANNEL_STDOUT;
            if (is_ready || (speaks && prints))
                hear_channel(l, i, c, is_ready, sink);
        }
    }
    for (int i = 0; i < l->n; i++)
        look_for_end(l, i, sink);
}

bool launch_any_left(const launch *l)
{
    for (int i = 0; i < l->n; i++) {
        if (!l->ranks[i].gone)
            return true;
    }
    return false;
}

int launch_fd(const launch *l, int rank, enum channel channel)
{
    int i = rank - l->first;
    return i >= 0 && i < l->n ? l->ranks[i].fds[channel] : -1;
}

// Orphans of ranks become children of the nearest subreaper, which is us. They are reaped here,
// since kill() finds a zombie, too.
static void kill_group(launch *l)
{
    pid_t group = l->n ? l->ranks[0].pid : 0;
    int64_t deadline = clock_mono() + KILL_PATIENCE;
    while (group > 0 && kill(-group, SIGKILL) == 0 && clock_mono() < deadline) {
        while (waitpid(-group, NULL, WNOHANG) > 0) {
        }
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000 * 1000}, NULL);
    }
}

void launch_close(launch *l)
{
    kill_group(l);
    for (int i = 0; i < l->n; i++) {
        struct launched *r = &l->ranks[i];
        // This rank has left the group, or never joined it.
        if (r->pid > 0 && waitpid(r->pid, NULL, WNOHANG) == 0) {
            kill(r->pid, SIGKILL);
            waitpid(r->pid, NULL, 0);
        }
        for (int c = 0; c < CHANNELS; c++)
            close_at(&r->fds[c]);
        close_at(&r->followed);
    }
    free(l->ranks);
    *l = (launch){0};
}

void launch_describe(int status, buf *out)
{
    if (WIFSIGNALED(status))
        buf_fmt(out, "was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        buf_fmt(out, "ended with exit code %d", WEXITSTATUS(status));
}
