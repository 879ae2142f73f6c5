// SPDX-License-Identifier: MIT
#include "trainer/dist/executor.h"

#include "base/clock.h"
#include "trainer/dist/group.h"
#include "trainer/dist/message.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { RETRY_MS = 100, LOOK_MS = 200, ARGUMENTS_MAX = 64 };

// The driver's pod may come later than this one: its name unknown, its port closed.
static int call_driver(const struct executor_options *o, err *e)
{
    int64_t deadline = clock_mono() + o->start_timeout;
    for (;;) {
        int fd = net_dial(o->driver, e);
        if (fd >= 0 && peer_introduce(fd, o->secret, PEER_EXECUTOR, 0, deadline, e) == 0)
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

// hydra_pmi_proxy with the arguments of a RUN message, in a group of its own.
static pid_t start_proxy(const char *proxy, const message *m, err *e)
{
    const char *argv[ARGUMENTS_MAX + 2] = {proxy};
    size_t n = 1;
    for (const char *at = m->body; at < m->body + m->n && n <= ARGUMENTS_MAX;
         at += strlen(at) + 1) // the buffer ends in a NUL
        argv[n++] = at;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() == parent)
            execv(proxy, (char *const *)argv);
        _exit(127);
    }
    if (pid < 0)
        return err_errno(e, errno, "cannot start %s", proxy);
    setpgid(pid, pid);
    return pid;
}

static int report(int fd, int code, err *e)
{
    uint8_t body[4];
    put_u32(body, (uint32_t)code);
    return message_send(fd, MESSAGE_RAN, body, sizeof body, e);
}

// Runs one proxy to its end, which it reports. A word of the driver, or its end, ends the proxy:
// what it said is read next.
static int run_proxy(const struct executor_options *o, int fd, const message *m, err *e)
{
    pid_t pid = start_proxy(o->proxy, m, e);
    if (pid < 0)
        return -1;
    pid_t group = pid;
    int code = 0, pidfd = pidfd_open(pid, 0); // -1 where there are none: then the looks must do
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
    bool ended = false;
    while (!ended && !fds[0].revents && !atomic_load(o->stop)) {
        poll(fds, 2, LOOK_MS);
        ended = group_reap(&pid, &code);
    }
    if (pidfd >= 0)
        close(pidfd);
    group_stop(group, &pid, &code); // a proxy that has ended may have left ranks behind
    if (ended)
        return report(fd, code, e);
    return atomic_load(o->stop) ? err_set(e, ERR_CANCELLED, "interrupted") : 0;
}

// The next message; looks at `stop` now and then.
static int next_message(const struct executor_options *o, int fd, buf *in, message *m, err *e)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (poll(&p, 1, LOOK_MS) <= 0) {
        if (atomic_load(o->stop))
            return err_set(e, ERR_CANCELLED, "interrupted");
    }
    return message_receive(fd, in, m, 0, e);
}

static int serve(const struct executor_options *o, int fd, err *e)
{
    AUTO_BUF in = {0};
    message m;
    for (;;) {
        if (next_message(o, fd, &in, &m, e))
            return e->code == ERR_CANCELLED ? -1 : err_wrap(e, "lost the driver %s", o->driver);
        if (m.kind == MESSAGE_END)
            return 0;
        if (m.kind != MESSAGE_RUN)
            return err_set(e, ERR_INVALID, "the driver sent %s, which is not for executors",
                message_name(m.kind));
        if (run_proxy(o, fd, &m, e))
            return -1;
    }
}

int executor_run(const struct executor_options *o, err *e)
{
    int fd = call_driver(o, e);
    if (fd < 0)
        return -1;
    int result = serve(o, fd, e);
    close(fd);
    return result;
}
