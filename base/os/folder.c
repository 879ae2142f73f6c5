// SPDX-License-Identifier: MIT
#include "base/os/folder.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PART = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

static int check(int fd, const char *path, err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_errno(e, errno, "%s", path);
    if (st.st_uid != geteuid())
        return err_set(e, ERR_FORBIDDEN,
            "%s belongs to another user (uid %u; you are uid %u), so nothing in it is used: move "
            "it away, or work in another folder",
            path, (unsigned)st.st_uid, (unsigned)geteuid());
    if (st.st_mode & 022)
        return err_set(e, ERR_FORBIDDEN,
            "%s of uid %u can be written by others (mode %04o), so nothing in it is used: "
            "look at what is there, then chmod go-w it, or work in another folder",
            path, (unsigned)st.st_uid, (unsigned)(st.st_mode & 07777));
    return 0;
}

static int explain(int number, const char *path, err *e)
{
    if (number == ELOOP)
        return err_set(e, ERR_FORBIDDEN,
            "%s is a symbolic link, which is not followed there: put a folder in its place, or "
            "work in another folder",
            path);
    return err_errno(e, number, "cannot open the folder %s", path);
}

// With O_NOFOLLOW and O_DIRECTORY, open(2) reports ENOTDIR for a link.
static int open_error(int at, const char *name, int number)
{
    struct stat st;
    bool link = number == ENOTDIR && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISLNK(st.st_mode);
    return link ? ELOOP : number;
}

// Opens the part `name` of the open folder `at`; path is its whole name, for messages.
static int open_part(int at, const char *name, const char *path, bool make, err *e)
{
    AUTO_FD fd = openat(at, name, PART);
    if (fd < 0 && errno == ENOENT && make) {
        if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
            return err_errno(e, errno, "cannot make the folder %s", path);
        if (fd_sync_folder(at) < 0 && errno != EBADF) // EBADF: a folder that we may not read
            return err_errno(e, errno, "cannot sync the folder that %s is in", path);
        fd = openat(at, name, PART);
    }
    if (fd < 0)
        return explain(open_error(at, name, errno), path, e);
    if (check(fd, path, e) < 0)
        return -1;
    int result = fd;
    fd = -1;
    return result;
}

static int open_root(const char *root, err *e)
{
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == EACCES)
        fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? explain(errno, root, e) : fd;
}

int folder_open(const char *root, const char *below, bool make, err *e)
{
    root = *root ? root : ".";
    int fd = open_root(root, e);
    if (fd >= 0 && !*below && check(fd, root, e) < 0) {
        close(fd);
        return -1;
    }
    AUTO_FREE char *path = mem_strdup(root);
    for (const char *part = below; fd >= 0 && *part;) {
        size_t n = strcspn(part, "/");
        AUTO_FREE char *name = mem_strndup(part, n), *above = path;
        part += n + strspn(part + n, "/");
        path = path_join(above, name);
        int next = open_part(fd, name, path, make, e);
        close(fd);
        fd = next;
    }
    return fd;
}

int folder_open_path(const char *path, int parts, bool make, err *e)
{
    AUTO_FREE char *root = mem_strdup(path), *below = mem_strdup("");
    for (; parts > 0; parts--) {
        AUTO_FREE char *above = root, *rest = below, *name = path_basename(root);
        root = path_dirname(above);
        below = *rest ? path_join(name, rest) : mem_strdup(name);
    }
    if (make && path_make_dirs(root, 0700, e) < 0)
        return -1;
    return folder_open(root, below, make, e);
}

int folder_file(int dir, const char *name, int flags, mode_t mode)
{
    struct stat st;
    // Opening a pipe without O_NONBLOCK waits for its other end. O_NONBLOCK changes nothing for a
    // file.
    int fd = openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}
