// SPDX-License-Identifier: MIT
// A busy machine, preloaded (LD_PRELOAD): every thread but a process's first one is LATE_MS
// milliseconds late when it changes what it waits for.
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

int epoll_ctl(int set, int what, int fd, struct epoll_event *event)
{
    int (*real)(int, int, int, struct epoll_event *) =
        (int (*)(int, int, int, struct epoll_event *))dlsym(RTLD_NEXT, "epoll_ctl");
    const char *ms = getenv("LATE_MS");
    if (ms && gettid() != getpid())
        nanosleep(&(struct timespec){.tv_nsec = atol(ms) * 1000000}, NULL);
    return real(set, what, fd, event);
}
