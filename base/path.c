// SPDX-License-Identifier: MIT
#include "base/path.h"

#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *path_join(const char *a, const char *b)
{
    if (b[0] == '/' || !a || !*a)
        return mem_strdup(b);
    return str_fmt(str_ends(a, "/") ? "%s%s" : "%s/%s", a, b);
}

// The length of path without its trailing slashes (but "/" stays).
static size_t trimmed(const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n;
}

char *path_dirname(const char *path)
{
    size_t n = trimmed(path);
    while (n && path[n - 1] != '/')
        n--;
    if (!n)
        return mem_strdup(".");
    while (n > 1 && path[n - 1] == '/')
        n--;
    return mem_strndup(path, n);
}

char *path_basename(const char *path)
{
    size_t n = trimmed(path), from = n;
    while (from && path[from - 1] != '/')
        from--;
    return mem_strndup(path + from, n - from);
}

bool path_is_below(const char *path)
{
    if (*path == '/' || !*path)
        return false;
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        size_t n = strcspn(part, "/");
        if (n == 2 && part[0] == '.' && part[1] == '.')
            return false;
    }
    return true;
}

bool path_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool path_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *path_absolute(const char *path, err *e)
{
    char *real = realpath(path, NULL);
    if (real)
        return real;
    int why = errno;
    AUTO_FREE char *folder = path_dirname(path), *name = path_basename(path);
    AUTO_FREE char *there = why == ENOENT && *name ? realpath(folder, NULL) : NULL;
    if (there)
        return path_join(there, name);
    err_errno(e, why, "%s", path);
    return NULL;
}

int path_make_dirs(const char *path, mode_t mode, err *e)
{
    AUTO_FREE char *copy = mem_strdup(path);
    for (char *slash = copy + 1;; slash++) {
        slash = strchrnul(slash, '/');
        char kept = *slash;
        *slash = '\0';
        if (mkdir(copy, mode) < 0 && errno != EEXIST)
            return err_errno(e, errno, "cannot make the folder %s", copy);
        *slash = kept;
        if (!kept)
            break;
    }
    if (!path_is_dir(path))
        return err_errno(e, ENOTDIR, "cannot make the folder %s", path);
    return 0;
}

char *path_make_temp(const char *parent, const char *prefix, err *e)
{
    AUTO_FREE char *name = str_fmt("%s/%sXXXXXX", parent, prefix);
    if (!mkdtemp(name)) {
        err_errno(e, errno, "cannot make a folder in %s", parent);
        return NULL;
    }
    return STEAL(name);
}

// Removes the entry `name` of the folder `at`, with all below it; keeps the first error.
static int remove_at(int at, const char *name, int depth)
{
    if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = depth < 256 ? openat(at, name, flags) : -1;
    // A folder of ours that nobody may read, as overlayfs leaves one behind.
    if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, 0) == 0)
        fd = openat(at, name, flags);
    if (fd < 0)
        return -1;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return -1;
    }
    int failed = 0;
    for (struct dirent *d; (d = readdir(dir));) {
        if (str_eq(d->d_name, ".") || str_eq(d->d_name, ".."))
            continue;
        if (remove_at(fd, d->d_name, depth + 1) < 0 && !failed)
            failed = errno;
    }
    closedir(dir);
    if (failed) {
        errno = failed;
        return -1;
    }
    return unlinkat(at, name, AT_REMOVEDIR);
}

int path_remove(const char *path, err *e)
{
    if (remove_at(AT_FDCWD, path, 0) < 0)
        return err_errno(e, errno, "cannot remove %s", path);
    return 0;
}

void fd_close_at(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

int path_read(const char *path, buf *out, size_t limit, err *e)
{
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_errno(e, errno, "cannot read %s", path);
    if (S_ISDIR(st.st_mode))
        return err_errno(e, EISDIR, "cannot read %s", path);
    size_t before = out->len;
    for (;;) {
        size_t chunk = st.st_size > 65536 ? 1 << 20 : 65536;
        buf_reserve(out, chunk);
        ssize_t n = read(fd, out->data + out->len, chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, errno, "cannot read %s", path);
        out->len += (size_t)n;
        out->data[out->len] = '\0';
        if (limit && out->len - before > limit)
            return err_set(e, ERR_LIMIT, "%s is larger than %zu bytes", path, limit);
        if (n == 0)
            return 0;
    }
}

int fd_write_all(int fd, const void *bytes, size_t n, err *e)
{
    const char *p = bytes;
    while (n) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return err_errno(e, errno, "cannot write");
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

static int sync_folder(const char *dir)
{
    AUTO_FD fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -1 : fsync(fd);
}

// like: the file whose owner it takes over; NULL: nobody's. mode is final.
static int replace(
    const char *path, const void *bytes, size_t n, mode_t mode, const struct stat *like, err *e)
{
    AUTO_FREE char *dir = path_dirname(path);
    AUTO_FREE char *temp = str_fmt("%s.XXXXXX.tmp", path);
    AUTO_FD fd = mkostemps(temp, 4, O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, errno, "cannot write %s", path);
    // Only root may give a file away; anybody else keeps it, as an editor would.
    if (like && fchown(fd, like->st_uid, like->st_gid) < 0)
        mode &= (mode_t) ~(S_ISUID | S_ISGID);
    if (fd_write_all(fd, bytes, n, e) < 0 ||
        ((fchmod(fd, mode) < 0 || fsync(fd) < 0 || rename(temp, path) < 0) &&
            err_errno(e, errno, "cannot write") < 0)) {
        unlink(temp);
        return err_wrap(e, "%s", path);
    }
    sync_folder(dir); // some file systems cannot; the file itself is safe
    return 0;
}

static mode_t masked(mode_t mode)
{
    mode_t mask = umask(0);
    umask(mask);
    return mode & ~mask;
}

int path_write(const char *path, const void *bytes, size_t n, mode_t mode, err *e)
{
    return replace(path, bytes, n, masked(mode), NULL, e);
}

int path_update(const char *path, const void *bytes, size_t n, mode_t mode, err *e)
{
    struct stat was;
    AUTO_FREE char *real = realpath(path, NULL);
    if (!real || stat(real, &was) < 0)
        return path_write(path, bytes, n, mode, e);
    return replace(real, bytes, n, was.st_mode & 07777, &was, e);
}
