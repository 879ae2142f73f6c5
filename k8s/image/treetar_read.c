// SPDX-License-Identifier: MIT
// Takes a tree out of a stranger's tar. Names are opened below the target without passing a link
// (base/os/inside.h), whether it was there or is one of the stream. So links are made last, when
// all folders are there that they may lead to: only those that stay below the target then.
#include "k8s/image/treetar.h"

#include "base/data/hashmap.h"
#include "base/mem.h"
#include "base/os/inside.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/archive_late.h"
#include "k8s/image/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 64 << 10, ROUNDS = 40, FOLDER = O_RDONLY | O_DIRECTORY };

// What is done when the whole stream is known.
struct later {
    char *path; // below the target
    char *to;   // of a link; NULL: it was dropped. Of a folder: NULL
    mode_t mode;
    struct timespec time;
};
struct list {
    struct later *at;
    size_t n, room;
};

struct reading {
    struct archive *in;
    char *top;        // the wanted name in the stream
    const char *here; // the target, as people call it
    int above;        // the folder that it is in,
    char *name;       // its name there,
    int target;       // and itself, when it is a folder; -1: it is not there yet
    bool was_folder, any;
    int parent;        // the folder of the last entry …
    char *parent_path; // … below the target: entries usually come folder by folder
    struct list links, folders;
    hashmap *link_at; // in `links`, by path
    struct treetar_told *told;
};

static struct later *add_later(struct list *l, const char *path, const char *to)
{
    if (l->n == l->room) {
        l->room = l->room ? 2 * l->room : 64;
        l->at = mem_resize(l->at, l->room, sizeof *l->at);
    }
    l->at[l->n] = (struct later){.path = mem_strdup(path), .to = mem_strdup(to)};
    return &l->at[l->n++];
}

static void list_done(struct list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->at[i].path);
        free(l->at[i].to);
    }
    free(l->at);
}

static void reading_done(struct reading *r)
{
    fd_close_at(&r->above);
    fd_close_at(&r->target);
    fd_close_at(&r->parent);
    free(r->top);
    free(r->name);
    free(r->parent_path);
    list_done(&r->links);
    list_done(&r->folders);
    hashmap_free(r->link_at);
}

// "./a//b/" -> "a/b"; "" is the top. NULL: it has "..".
static char *clean_name(const char *name)
{
    char **parts = strv_split(name, '/');
    AUTO_BUF out = {0};
    bool good = true;
    for (size_t i = 0; parts[i]; i++) {
        good = good && !str_eq(parts[i], "..");
        if (*parts[i] && !str_eq(parts[i], "."))
            buf_fmt(&out, "%s%s", out.len ? "/" : "", parts[i]);
    }
    strv_free(parts);
    return good ? mem_strdup(buf_cstr(&out)) : NULL;
}

// What is left of the path below `top`: "", or "a/b"; new. NULL: it is not below.
static char *below(const char *top, const char *path)
{
    AUTO_FREE char *clean = path && strlen(path) < PATH_MAX ? clean_name(path) : NULL;
    size_t n = strlen(top);
    if (!clean)
        return NULL;
    if (n == 0 || str_eq(clean, top))
        return mem_strdup(n == 0 ? clean : "");
    return strncmp(clean, top, n) == 0 && clean[n] == '/' ? mem_strdup(clean + n + 1) : NULL;
}

static int strange(const char *path, err *e)
{
    return err_set(e, ERR_INVALID,
        "the stream has “%s”, which is not below what was asked for: nothing of it is taken",
        path ? str_short(path, 200).text : "(no name)");
}

// Refusals

static int refuse_link(int dir, const char *name, const char *shown, err *e)
{
    char to[PATH_MAX];
    ssize_t n = readlinkat(dir, name, to, sizeof to);
    return err_set(e, ERR_EXISTS,
        "%s is a link to %.*s here: it is neither replaced nor written through. Move it away, or "
        "copy to the place that it leads to",
        shown, n > 0 ? (int)n : 1, n > 0 ? to : "?");
}

// The folder of `path` could not be opened: which link is in the way?
static int refuse_way(const struct reading *r, const char *path, int number, err *e)
{
    for (const char *slash = path; number == ELOOP && slash; slash = strchr(slash + 1, '/')) {
        AUTO_FREE char *part = mem_strndup(
                           path, slash == path ? strcspn(path, "/") : (size_t)(slash - path)),
                       *shown = path_join(r->here, part);
        AUTO_FD fd = inside_open(r->target, part, O_PATH | O_NOFOLLOW, INSIDE_NO_LINKS);
        struct stat st;
        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode))
            return refuse_link(fd, "", shown, e);
    }
    AUTO_FREE char *shown = path_join(r->here, path);
    return err_errno(e, number, "cannot make the folder of %s", shown);
}

// Places

static int open_target(struct reading *r, err *e)
{
    if (r->target >= 0)
        return 0;
    bool made = mkdirat(r->above, r->name, 0777) == 0;
    if (!made && errno != EEXIST)
        return err_errno(e, errno, "cannot make %s", r->here);
    r->target = openat(r->above, r->name, FOLDER | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (r->target < 0 && fstatat(r->above, r->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(st.st_mode))
        return refuse_link(r->above, r->name, r->here, e);
    return r->target < 0 ? err_errno(e, ENOTDIR, "%s", r->here) : 0;
}

// The link of the stream at this place; NULL: none.
static struct later *link_at(const struct reading *r, const char *path, size_t n)
{
    size_t at;
    return hashmap_get(r->link_at, path, n, &at) ? &r->links.at[at] : NULL;
}

// A later entry of one name counts.
static void drop_link(struct reading *r, const char *path)
{
    struct later *l = link_at(r, path, strlen(path));
    if (!l)
        return;
    free(STEAL(l->to));
    hashmap_remove(r->link_at, path, strlen(path));
}

// Where an entry goes.
struct place {
    int dir; // borrowed
    const char *name;
    char *path;  // below the target; NULL: it is the target itself
    char *shown; // for people
};

static void place_done(struct place *p)
{
    free(p->path);
    free(p->shown);
}

static bool passes_link(const struct reading *r, const char *path)
{
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/'))
        if (link_at(r, path, (size_t)(slash - path)))
            return true;
    return false;
}

// Opens the folder of a path below the target; makes it.
static int open_parent(struct reading *r, const char *path, err *e)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *parent = mem_strndup(path, slash ? (size_t)(slash - path) : 0);
    if (open_target(r, e))
        return -1;
    if (r->parent >= 0 && str_eq(parent, r->parent_path))
        return 0;
    int fd = inside_make_dirs(r->target, parent, 0777, INSIDE_NO_LINKS);
    if (fd < 0)
        return refuse_way(r, path, errno, e);
    fd_close_at(&r->parent);
    r->parent = fd;
    free(r->parent_path);
    r->parent_path = STEAL(parent);
    return 0;
}

// rest: what the entry's name has below the top.
static int place_of(struct reading *r, const char *rest, struct place *p, err *e)
{
    *p = (struct place){.dir = r->above, .name = r->name, .shown = mem_strdup(r->here)};
    if (!*rest && !r->was_folder)
        return 0;
    p->path = *rest ? mem_strdup(rest) : path_basename(r->top);
    free(p->shown);
    p->shown = path_join(r->here, p->path);
    if (passes_link(r, p->path))
        return err_set(e, ERR_INVALID,
            "the stream has “%s” below a link of its own: nothing more of it is taken",
            str_short(rest, 200).text);
    if (open_parent(r, p->path, e))
        return -1;
    const char *slash = strrchr(p->path, '/');
    p->dir = r->parent;
    p->name = slash ? slash + 1 : p->path;
    return 0;
}

// Makes room for a file: of what is there, only a file goes.
static int make_room(struct reading *r, const struct place *p, err *e)
{
    struct stat st;
    if (p->path)
        drop_link(r, p->path);
    if (fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : err_errno(e, errno, "%s", p->shown);
    if (S_ISLNK(st.st_mode))
        return refuse_link(p->dir, p->name, p->shown, e);
    if (S_ISDIR(st.st_mode))
        return err_set(e, ERR_EXISTS, "%s is a folder here, and none in the stream", p->shown);
    return unlinkat(p->dir, p->name, 0) ? err_errno(e, errno, "cannot replace %s", p->shown) : 0;
}

// Entries

static struct timespec time_of(struct archive_entry *x)
{
    return (struct timespec){archive_entry_mtime(x), archive_entry_mtime_nsec(x)};
}

static int take_file(struct reading *r, struct archive_entry *x, const struct place *p, err *e)
{
    if (make_room(r, p, e))
        return -1;
    AUTO_FD fd =
        openat(p->dir, p->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(e, errno, "cannot make %s", p->shown);
    int64_t size = archive_entry_size(x);
    if (image_unpack_data(r->in, fd, size, p->shown, e)) {
        unlinkat(p->dir, p->name, 0); // half a file is no file
        return -1;
    }
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, time_of(x)};
    if (ftruncate(fd, size) || fchmod(fd, archive_entry_perm(x) & 0777) || futimens(fd, times))
        return err_errno(e, errno, "cannot write %s", p->shown);
    r->told->files++;
    r->told->bytes += size;
    return 0;
}

static int take_folder(struct reading *r, struct archive_entry *x, const char *rest, err *e)
{
    CLEANUP(place_done) struct place p = {0};
    struct stat st;
    bool top = !*rest, made;
    if (top ? open_target(r, e) : place_of(r, rest, &p, e))
        return -1;
    made = top ? !r->was_folder : mkdirat(p.dir, p.name, 0700) == 0;
    if (!top && !made && fstatat(p.dir, p.name, &st, AT_SYMLINK_NOFOLLOW))
        return err_errno(e, errno, "cannot make %s", p.shown);
    if (!top && !made && !S_ISDIR(st.st_mode)) {
        if (make_room(r, &p, e))
            return -1;
        if (mkdirat(p.dir, p.name, 0700))
            return err_errno(e, errno, "cannot make %s", p.shown);
        made = true;
    }
    drop_link(r, rest);
    if (made) { // one that was there keeps its looks
        struct later *l = add_later(&r->folders, rest, NULL);
        l->mode = archive_entry_perm(x) & 0777;
        l->time = time_of(x);
    }
    return 0;
}

static void take_link(struct reading *r, const char *path, const char *to, struct archive_entry *x)
{
    drop_link(r, path);
    add_later(&r->links, path, to)->time = time_of(x);
    hashmap_set(r->link_at, path, strlen(path), r->links.n - 1);
}

static int take_hard_link(struct reading *r, struct archive_entry *x, const struct place *p, err *e)
{
    AUTO_FREE char *from = below(r->top, archive_entry_hardlink(x));
    if (!from || !*from || !p->path)
        return strange(archive_entry_hardlink(x), e);
    const struct later *link = link_at(r, from, strlen(from));
    if (link) {
        AUTO_FREE char *same = mem_strdup(link->to);
        take_link(r, p->path, same, x);
        return 0;
    }
    if (str_eq(from, p->path))
        return 0;
    AUTO_FREE char *above = path_dirname(from), *last = path_basename(from);
    AUTO_FD dir = inside_open(
        r->target, str_eq(above, ".") ? "" : above, O_PATH | O_DIRECTORY, INSIDE_NO_LINKS);
    struct stat st;
    if (dir < 0 || fstatat(dir, last, &st, AT_SYMLINK_NOFOLLOW))
        return err_errno(e, errno, "cannot link %s to %s", p->shown, from);
    if (!S_ISREG(st.st_mode))
        return err_set(
            e, ERR_INVALID, "%s is to be the same file as %s, which is none", p->shown, from);
    if (make_room(r, p, e))
        return -1;
    return linkat(dir, last, p->dir, p->name, 0)
               ? err_errno(e, errno, "cannot link %s to %s", p->shown, from)
               : 0;
}

static int take_entry(
    struct reading *r, struct archive_entry *x, const char *given, const char *rest, err *e)
{
    mode_t type = archive_entry_filetype(x);
    const char *to = archive_entry_symlink(x);
    bool hard = archive_entry_hardlink(x);
    if (!hard && type == AE_IFDIR)
        return take_folder(r, x, rest, e) ? -1 : 1;
    CLEANUP(place_done) struct place p = {0};
    bool link = !hard && type == AE_IFLNK, itself = !*rest && !r->was_folder;
    // A link in the place of the target itself leads out of it.
    if ((!hard && type != AE_IFREG && !link) || (link && (!to || *to == '/' || itself))) {
        treetar_leave_out(r->told, given);
        return 0;
    }
    if (place_of(r, rest, &p, e))
        return -1;
    if (link)
        take_link(r, p.path, to, x);
    else if (hard && archive_entry_size(x) == 0)
        return take_hard_link(r, x, &p, e) ? -1 : 1;
    else if (take_file(r, x, &p, e))
        return -1;
    return link ? 0 : 1;
}

static int read_one(struct reading *r, struct archive_entry *x, err *e)
{
    const char *given = archive_entry_pathname(x);
    AUTO_FREE char *rest = given ? below(r->top, given) : NULL;
    if (!rest)
        return strange(given, e);
    r->any = true;
    int taken = take_entry(r, x, given, rest, e);
    r->told->taken += taken > 0;
    return taken < 0 ? -1 : 0;
}

// When all is known

// Makes a link that stays below the target. 0 also for one that is there already.
static int make_link(struct reading *r, const struct later *l, err *e)
{
    AUTO_FREE char *shown = path_join(r->here, l->path);
    char was[PATH_MAX];
    struct stat st;
    if (open_parent(r, l->path, e))
        return -1;
    const char *slash = strrchr(l->path, '/'), *name = slash ? slash + 1 : l->path;
    if (fstatat(r->parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        ssize_t n = readlinkat(r->parent, name, was, sizeof was);
        if (n == (ssize_t)strlen(l->to) && memcmp(was, l->to, (size_t)n) == 0)
            return 0;
        if (S_ISDIR(st.st_mode))
            return err_set(e, ERR_EXISTS, "%s is a folder here, and a link in the stream", shown);
        if (n >= 0)
            return refuse_link(r->parent, name, shown, e);
        if (unlinkat(r->parent, name, 0))
            return err_errno(e, errno, "cannot replace %s", shown);
    }
    if (symlinkat(l->to, r->parent, name))
        return err_errno(e, errno, "cannot make the link %s", shown);
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, l->time};
    utimensat(r->parent, name, times, AT_SYMLINK_NOFOLLOW);
    return 0;
}

static bool stays(const struct reading *r, const struct later *l)
{
    AUTO_FREE char *above = path_dirname(l->path), *whole = path_join(above, l->to);
    return inside_stays(r->target, whole);
}

static void leave_link_out(struct reading *r, const char *path)
{
    AUTO_FREE char *given = path_join(r->top, path); // as the stream has it
    treetar_leave_out(r->told, given);
}

// A link may lead through another one: so those that stay are made, until there are no more.
static int make_links(struct reading *r, err *e)
{
    err first = {0};
    bool more = true;
    for (int round = 0; more && round < ROUNDS; round++) {
        more = false;
        for (size_t i = 0; i < r->links.n; i++) {
            struct later *l = &r->links.at[i];
            if (!l->to || !stays(r, l))
                continue;
            if (make_link(r, l, first.code ? NULL : &first) == 0)
                r->told->taken++;
            free(STEAL(l->to));
            more = true;
        }
    }
    for (size_t i = 0; i < r->links.n; i++)
        if (r->links.at[i].to)
            leave_link_out(r, r->links.at[i].path);
    return first.code ? err_set(e, first.code, "%s", first.text) : 0;
}

// Those within come first: one may be closed to us after this.
static void finish_folders(struct reading *r)
{
    for (size_t i = r->folders.n; i > 0; i--) {
        const struct later *l = &r->folders.at[i - 1];
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, l->time};
        AUTO_FD fd = inside_open(r->target, l->path, FOLDER, INSIDE_NO_LINKS);
        if (fd >= 0) {
            fchmod(fd, l->mode);
            futimens(fd, times);
        }
    }
}

static int damaged(struct archive *a, err *e)
{
    const char *why = archive_error_string(a);
    return err_set(e, ERR_IO, "tar: %s", why ? why : "the stream ended too early");
}

static int read_entries(struct reading *r, err *e)
{
    struct archive_entry *x;
    int got, status = 0;
    while (status == 0 && (got = archive_read_next_header(r->in, &x)) != ARCHIVE_EOF)
        status = got < ARCHIVE_WARN ? damaged(r->in, e) : read_one(r, x, e);
    if (status == 0)
        status = make_links(r, e);
    finish_folders(r);
    if (status == 0 && !r->any)
        return err_set(e, ERR_NOT_FOUND, "%s is not in the stream", r->top);
    if (status == 0 && r->told->taken == 0)
        return err_set(e, ERR_FAILED, "nothing was copied: %s is no file, folder or link inside",
            r->told->first);
    return status;
}

static int read_stream(struct reading *r, int fd, err *e)
{
    r->in = archive_read_new();
    archive_read_support_format_tar(r->in);
    archive_read_support_format_empty(r->in);
    int status = archive_read_open_fd(r->in, fd, BLOCK) == ARCHIVE_OK ? read_entries(r, e)
                                                                      : damaged(r->in, e);
    archive_read_free(r->in);
    return status;
}

int treetar_read(int fd, const char *name, const char *target, struct treetar_told *told, err *e)
{
    *told = (struct treetar_told){0};
    // A target that is a link to a folder is that folder; all others are made where they are named.
    bool folder = path_is_dir(target);
    AUTO_FREE char *real = folder ? path_absolute(target, e) : mem_strdup(target);
    if (!real || archive_late(e) != 0)
        return -1;
    AUTO_FREE char *above = path_dirname(real);
    CLEANUP(reading_done)
    struct reading r = {.top = clean_name(name),
        .here = target,
        .above = -1,
        .name = path_basename(real),
        .target = -1,
        .was_folder = folder,
        .parent = -1,
        .link_at = hashmap_new(),
        .told = told};
    if (!r.top)
        return strange(name, e);
    if (path_make_dirs(above, 0777, e))
        return -1;
    r.above = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
    r.target = folder ? open(real, FOLDER | O_CLOEXEC) : -1;
    if (r.above < 0 || (folder && r.target < 0))
        return err_errno(e, errno, "cannot work in %s", folder ? real : above);
    return read_stream(&r, fd, e);
}
