// SPDX-License-Identifier: MIT
// A disk that fails once: preloaded (LD_PRELOAD), it counts the calls of firesteel's programs on
// files below a folder, by kind, and lets one of them fail. The counts are in a file that all
// processes of a run share, so that a test can read how far the run came, and what failed.
//
//   FAULT_FOLDER  files below it count         FAULT_STATE  the shared file, struct state
//   FAULT_KIND    of the call that fails       FAULT_NUMBER which call of that kind; 0: none
//   FAULT_ERRNO   what it fails with          FAULT_STAYS  all after it fail, too
//   FAULT_SLOW    milliseconds that each fdatasync of a journal takes, and each read of *.slow
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KINDS(X)                                                                                   \
    X(open) X(write) X(fsync) X(fdatasync) X(rename) X(ftruncate) X(fallocate) X(mkdir) X(close)

enum kind {
#define X(name) KIND_##name,
    KINDS(X)
#undef X
        KIND_COUNT
};
static const char *const names[] = {
#define X(name) #name,
    KINDS(X)
#undef X
};

struct state {
    atomic_int counts[KIND_COUNT], failed;
    char path[256];      // path in the call that failed
    atomic_llong synced; // how many bytes of the journal are on the disk
};

static struct state *state;
static char folder[PATH_MAX];
static int wanted_kind = -1, wanted_number, wanted_errno, slow;
static bool stays;

__attribute__((constructor)) static void begin(void)
{
    const char *below = getenv("FAULT_FOLDER"), *file = getenv("FAULT_STATE"),
               *kind = getenv("FAULT_KIND");
    if (!below || !file || strncmp(program_invocation_short_name, "firesteel", 9) != 0)
        return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC, 0);
    void *shared = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (shared == MAP_FAILED)
        abort();
    snprintf(folder, sizeof folder, "%s", below);
    for (int i = 0; kind && i < KIND_COUNT; i++)
        if (strcmp(kind, names[i]) == 0)
            wanted_kind = i;
    wanted_number = getenv("FAULT_NUMBER") ? atoi(getenv("FAULT_NUMBER")) : 0;
    wanted_errno = getenv("FAULT_ERRNO") ? atoi(getenv("FAULT_ERRNO")) : EIO;
    stays = getenv("FAULT_STAYS") != NULL;
    slow = getenv("FAULT_SLOW") ? atoi(getenv("FAULT_SLOW")) : 0;
    state = shared;
}

// The whole path of a name in an open folder; or of the descriptor itself, with name "".
static void whole_path(int at, const char *name, char path[PATH_MAX])
{
    char link[64] = "/proc/self/cwd";
    size_t n = 0;
    if (at != AT_FDCWD)
        snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    if (*name != '/') {
        ssize_t got = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX / 2);
        n = got > 0 ? (size_t)got : 0;
    }
    snprintf(path + n, PATH_MAX - n, "%s%s", n && *name ? "/" : "", name);
}

static bool fails(enum kind kind, int at, const char *name)
{
    int before = errno;
    char path[PATH_MAX];
    size_t n = strlen(folder);
    if (!state)
        return false;
    whole_path(at, name, path);
    bool below = strncmp(path, folder, n) == 0 && path[n] == '/';
    errno = before;
    if (!below)
        return false;
    int number = atomic_fetch_add(&state->counts[kind], 1) + 1;
    if ((int)kind != wanted_kind || !wanted_number ||
        (stays ? number < wanted_number : number != wanted_number))
        return false;
    if (!atomic_exchange(&state->failed, 1))
        snprintf(state->path, sizeof state->path, "%.255s", path + n + 1);
    errno = wanted_errno;
    return true;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static mode_t mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = mode_of(flags, args);                                                        \
        va_end(args);                                                                              \
        return fails(KIND_open, AT_FDCWD, path) ? -1 : NEXT(name)(path, flags, mode);              \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                               \
    int name(int at, const char *path, int flags, ...)                                             \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = mode_of(flags, args);                                                        \
        va_end(args);                                                                              \
        return fails(KIND_open, at, path) ? -1 : NEXT(name)(at, path, flags, mode);                \
    }
OPENAT(openat)
OPENAT(openat64)

#define PWRITE(name, offset_t)                                                                     \
    ssize_t name(int fd, const void *bytes, size_t n, offset_t at)                                 \
    {                                                                                              \
        return fails(KIND_write, fd, "") ? -1 : NEXT(name)(fd, bytes, n, at);                      \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

// When a disk gets full, half of the bytes are written first.
ssize_t write(int fd, const void *bytes, size_t n)
{
    if (!fails(KIND_write, fd, ""))
        return NEXT(write)(fd, bytes, n);
    if (wanted_errno == ENOSPC)
        (void)!NEXT(write)(fd, bytes, n / 2);
    errno = wanted_errno;
    return -1;
}

int fsync(int fd)
{
    return fails(KIND_fsync, fd, "") ? -1 : NEXT(fsync)(fd);
}

static bool is_named(int fd, const char *ending)
{
    char path[PATH_MAX];
    whole_path(fd, "", path);
    size_t n = strlen(path), end = strlen(ending);
    return state && n > end && strcmp(path + n - end, ending) == 0;
}

ssize_t read(int fd, void *bytes, size_t n)
{
    if (slow && is_named(fd, ".slow"))
        usleep((useconds_t)slow * 1000);
    return NEXT(read)(fd, bytes, n);
}

int fdatasync(int fd)
{
    struct stat st;
    if (fails(KIND_fdatasync, fd, ""))
        return -1;
    bool tells = slow && is_named(fd, ".jsonl") && fstat(fd, &st) == 0;
    if (tells)
        usleep((useconds_t)slow * 1000);
    int result = NEXT(fdatasync)(fd);
    if (tells && result == 0)
        atomic_store(&state->synced, st.st_size);
    return result;
}

int rename(const char *from, const char *to)
{
    return fails(KIND_rename, AT_FDCWD, to) ? -1 : NEXT(rename)(from, to);
}

int renameat(int from_at, const char *from, int to_at, const char *to)
{
    return fails(KIND_rename, to_at, to) ? -1 : NEXT(renameat)(from_at, from, to_at, to);
}

int ftruncate(int fd, off_t size)
{
    return fails(KIND_ftruncate, fd, "") ? -1 : NEXT(ftruncate)(fd, size);
}

int ftruncate64(int fd, off64_t size)
{
    return fails(KIND_ftruncate, fd, "") ? -1 : NEXT(ftruncate64)(fd, size);
}

int fallocate(int fd, int mode, off_t at, off_t size)
{
    return fails(KIND_fallocate, fd, "") ? -1 : NEXT(fallocate)(fd, mode, at, size);
}

int fallocate64(int fd, int mode, off64_t at, off64_t size)
{
    return fails(KIND_fallocate, fd, "") ? -1 : NEXT(fallocate64)(fd, mode, at, size);
}

int mkdir(const char *path, mode_t mode)
{
    return fails(KIND_mkdir, AT_FDCWD, path) ? -1 : NEXT(mkdir)(path, mode);
}

int mkdirat(int at, const char *path, mode_t mode)
{
    return fails(KIND_mkdir, at, path) ? -1 : NEXT(mkdirat)(at, path, mode);
}

// As in Linux: the descriptor is closed, and the error is about earlier writes.
int close(int fd)
{
    bool failing = fails(KIND_close, fd, "");
    int result = NEXT(close)(fd);
    if (!failing)
        return result;
    errno = wanted_errno;
    return -1;
}
