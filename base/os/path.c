// SPDX-License-Identifier: MIT
#include "base/os/path.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

char *path_join(const char *a, const char *b)
{
    if (b[0] == '/' || !a || !*a)
        return mem_strdup(b);
    return str_fmt(str_ends(a, "/") ? "%s%s" : "%s/%s", a, b);
}

char *path_plain(const char *path)
{
    bool root = path[0] == '/';
    char *out = mem_alloc(strlen(path) + 2);
    size_t n = 0;
    if (root)
        out[n++] = '/';
    size_t fixed = n; // before this no ".." removes anything
    for (const char *at = path + strspn(path, "/"); *at; at += strspn(at, "/")) {
        size_t len = strcspn(at, "/");
        bool up = len == 2 && strncmp(at, "..", 2) == 0;
        if (up && n > fixed) {
            while (n > fixed && out[n - 1] != '/')
                n--;
            n -= n > fixed;
        } else if (!(len == 1 && *at == '.') && !(up && root)) {
            if (n > root)
                out[n++] = '/';
            memcpy(out + n, at, len);
            n += len;
            fixed = up ? n : fixed;
        }
        at += len;
    }
    strcpy(out + n, n ? "" : ".");
    return out;
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

bool path_is_read_only(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && ((st.st_mode & 0222) == 0 || access(path, W_OK) < 0);
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
    // A folder of ours that nobody may read; overlayfs leaves such folders behind.
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

int fd_memory(const char *name)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING, no_exec = 0x0008; // MFD_NOEXEC_SEAL
    int fd = memfd_create(name, flags | no_exec);
    return fd < 0 && errno == EINVAL ? memfd_create(name, flags) : fd; // Linux before 6.3
}

void fd_close_at(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

int fd_read_all(int fd, buf *out, size_t limit, err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_errno(e, errno, "cannot read");
    if (S_ISDIR(st.st_mode))
        return err_errno(e, EISDIR, "cannot read");
    size_t before = out->len, chunk = st.st_size > 65536 ? 1 << 20 : 65536;
    for (;;) {
        buf_reserve(out, chunk);
        ssize_t n = read(fd, out->data + out->len, chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, errno, "cannot read");
        out->len += (size_t)n;
        out->data[out->len] = '\0';
        if (limit && out->len - before > limit)
            return err_set(e, ERR_LIMIT, "it is larger than %zu bytes", limit);
        if (n == 0)
            return 0;
    }
}

int path_read(const char *path, buf *out, size_t limit, err *e)
{
    if (!*path)
        return err_set(e, ERR_NOT_FOUND, "the name of the file is empty");
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, errno, "cannot read %s", path);
    return fd_read_all(fd, out, limit, e) < 0 ? err_wrap(e, "%s", path) : 0;
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

int fd_sync_folder(int dir)
{
    if (fsync(dir) == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS)
        return 0; // some file systems cannot sync a folder
    return -1;
}

// A folder that we may write but not read cannot be synced.
static int sync_folder_of(const char *path)
{
    AUTO_FREE char *dir = path_dirname(path);
    AUTO_FD fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? (errno == EACCES ? 0 : -1) : fd_sync_folder(fd);
}

// Makes a new file beside path. open(2) applies the umask to `mode`; we cannot read the umask
// without changing it for every other thread.
static int open_temp(const char *path, mode_t mode, char **temp)
{
    for (int tries = 0; tries < 16; tries++) {
        char digits[9];
        random_hex(digits, 4);
        free(*temp);
        *temp = str_fmt("%s.%s.tmp", path, digits);
        int fd = open(*temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

// Only root may give a file away; anybody else keeps it, as an editor would.
static int take_over(int fd, const struct stat *like, mode_t mode)
{
    if (fchown(fd, like->st_uid, like->st_gid) < 0)
        mode &= (mode_t) ~(S_ISUID | S_ISGID);
    return fchmod(fd, mode);
}

// like: the new file gets the owner of this one and exactly `mode`; NULL: no other file's owner.
static int replace(
    const char *path, const void *bytes, size_t n, mode_t mode, const struct stat *like, err *e)
{
    AUTO_FREE char *temp = NULL;
    AUTO_FD fd = open_temp(path, like ? 0600 : mode, &temp);
    if (fd < 0)
        return err_errno(e, errno, "cannot write %s", path);
    if (fd_write_all(fd, bytes, n, e) < 0 ||
        (((like && take_over(fd, like, mode) < 0) || fsync(fd) < 0 || rename(temp, path) < 0) &&
            err_errno(e, errno, "cannot write") < 0)) {
        unlink(temp);
        return err_wrap(e, "%s", path);
    }
    if (sync_folder_of(path) < 0)
        return err_errno(e, errno, "%s is written, but its folder cannot be synced", path);
    return 0;
}

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "a folder"
           : S_ISLNK(mode)  ? "a symbolic link"
           : S_ISFIFO(mode) ? "a named pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

static int refuse_kind(const char *path, mode_t mode, err *e)
{
    return err_set(
        e, ERR_EXISTS, "cannot write %s: it is %s, which is not replaced", path, kind_of(mode));
}

int path_write(const char *path, const void *bytes, size_t n, mode_t mode, err *e)
{
    struct stat was;
    if (lstat(path, &was) == 0 && !S_ISREG(was.st_mode))
        return refuse_kind(path, was.st_mode, e);
    return replace(path, bytes, n, mode, NULL, e);
}

// /dev/stdout and the like name a descriptor that is already open. If it is a file, we append to it
// instead of replacing it.
static int named_descriptor(const char *path)
{
    int64_t fd;
    if (str_eq(path, "/dev/stdout"))
        return STDOUT_FILENO;
    if (str_eq(path, "/dev/stderr"))
        return STDERR_FILENO;
    bool named = str_starts(path, "/dev/fd/") && str_to_int(path + strlen("/dev/fd/"), &fd);
    return named && fd >= 0 && fd <= INT_MAX ? (int)fd : -1;
}

static int refuse_missing(const char *path, err *e)
{
    char target[PATH_MAX];
    ssize_t n = readlink(path, target, sizeof target - 1);
    target[n > 0 ? n : 0] = '\0';
    return err_set(e, ERR_NOT_FOUND,
        "cannot write %s: it is a symbolic link to %s, which is not there; make that file, or "
        "remove the link",
        path, target);
}

// Writes into a device or a pipe, as a shell's ">" does, but does not wait for a reader.
static int write_into(const char *path, const void *bytes, size_t n, err *e)
{
    struct stat is;
    AUTO_FD fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENXIO)
        return err_set(e, ERR_UNAVAILABLE, "cannot write %s: nobody reads from it", path);
    if (fd < 0 || fstat(fd, &is) < 0 || fcntl(fd, F_SETFL, O_WRONLY) < 0)
        return err_errno(e, errno, "cannot write %s", path);
    if (!S_ISCHR(is.st_mode) && !S_ISFIFO(is.st_mode))
        return refuse_kind(path, is.st_mode, e);
    return fd_write_all(fd, bytes, n, e) < 0 ? err_wrap(e, "%s", path) : 0;
}

// The real name of an open file, after all links. Without /proc, follows the links itself.
static char *name_of(int fd, const char *path)
{
    char name[PATH_MAX];
    AUTO_FREE char *link = str_fmt("/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, name, sizeof name - 1);
    return n > 0 ? mem_strndup(name, (size_t)n) : realpath(path, NULL);
}

int path_update(const char *path, const void *bytes, size_t n, mode_t mode, err *e)
{
    struct stat was;
    int named = named_descriptor(path);
    if (named >= 0)
        return fd_write_all(named, bytes, n, e) < 0 ? err_wrap(e, "%s", path) : 0;
    // Open it, so that the system judges the links on the way (fs.protected_symlinks).
    AUTO_FD at = open(path, O_PATH | O_CLOEXEC);
    if (at < 0 && errno == ENOENT)
        return lstat(path, &was) == 0 ? refuse_missing(path, e)
                                      : replace(path, bytes, n, mode, NULL, e);
    if (at < 0 || fstat(at, &was) < 0)
        return err_errno(e, errno, "cannot write %s", path);
    if (S_ISCHR(was.st_mode) || S_ISFIFO(was.st_mode))
        return write_into(path, bytes, n, e);
    if (!S_ISREG(was.st_mode))
        return refuse_kind(path, was.st_mode, e);
    AUTO_FREE char *real = name_of(at, path);
    if (!real)
        return err_errno(e, errno, "cannot write %s", path);
    // A file that was to be private (mode 0600) becomes private even if it was not.
    mode_t keeps = was.st_mode & (mode & 077 ? 07777 : 07700);
    return replace(real, bytes, n, keeps, &was, e);
}

// A file is replaced, so its folder has to take the new one.
static int may_replace(const char *path, err *e)
{
    AUTO_FREE char *folder = path_dirname(path);
    return access(folder, W_OK | X_OK) < 0 ? err_errno(e, errno, "cannot write %s", path) : 0;
}

int path_may_update(const char *path, err *e)
{
    struct stat is;
    int named = named_descriptor(path);
    if (named >= 0)
        return fcntl(named, F_GETFL) < 0 ? err_errno(e, errno, "cannot write %s", path) : 0;
    AUTO_FD at = open(path, O_PATH | O_CLOEXEC);
    if (at < 0 && errno == ENOENT)
        return lstat(path, &is) == 0 ? refuse_missing(path, e) : may_replace(path, e);
    if (at < 0 || fstat(at, &is) < 0)
        return err_errno(e, errno, "cannot write %s", path);
    if (S_ISCHR(is.st_mode) || S_ISFIFO(is.st_mode)) // a reader of the pipe may come later
        return access(path, W_OK) < 0 ? err_errno(e, errno, "cannot write %s", path) : 0;
    if (!S_ISREG(is.st_mode))
        return refuse_kind(path, is.st_mode, e);
    AUTO_FREE char *real = name_of(at, path);
    return real ? may_replace(real, e) : err_errno(e, errno, "cannot write %s", path);
}
