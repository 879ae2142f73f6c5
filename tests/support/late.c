// SPDX-License-Identifier: MIT
// A busy machine, preloaded (LD_PRELOAD): every thread but a process's first one is LATE_MS
// milliseconds late when it changes what it waits for; and who begins a session goes on
// LATE_SESSION_MS later. And bad luck: the first SAME_BYTES random bytes that a process draws
// singly are 0.
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static void be_late(const char *name)
{
    const char *ms = getenv(name);
    long n = ms ? atol(ms) : 0;
    if (n)
        nanosleep(&(struct timespec){.tv_sec = n / 1000, .tv_nsec = n % 1000 * 1000000}, NULL);
}

ssize_t getrandom(void *out, size_t n, unsigned flags)
{
    static int drawn;
    ssize_t (*real)(void *, size_t, unsigned) =
        (ssize_t(*)(void *, size_t, unsigned))dlsym(RTLD_NEXT, "getrandom");
    const char *same = getenv("SAME_BYTES");
    if (!same || n != 1 || drawn++ >= atoi(same))
        return real(out, n, flags);
    *(char *)out = 0;
    return 1;
}

pid_t setsid(void)
{
    pid_t (*real)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "setsid");
    pid_t id = real();
    be_late("LATE_SESSION_MS");
    return id;
}

int epoll_ctl(int set, int what, int fd, struct epoll_event *event)
{
    int (*real)(int, int, int, struct epoll_event *) =
        (int (*)(int, int, int, struct epoll_event *))dlsym(RTLD_NEXT, "epoll_ctl");
    if (gettid() != getpid())
        be_late("LATE_MS");
    return real(set, what, fd, event);
}
