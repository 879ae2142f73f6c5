// SPDX-License-Identifier: MIT
#include "k8s/image/treetar.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/archive_late.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void treetar_leave_out(struct treetar_told *told, const char *path)
{
    if (told->left_out++ == 0)
        str_fit(told->first, sizeof told->first, path);
}

static void count(struct treetar_told *told, struct archive_entry *x)
{
    told->taken++;
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
        treetar_leave_out(told, path);
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
    if (status == 0 && told->taken == 0)
        return err_set(e, ERR_FAILED, "nothing was copied: %s is no file, folder or link", source);
    return status;
}
