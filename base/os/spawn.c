// SPDX-License-Identifier: MIT
#include "base/os/spawn.h"

#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum stage { STAGE_PREPARE, STAGE_FOLDER, STAGE_PROGRAM };

// What failed in the child. If its program starts, the pipe closes without a report.
struct report {
    enum stage stage;
    int number; // errno
};

// Between fork and exec only async-signal-safe calls are allowed: another thread may have held any
// lock at the fork.
static _Noreturn void fail(int report, enum stage stage)
{
    struct report r = {stage, errno};
    ssize_t ignored = write(report, &r, sizeof r);
    (void)ignored;
    _exit(127);
}

// Fails for the signals that the C library keeps for itself, which may stay as they are.
static void reset_signals(void)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    for (int signum = 1; signum < NSIG; signum++)
        sigaction(signum, &plain, NULL);
}

static int take_place(const struct spawn_spec *s, pid_t parent)
{
    if (s->place == SPAWN_SESSION && setsid() < 0)
        return -1;
    if (s->place == SPAWN_GROUP && setpgid(0, s->group) < 0)
        return -1;
    if (!s->death_signal)
        return 0;
    if (prctl(PR_SET_PDEATHSIG, s->death_signal) < 0)
        return -1;
    if (getppid() == parent)
        return 0;
    errno = ECANCELED; // the parent ended before the death signal was set
    return -1;
}

static int highest(const struct spawn_spec *s)
{
    int top = STDERR_FILENO;
    for (size_t i = 0; i < s->fd_n; i++)
        top = s->fds[i].to > top ? s->fds[i].to : top;
    return top;
}

// Gives the child 0, 1, 2 and the named descriptors, wherever they were before, and closes all
// others. First all of them move out of the way, also `report`, which is set to its new number.
static int arrange_descriptors(const struct spawn_spec *s, int *report)
{
    int top = highest(s), moved[SPAWN_FDS_MAX];
    int safe = fcntl(*report, F_DUPFD_CLOEXEC, top + 1);
    if (safe < 0)
        return -1;
    *report = safe;
    for (size_t i = 0; i < s->fd_n; i++)
        if ((moved[i] = fcntl(s->fds[i].from, F_DUPFD, top + 1)) < 0)
            return -1;
    for (int fd = 0; fd <= top; fd++)
        close(fd);
    for (int fd = 0; fd <= STDERR_FILENO; fd++) // open() returns the lowest free number: fd
        if (open("/dev/null", fd ? O_WRONLY : O_RDONLY) != fd)
            return -1;
    for (size_t i = 0; i < s->fd_n; i++)
        if (dup2(moved[i], s->fds[i].to) < 0)
            return -1;
    if (*report != top + 1 && dup3(*report, top + 1, O_CLOEXEC) < 0)
        return -1;
    *report = top + 1;
    closefrom(top + 2);
    return 0;
}

static _Noreturn void become(const struct spawn_spec *s, pid_t parent, int report)
{
    reset_signals();
    if (take_place(s, parent) < 0 || arrange_descriptors(s, &report) < 0)
        fail(report, STAGE_PREPARE);
    if (s->cwd && chdir(s->cwd) < 0)
        fail(report, STAGE_FOLDER);
    if (s->env)
        environ = (char **)s->env; // execvp looks for PATH here
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(s->argv[0], (char *const *)s->argv);
    fail(report, STAGE_PROGRAM);
}

static int explain(const struct spawn_spec *s, const struct report *r, err *e)
{
    const char *program = s->argv[0];
    if (r->stage == STAGE_FOLDER)
        return err_errno(e, r->number, "cannot start %s in the folder %s", program, s->cwd);
    if (r->stage == STAGE_PROGRAM && r->number == ENOENT)
        return err_set(e, ERR_NOT_FOUND, "cannot start %s: there is no such program%s", program,
            strchr(program, '/') ? "" : " in PATH");
    return err_errno(e, r->number, "cannot start %s", program);
}

// Signals stay blocked while two processes have the same handlers.
static pid_t fork_child(const struct spawn_spec *s, int report)
{
    sigset_t all, before;
    pid_t parent = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        become(s, parent, report);
    int number = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = number;
    return pid;
}

int spawn(const struct spawn_spec *s, pid_t *pid, err *e)
{
    int ends[2];
    struct report r = {0};
    assert(s->fd_n <= SPAWN_FDS_MAX);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_start(e, errno, "cannot start %s", s->argv[0]);
    pid_t child = fork_child(s, ends[1]);
    int number = errno;
    close(ends[1]);
    ssize_t n = 0;
    while (child > 0 && (n = read(ends[0], &r, sizeof r)) < 0 && errno == EINTR)
        ;
    close(ends[0]);
    if (child < 0)
        return err_start(e, number, "cannot start %s", s->argv[0]);
    if (n != sizeof r) {
        *pid = child;
        return 0;
    }
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return explain(s, &r, e);
}
