// SPDX-License-Identifier: MIT
// A machine whose ranks cannot share memory, preloaded (LD_PRELOAD): with APART=driver the system
// gives no such memory, with APART=N rank N cannot map it.
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

static bool is_apart(const char *who)
{
    const char *apart = getenv("APART");
    return apart && who && strcmp(apart, who) == 0;
}

int memfd_create(const char *name, unsigned flags)
{
    int (*real)(const char *, unsigned) =
        (int (*)(const char *, unsigned))dlsym(RTLD_NEXT, "memfd_create");
    if (strcmp(name, "firesteel-ranks") == 0 && is_apart("driver"))
        return errno = ENOSYS, -1;
    return real(name, flags);
}

// Both names of the call: with 64 bits in an offset they mean the same.
void *mmap64(void *at, size_t n, int protection, int flags, int fd, off64_t from)
{
    void *(*real)(void *, size_t, int, int, int, off64_t) =
        (void *(*)(void *, size_t, int, int, int, off64_t))dlsym(RTLD_NEXT, "mmap64");
    bool shared = fd >= 0 && (flags & MAP_SHARED) && (protection & PROT_WRITE);
    if (shared && is_apart(getenv("PMI_RANK")))
        return errno = ENOMEM, MAP_FAILED;
    return real(at, n, protection, flags, fd, from);
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t from)
{
    return mmap64(at, n, protection, flags, fd, from);
}
