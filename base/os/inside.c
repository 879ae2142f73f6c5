// SPDX-License-Identifier: MIT
#include "base/os/inside.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINKS_MOST = 40 }; // as Linux itself

// The walk: what openat2 does, by openat and single names. Each part is opened as what it is
// (O_PATH, O_NOFOLLOW); the text of a link is put in front of what is left of the name.
struct walk {
    int root, at; // the folder that was reached; root is the caller's
    enum inside how;
    buf name;   // the path of `at` below root, without links
    char *rest; // what is still to be walked
    int links;
};

static int fails(int number)
{
    errno = number;
    return -1;
}

static void move(struct walk *w, int fd)
{
    if (w->at != w->root)
        close(w->at);
    w->at = fd;
}

static void walk_done(struct walk *w)
{
    int number = errno;
    move(w, w->root);
    buf_done(&w->name);
    free(w->rest);
    errno = number;
}

static void cut_last(buf *name)
{
    const char *slash = strrchr(buf_cstr(name), '/');
    name->len = slash ? (size_t)(slash - name->data) : 0;
    if (name->data)
        name->data[name->len] = '\0';
}

static void add_part(buf *name, const char *part)
{
    buf_fmt(name, "%s%s", name->len ? "/" : "", part);
}

// ".." is not opened: after a rename it may lead out. The names above are opened again instead.
static int go_up(struct walk *w)
{
    if (!w->name.len)
        return w->how == INSIDE_ROOT ? 0 : fails(EXDEV);
    cut_last(&w->name);
    move(w, w->root);
    char **parts = strv_split(buf_cstr(&w->name), '/');
    int status = 0;
    for (char **p = parts; *p && status == 0; p++) {
        int fd = **p ? openat(w->at, *p, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        if (fd >= 0)
            move(w, fd);
        else
            status = **p ? -1 : 0;
    }
    int number = errno;
    strv_free(parts);
    errno = number;
    return status;
}

// Continues with the text of the link `fd`, then with what followed the link's name.
static int follow(struct walk *w, int fd, const char *behind)
{
    char to[PATH_MAX];
    ssize_t n = readlinkat(fd, "", to, sizeof to);
    if (n < 0)
        return -1;
    if (n == 0 || n == (ssize_t)sizeof to)
        return fails(n ? ENAMETOOLONG : ENOENT);
    if (w->how == INSIDE_NO_LINKS || ++w->links > LINKS_MOST)
        return fails(ELOOP);
    if (*to == '/' && w->how != INSIDE_ROOT)
        return fails(EXDEV);
    if (*to == '/') {
        move(w, w->root);
        buf_clear(&w->name);
    }
    char *rest = str_fmt("%.*s%s", (int)n, to, behind);
    free(w->rest);
    w->rest = rest;
    return 0;
}

// Opens or reports the last name as its flags say; fd refers to it.
static int open_last(const struct walk *w, int fd, mode_t mode, const char *part, int flags)
{
    if (!(flags & O_PATH))
        return openat(w->at, part, flags | O_NOFOLLOW | O_CLOEXEC);
    if ((flags & O_DIRECTORY) && !S_ISDIR(mode))
        return fails(ENOTDIR);
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

enum step { FAILED = -1, OPENED, GOES_ON };

// Takes one name off the front of the rest.
static enum step step(struct walk *w, int flags, int *opened)
{
    const char *at = w->rest + strspn(w->rest, "/");
    if (!*at) {
        *opened = openat(w->at, ".", (flags & ~O_NOFOLLOW) | O_CLOEXEC);
        return *opened < 0 ? FAILED : OPENED;
    }
    size_t n = strcspn(at, "/");
    AUTO_FREE char *part = mem_strndup(at, n), *behind = mem_strdup(at + n);
    bool last = !*behind, up = str_eq(part, "..");
    struct stat st = {0};
    AUTO_FD fd = up ? -1 : openat(w->at, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (up ? go_up(w) : fd < 0 || fstat(fd, &st))
        return FAILED;
    if (S_ISLNK(st.st_mode) && !(last && (flags & O_NOFOLLOW)))
        return follow(w, fd, behind) ? FAILED : GOES_ON;
    if (!up && !str_eq(part, "."))
        add_part(&w->name, part);
    if (!up && last && (*opened = open_last(w, fd, st.st_mode, part, flags)) < 0)
        return FAILED;
    if (!up && last)
        return OPENED;
    if (!up && !S_ISDIR(st.st_mode))
        return fails(ENOTDIR);
    if (!up) {
        move(w, fd);
        fd = -1;
    }
    free(w->rest);
    w->rest = STEAL(behind);
    return GOES_ON;
}

static int walk(struct walk *w, int root, const char *path, int flags, enum inside how)
{
    int fd = -1;
    enum step done = GOES_ON;
    *w = (struct walk){.root = root, .at = root, .how = how, .rest = mem_strdup(path)};
    if (strlen(path) >= PATH_MAX)
        return fails(ENAMETOOLONG);
    if (*path == '/' && how != INSIDE_ROOT)
        return fails(EXDEV);
    while (done == GOES_ON)
        done = step(w, flags, &fd);
    return done == OPENED ? fd : -1;
}

// EPERM: a filter older than the call; EAGAIN: a rename got in the way of "..".
static bool is_lacking(int number)
{
    return number == ENOSYS || number == EPERM || number == EAGAIN;
}

int inside_open(int root, const char *path, int flags, enum inside how)
{
    static const unsigned resolve[] = {
        [INSIDE_ROOT] = RESOLVE_IN_ROOT,
        [INSIDE_BENEATH] = RESOLVE_BENEATH,
        [INSIDE_NO_LINKS] = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    struct open_how at = {
        .flags = (unsigned)(flags | O_CLOEXEC), .resolve = resolve[how] | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, root, *path ? path : ".", &at, sizeof at);
    if (fd >= 0 || !is_lacking(errno))
        return fd;
    CLEANUP(walk_done) struct walk w;
    return walk(&w, root, path, flags, how);
}

int inside_make_dirs(int root, const char *path, mode_t mode, enum inside how)
{
    enum { FOLDER = O_RDONLY | O_DIRECTORY };
    int fd = inside_open(root, path, FOLDER, how);
    if (fd >= 0 || errno != ENOENT || !*path)
        return fd;
    AUTO_FREE char *above = path_dirname(path), *name = path_basename(path);
    AUTO_FD parent = inside_make_dirs(root, str_eq(above, ".") ? "" : above, mode, how);
    if (parent < 0 || (mkdirat(parent, name, mode) && errno != EEXIST))
        return -1;
    return openat(parent, name, FOLDER | O_NOFOLLOW | O_CLOEXEC);
}

char *inside_name(int root, const char *path, enum inside how)
{
    CLEANUP(walk_done) struct walk w;
    AUTO_FD fd = walk(&w, root, path, O_PATH, how);
    return fd < 0 ? NULL : mem_strdup(buf_cstr(&w.name));
}

bool inside_stays(int root, const char *path)
{
    CLEANUP(walk_done) struct walk w;
    AUTO_FD fd = walk(&w, root, path, O_PATH, INSIDE_BENEATH);
    return fd >= 0 || (errno == ENOENT && path_is_below(w.rest + strspn(w.rest, "/")));
}
