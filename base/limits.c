// SPDX-License-Identifier: MIT
#include "base/limits.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

// An allocator asks the system for tens of MiB at once.
static const size_t step = (size_t)64 << 20, stack = (size_t)8 << 20;

// Bytes in use: of the whole address space, and of data.
static void taken(size_t *all, size_t *data)
{
    char text[200];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    if (n > 0 && sscanf(text, "%zu %*u %*u %*u %*u %zu", all, data) == 2) {
        *all *= page;
        *data *= page;
    } else {
        *all = *data = 0; // no descriptor is left to read it, so assume that any limit may be
                          // reached
    }
}

static bool is_near(int resource, size_t used, size_t wanted, size_t *limit)
{
    struct rlimit l;
    if (getrlimit(resource, &l) != 0 || l.rlim_cur == RLIM_INFINITY)
        return false;
    *limit = (size_t)l.rlim_cur;
    size_t need;
    return !used || __builtin_add_overflow(used, wanted, &need) ||
           __builtin_add_overflow(need, step, &need) || need > *limit;
}

static bool say_near(char *out, size_t wanted)
{
    size_t all, data, limit = 0;
    taken(&all, &data);
    bool space = is_near(RLIMIT_AS, all, wanted, &limit);
    if (!space && !is_near(RLIMIT_DATA, data, wanted, &limit))
        return false;
    snprintf(out, LIMITS_WORDS, "%s limited to %zu MiB (ulimit %s), and %zu MiB are taken",
        space ? "the address space is" : "its data are", limit >> 20, space ? "-v" : "-d",
        (space ? all : data) >> 20);
    return true;
}

void limits_memory(char out[LIMITS_WORDS], size_t wanted)
{
    if (!say_near(out, wanted))
        snprintf(out, LIMITS_WORDS, "the system has no more");
}

void limits_files(char out[LIMITS_WORDS])
{
    struct rlimit l = {0};
    getrlimit(RLIMIT_NOFILE, &l);
    snprintf(out, LIMITS_WORDS, "the open files are limited to %llu (ulimit -n)",
        (unsigned long long)l.rlim_cur);
}

void limits_threads(char out[LIMITS_WORDS])
{
    struct rlimit l = {.rlim_cur = RLIM_INFINITY};
    getrlimit(RLIMIT_NPROC, &l);
    if (say_near(out, stack))
        return;
    if (l.rlim_cur == RLIM_INFINITY)
        snprintf(out, LIMITS_WORDS, "the system or a control group allows no more");
    else
        snprintf(out, LIMITS_WORDS,
            "processes and threads of this user are limited to %llu (ulimit -u)",
            (unsigned long long)l.rlim_cur);
}
