// SPDX-License-Identifier: MIT
#include "base/os/follow.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/os/proctree.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK = 256 << 10 };

struct watch {
    pid_t child;
    int end; // write end of a pipe: closing it makes the other end readable
};

// The child stays a zombie. ECHILD: somebody has waited for it already.
static void *wait_for_end(void *arg)
{
    struct watch *w = arg;
    siginfo_t info;
    while (waitid(P_PID, (id_t)w->child, &info, WEXITED | WNOWAIT) && errno == EINTR) {
    }
    close(w->end);
    free(w);
    return NULL;
}

// Starts the thread with all signals blocked: other threads handle them.
static int start_thread(struct watch *w)
{
    pthread_t thread;
    pthread_attr_t settings;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&settings);
    pthread_attr_setdetachstate(&settings, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&settings, STACK);
    int failed = pthread_create(&thread, &settings, wait_for_end, w);
    pthread_attr_destroy(&settings);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static int follow_by_thread(pid_t child)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    struct watch *w = mem_alloc(sizeof *w);
    *w = (struct watch){child, ends[1]};
    int failed = start_thread(w);
    if (failed) {
        close(ends[0]);
        close(ends[1]);
        free(w);
        errno = failed;
        return -1;
    }
    return ends[0];
}

// An older Linux answers ENOSYS, a container's filter that is older than the call EPERM.
int follow(pid_t child)
{
    int fd = (int)syscall(SYS_pidfd_open, child, 0);
    return fd < 0 && (errno == ENOSYS || errno == EPERM) ? follow_by_thread(child) : fd;
}

bool process_has_ended(pid_t pid)
{
    AUTO_BUF text = {0};
    const char *fields = pid > 0 ? process_fields(pid, &text) : NULL;
    if (fields)
        return *fields == 'Z' || *fields == 'X';
    return pid > 0 && kill(pid, 0) && errno == ESRCH;
}
