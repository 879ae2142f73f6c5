// SPDX-License-Identifier: MIT
#include "k8s/image/treetar.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "k8s/image/archive_late.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 64 << 10 };

static void leave_out(struct treetar_told *told, const char *path)
{
    if (told->left_out++ == 0)
        snprintf(told->first, sizeof told->first, "%s", path);
}

static void count(struct treetar_told *told, struct archive_entry *x)
{
    if (archive_entry_filetype(x) != AE_IFREG || archive_entry_hardlink(x))
        return;
    told->files++;
    told->bytes += archive_entry_size(x);
}

static int failed(struct archive *a, const char *what, err *e)
{
    const char *why = archive_error_string(a);
    return err_set(e, ERR_IO, "%s: %s", what, why ? why : "the stream ended too early");
}

static int copy_content(
    struct archive *out, struct archive *in, struct archive_entry *x, const char *path, err *e)
{
    const void *bytes;
    size_t n;
    la_int64_t offset, at = 0;
    static const char zeros[4096];
    int got;
    while ((got = archive_read_data_block(in, &bytes, &n, &offset)) == ARCHIVE_OK) {
        while (at < offset) { // a hole of a sparse file
            size_t gap =
                offset - at < (la_int64_t)sizeof zeros ? (size_t)(offset - at) : sizeof zeros;
            if (archive_write_data(out, zeros, gap) < 0)
                return failed(out, path, e);
            at += (la_int64_t)gap;
        }
        if (archive_write_data(out, bytes, n) < 0)
            return failed(out, path, e);
        at += (la_int64_t)n;
    }
    return got == ARCHIVE_EOF ? 0 : failed(in, path, e);
}

// Names below the source become names below `name`.
static int write_one(struct archive *out, struct archive *in, struct archive_entry *x,
    const char *source, const char *name, struct treetar_told *told, err *e)
{
    AUTO_FREE char *path = mem_strdup(archive_entry_pathname(x));
    mode_t type = archive_entry_filetype(x);
    if (type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK) {
        leave_out(told, path);
        return 0;
    }
    size_t skip = strlen(source);
    AUTO_FREE char *there = str_fmt("%s%s", name, strlen(path) > skip ? path + skip : "");
    archive_entry_set_pathname(x, there);
    archive_entry_set_uname(x, NULL);
    archive_entry_set_gname(x, NULL);
    if (archive_write_header(out, x) != ARCHIVE_OK)
        return failed(out, path, e);
    count(told, x);
    return type == AE_IFREG ? copy_content(out, in, x, path, e) : 0;
}

static int write_tree(struct archive *out, struct archive *in, const char *source, const char *name,
    struct treetar_told *told, err *e)
{
    struct archive_entry *x = archive_entry_new();
    int got, status = 0;
    while (status == 0 && (got = archive_read_next_header2(in, x)) != ARCHIVE_EOF) {
        if (got < ARCHIVE_WARN)
            status = failed(in, source, e);
        else
            status = write_one(out, in, x, source, name, told, e);
        archive_read_disk_descend(in);
    }
    archive_entry_free(x);
    return status;
}

int treetar_write(int fd, const char *source, const char *name, struct treetar_told *told, err *e)
{
    *told = (struct treetar_told){0};
    if (archive_late(e) != 0)
        return -1;
    struct archive *in = archive_read_disk_new(), *out = archive_write_new();
    archive_read_disk_set_symlink_hybrid(in); // the source itself may be a link, as for cp
    archive_read_disk_set_behavior(
        in, ARCHIVE_READDISK_NO_ACL | ARCHIVE_READDISK_NO_XATTR | ARCHIVE_READDISK_NO_FFLAGS);
    archive_write_set_format_gnutar(out); // busybox's tar knows its long names
    archive_write_set_bytes_in_last_block(out, 1);
    int status = 0;
    if (archive_read_disk_open(in, source) != ARCHIVE_OK)
        status = failed(in, source, e);
    else if (archive_write_open_fd(out, fd) != ARCHIVE_OK)
        status = failed(out, source, e);
    if (status == 0)
        status = write_tree(out, in, source, name, told, e);
    if (status == 0 && archive_write_close(out) != ARCHIVE_OK)
        status = failed(out, source, e);
    archive_write_free(out);
    archive_read_free(in);
    return status;
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
    AUTO_FREE char *clean = path ? clean_name(path) : NULL;
    size_t n = strlen(top);
    if (!clean)
        return NULL;
    if (n == 0 || str_eq(clean, top))
        return mem_strdup(n == 0 ? clean : "");
    return strncmp(clean, top, n) == 0 && clean[n] == '/' ? mem_strdup(clean + n + 1) : NULL;
}

// Does a link at `path` (below the top, "a/b") lead out of the top? Counts folders down and up.
static bool leads_out(const char *path, const char *to)
{
    int depth = 0;
    bool out = *to == '/';
    for (const char *c = path; *c; c++)
        depth += *c == '/';
    char **parts = strv_split(to, '/');
    for (size_t i = 0; parts[i]; i++) {
        if (str_eq(parts[i], ".."))
            depth--;
        else if (*parts[i] && !str_eq(parts[i], "."))
            depth++;
        out = out || depth < 0;
    }
    strv_free(parts);
    return out;
}

struct reading {
    struct archive *in, *out;
    char *top;   // the wanted name in the stream
    char *place; // the target's own name, in the folder we work in
    bool target_is_dir, any;
    struct treetar_told *told;
};

// The place of an entry, relative to the target's folder; new.
static char *place_of(const struct reading *r, struct archive_entry *x, const char *rest)
{
    if (*rest)
        return str_fmt("%s/%s", r->place, rest);
    AUTO_FREE char *name = path_basename(r->top);
    bool into = r->target_is_dir && archive_entry_filetype(x) != AE_IFDIR;
    return into ? str_fmt("%s/%s", r->place, name) : mem_strdup(r->place);
}

static int strange(const char *path, err *e)
{
    return err_set(e, ERR_INVALID,
        "the stream has “%.200s”, which is not below what was asked for: nothing of it is taken",
        path ? path : "(no name)");
}

static int move_hard_link(struct reading *r, struct archive_entry *x, err *e)
{
    const char *to = archive_entry_hardlink(x);
    AUTO_FREE char *rest = to ? below(r->top, to) : NULL;
    if (!to)
        return 0;
    if (!rest || !*rest)
        return strange(to, e);
    AUTO_FREE char *place = str_fmt("%s/%s", r->place, rest);
    archive_entry_set_hardlink(x, place);
    return 0;
}

static int write_to_disk(struct reading *r, struct archive_entry *x, const char *path, err *e)
{
    if (archive_write_header(r->out, x) < ARCHIVE_WARN)
        return failed(r->out, path, e);
    const void *bytes;
    size_t n;
    la_int64_t offset;
    int got;
    while ((got = archive_read_data_block(r->in, &bytes, &n, &offset)) == ARCHIVE_OK)
        if (archive_write_data_block(r->out, bytes, n, offset) < ARCHIVE_WARN)
            return failed(r->out, path, e);
    if (got != ARCHIVE_EOF)
        return failed(r->in, path, e);
    if (archive_write_finish_entry(r->out) < ARCHIVE_WARN)
        return failed(r->out, path, e);
    count(r->told, x);
    return 0;
}

static int read_one(struct reading *r, struct archive_entry *x, err *e)
{
    const char *given = archive_entry_pathname(x), *link = archive_entry_symlink(x);
    AUTO_FREE char *rest = given ? below(r->top, given) : NULL;
    mode_t type = archive_entry_filetype(x);
    if (!rest)
        return strange(given, e);
    r->any = true;
    bool hard = archive_entry_hardlink(x);
    bool plain = hard || type == AE_IFREG || type == AE_IFDIR || type == AE_IFLNK;
    if (!plain || (!hard && type == AE_IFLNK && (!link || leads_out(rest, link)))) {
        leave_out(r->told, given);
        return 0;
    }
    AUTO_FREE char *path = mem_strdup(given), *place = place_of(r, x, rest);
    if (move_hard_link(r, x, e) != 0)
        return -1;
    archive_entry_set_pathname(x, place);
    archive_entry_set_perm(x, archive_entry_perm(x) & 0777);
    return write_to_disk(r, x, path, e);
}

static int read_entries(struct reading *r, err *e)
{
    struct archive_entry *x;
    int got, status = 0;
    while (status == 0 && (got = archive_read_next_header(r->in, &x)) != ARCHIVE_EOF)
        status = got < ARCHIVE_WARN ? failed(r->in, "tar", e) : read_one(r, x, e);
    if (status == 0 && !r->any)
        status = err_set(e, ERR_NOT_FOUND, "%s is not in the stream", r->top);
    if (status == 0 && archive_write_close(r->out) != ARCHIVE_OK)
        status = failed(r->out, r->place, e);
    return status;
}

// The thread's own working folder: names are then relative, and libarchive can refuse each link on
// their way.
static int work_in(const char *folder, err *e)
{
    if (path_make_dirs(folder, 0777, e) < 0)
        return -1;
    if (unshare(CLONE_FS) != 0 || chdir(folder) != 0)
        return err_errno(e, errno, "cannot work in %s", folder);
    return 0;
}

static int read_stream(struct reading *r, int fd, err *e)
{
    r->in = archive_read_new();
    r->out = archive_write_disk_new();
    archive_read_support_format_tar(r->in);
    archive_read_support_format_empty(r->in);
    archive_write_disk_set_options(
        r->out, ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_UNLINK |
                    ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT |
                    ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS);
    int status = archive_read_open_fd(r->in, fd, BLOCK) == ARCHIVE_OK ? read_entries(r, e)
                                                                      : failed(r->in, "tar", e);
    archive_write_free(r->out);
    archive_read_free(r->in);
    return status;
}

int treetar_read(int fd, const char *name, const char *target, struct treetar_told *told, err *e)
{
    *told = (struct treetar_told){0};
    // A target that is a link to a folder is that folder; all others are made where they are named.
    AUTO_FREE char *real = path_is_dir(target) ? path_absolute(target, e) : mem_strdup(target);
    if (!real || archive_late(e) != 0)
        return -1;
    AUTO_FREE char *folder = path_dirname(real), *place = path_basename(real);
    struct reading r = {
        .top = clean_name(name), .place = place, .target_is_dir = path_is_dir(real), .told = told};
    int status = !r.top ? strange(name, e) : work_in(folder, e);
    if (status == 0)
        status = read_stream(&r, fd, e);
    free(r.top);
    return status;
}
