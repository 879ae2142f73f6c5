// SPDX-License-Identifier: MIT
#include "base/os/entry.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

// If a standard descriptor is closed, the next file that is opened gets its number, and output goes
// into that file.
static void open_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

static void unblock_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void entry_join(void)
{
    open_standard_descriptors();
    signal(SIGCHLD, SIG_DFL); // while SIGCHLD is ignored, nobody can wait for children
    unblock_signals();
}

static void close_others(int keep)
{
    if (keep <= STDERR_FILENO) {
        closefrom(STDERR_FILENO + 1);
        return;
    }
    fcntl(keep, F_SETFD, FD_CLOEXEC);
    for (int fd = STDERR_FILENO + 1; fd < keep; fd++)
        close(fd);
    closefrom(keep + 1);
}

void entry_serve(int keep)
{
    for (int signum = 1; signum < NSIG; signum++)
        signal(signum, SIG_DFL);
    open_standard_descriptors();
    unblock_signals();
    close_others(keep);
    prctl(PR_SET_DUMPABLE, 0);
}
