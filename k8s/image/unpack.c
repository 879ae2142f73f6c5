// SPDX-License-Identifier: MIT
// Every name from a layer is resolved by base/os/inside.h as in a chroot: for "..", absolute names
// and symbolic links the root folder is "/". So no entry can lead out of it, even if an earlier
// entry prepared a link for that. The last part of a name is never followed.
#include "k8s/image/unpack.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/inside.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/archive_late.h"
#include "k8s/image/index.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 128 << 10, DEPTH_LIMIT = 200 };

struct unpacking {
    int root;
    struct image_limits *left, said; // said: less what the entries' heads say
    char *parent;                    // the folder of the last entry …
    int parent_fd; // … and its descriptor: entries usually come folder by folder
};

static int open_in_root(int root, const char *path)
{
    return inside_open(root, path, O_RDONLY | O_DIRECTORY, INSIDE_ROOT);
}

// "./a//b/" -> "a/b", "/a" -> "a"; "" is the root. NULL for ".." and for names that are too deep.
static char *clean_name(const char *name)
{
    char **parts = strv_split(name, '/');
    buf out = {0};
    bool good = strv_len(parts) < DEPTH_LIMIT;
    for (size_t i = 0; parts[i]; i++) {
        good = good && !str_eq(parts[i], "..");
        if (*parts[i] && !str_eq(parts[i], "."))
            buf_fmt(&out, "%s%s", out.len ? "/" : "", parts[i]);
    }
    strv_free(parts);
    buf_reserve(&out, 1);
    if (good)
        return buf_take(&out);
    buf_done(&out);
    return NULL;
}

// The descriptor of the entry's folder, borrowed; stores the last part of the entry's name.
static int locate(struct unpacking *u, const char *path, const char **name, err *e)
{
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    AUTO_FREE char *parent = mem_strndup(path, slash ? (size_t)(slash - path) : 0);
    if (u->parent_fd >= 0 && str_eq(parent, u->parent))
        return u->parent_fd;
    int fd = inside_make_dirs(u->root, parent, 0755, INSIDE_ROOT);
    if (fd < 0)
        return err_errno(e, errno, "cannot make the folder of %s", path);
    if (u->parent_fd >= 0)
        close(u->parent_fd);
    free(u->parent);
    u->parent = STEAL(parent);
    return u->parent_fd = fd;
}

// As path_remove, but relative to the folder's descriptor.
static int remove_at(int dir, const char *name, err *e)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return 0;
    AUTO_FREE char *path = str_fmt("/proc/self/fd/%d/%s", dir, name);
    return path_remove(path, e);
}

static int corrupt(struct archive *a, err *e)
{
    const char *why = archive_error_string(a);
    return err_set(e, ERR_CORRUPT, "%s", why ? why : "it cannot be read");
}

static int take(int64_t *left, int64_t n, const char *what, err *e)
{
    if (n < 0 || n > *left)
        return err_set(e, ERR_LIMIT, "the image has more %s than are allowed", what);
    *left -= n;
    return 0;
}

int image_unpack_data(struct archive *a, int fd, int64_t size, const char *path, err *e)
{
    const void *bytes;
    size_t n;
    la_int64_t offset;
    int got;
    while ((got = archive_read_data_block(a, &bytes, &n, &offset)) == ARCHIVE_OK)
        if (offset > size || (la_int64_t)n > size - offset)
            return err_set(e, ERR_CORRUPT, "%s has more bytes than it says", path);
        else if (lseek(fd, offset, SEEK_SET) < 0 || fd_write_all(fd, bytes, n, NULL))
            return err_errno(e, errno, "cannot write %s", path);
    return got == ARCHIVE_EOF ? 0 : corrupt(a, e);
}

static int unpack_file(struct unpacking *u, struct archive *a, struct archive_entry *x, int dir,
    const char *name, const char *path, err *e)
{
    AUTO_FD fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(e, errno, "cannot make %s", path);
    la_int64_t size = archive_entry_size(x);
    if (take(&u->left->bytes, size, "bytes", e) || image_unpack_data(a, fd, size, path, e))
        return -1;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = archive_entry_mtime(x)}};
    // All files become ours, so a set-uid bit would get another meaning: it is dropped.
    // A sparse file may end in a hole.
    if (ftruncate(fd, size) || fchmod(fd, (archive_entry_perm(x) & 0777) | 0600) ||
        futimens(fd, times))
        return err_errno(e, errno, "cannot write %s", path);
    return 0;
}

static int unpack_dir(struct unpacking *u, struct archive_entry *x, int dir, const char *name,
    const char *path, err *e)
{
    struct stat st;
    bool there = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && !S_ISDIR(st.st_mode) && remove_at(dir, name, e))
        return -1;
    mode_t mode = (archive_entry_perm(x) & 01777) | 0700; // later entries must be able to enter it
    if ((!there || !S_ISDIR(st.st_mode)) && mkdirat(dir, name, mode))
        return err_errno(e, errno, "cannot make %s", path);
    return fchmodat(dir, name, mode, 0) ? err_errno(e, errno, "cannot make %s", path) : 0;
}

static int unpack_hard_link(
    struct unpacking *u, const char *to, int dir, const char *name, const char *path, err *e)
{
    AUTO_FREE char *target = clean_name(to);
    if (!target || !*target)
        return err_set(e, ERR_CORRUPT, "%s is a link to %s, outside of the image", path, to);
    AUTO_FREE char *above = path_dirname(target), *last = path_basename(target);
    AUTO_FD from = open_in_root(u->root, above);
    if (from < 0 || linkat(from, last, dir, name, 0))
        return err_errno(e, errno, "cannot link %s to %s", path, to);
    return 0;
}

static int unpack_entry(
    struct unpacking *u, struct archive *a, struct archive_entry *x, const char *path, err *e)
{
    const char *name, *hard = archive_entry_hardlink(x);
    mode_t type = archive_entry_filetype(x);
    int dir = locate(u, path, &name, e);
    if (dir < 0 || take(&u->left->files, 1, "files", e))
        return -1;
    if (!hard && type == AE_IFDIR)
        return unpack_dir(u, x, dir, name, path, e);
    if (!hard && type != AE_IFREG && type != AE_IFLNK)
        return 0; // devices, sockets, pipes: a pod has its own ones
    if (remove_at(dir, name, e))
        return -1;
    if (hard)
        return unpack_hard_link(u, hard, dir, name, path, e);
    if (type == AE_IFREG)
        return unpack_file(u, a, x, dir, name, path, e);
    const char *to = archive_entry_symlink(x);
    return to && symlinkat(to, dir, name) == 0 ? 0 : err_errno(e, errno, "cannot link %s", path);
}

static int clear_dir(int dir, err *e)
{
    DIR *d = fdopendir(fcntl(dir, F_DUPFD_CLOEXEC, 0));
    if (!d)
        return err_errno(e, errno, "cannot read a folder of the image");
    int status = 0;
    for (struct dirent *f; status == 0 && (f = readdir(d));)
        if (!str_eq(f->d_name, ".") && !str_eq(f->d_name, ".."))
            status = remove_at(dir, f->d_name, e);
    closedir(d);
    return status;
}

// Removes entries of the layers below: one name, or with ".wh..wh..opq" all of a folder.
static int whiteout(struct unpacking *u, const char *path, err *e)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    AUTO_FREE char *above = mem_strndup(path, slash ? (size_t)(slash - path) : 0);
    AUTO_FD dir = open_in_root(u->root, above);
    if (dir < 0)
        return 0; // there is nothing to remove
    if (!str_eq(name, ".wh..wh..opq"))
        return name[4] && !str_eq(name + 4, ".") && !str_eq(name + 4, "..")
                   ? remove_at(dir, name + 4, e)
                   : err_set(e, ERR_CORRUPT, "%s is not a whiteout", path);
    return clear_dir(dir, e);
}

// What the archive reads, so that a layer of any size can be interrupted.
struct input {
    int fd;
    const struct work_watch *watch;
    bool stopped;
    int error; // errno of a read that failed
    char bytes[CHUNK];
};

static la_ssize_t on_read(struct archive *a, void *arg, const void **bytes)
{
    struct input *in = arg;
    ssize_t n;
    *bytes = in->bytes;
    in->stopped = !work_goes_on(in->watch);
    if (in->stopped)
        return -1;
    do
        n = read(in->fd, in->bytes, sizeof in->bytes);
    while (n < 0 && errno == EINTR);
    in->error = n < 0 ? errno : 0;
    work_step(work_of(in->watch), n > 0 ? n : 0);
    return n;
}

static struct archive *open_tar(struct input *in, err *e)
{
    if (archive_late(e) != 0)
        return NULL;
    struct archive *a = archive_read_new();
    archive_read_support_filter_gzip(a);
    archive_read_support_filter_zstd(a);
    archive_read_support_format_tar(a);
    archive_read_support_format_empty(a);
    if (lseek(in->fd, 0, SEEK_SET) == 0 &&
        archive_read_open(a, in, NULL, on_read, NULL) == ARCHIVE_OK)
        return a;
    corrupt(a, e);
    archive_read_free(a);
    return NULL;
}

// A layer is read twice: its whiteouts apply to the layers below, wherever they stand in it.
enum pass { WHITEOUTS, ENTRIES };

static int do_entry(
    struct unpacking *u, struct archive *a, struct archive_entry *x, enum pass pass, err *e)
{
    const char *given = archive_entry_pathname(x);
    AUTO_FREE char *path = given ? clean_name(given) : NULL;
    if (!path)
        return err_set(e, ERR_CORRUPT, "“%s” is not a name below the root",
            given ? str_short(given, 200).text : "(not UTF-8)");
    AUTO_FREE char *name = path_basename(path);
    if (pass == WHITEOUTS && (take(&u->said.files, 1, "files", e) ||
                                 take(&u->said.bytes, archive_entry_size(x), "bytes", e)))
        return -1; // what is skipped is decompressed, too
    if (!*path || str_starts(name, ".wh.") != (pass == WHITEOUTS))
        return 0;
    return pass == WHITEOUTS ? whiteout(u, path, e) : unpack_entry(u, a, x, path, e);
}

static int do_pass(struct unpacking *u, int fd, enum pass pass, err *e)
{
    static const char *const phases[] = {[WHITEOUTS] = "looking through", [ENTRIES] = "unpacking"};
    const struct work_watch *watch = u->left->watch;
    struct stat st = {0};
    fstat(fd, &st);
    work_phase(work_of(watch), phases[pass], WORK_BYTES, st.st_size);
    AUTO_FREE struct input *in = mem_alloc(sizeof *in);
    in->fd = fd;
    in->watch = watch;
    struct archive *a = open_tar(in, e);
    if (!a)
        return -1;
    struct archive_entry *x;
    int got, status = 0;
    while (status == 0 && (got = archive_read_next_header(a, &x)) != ARCHIVE_EOF)
        status =
            got == ARCHIVE_OK || got == ARCHIVE_WARN ? do_entry(u, a, x, pass, e) : corrupt(a, e);
    archive_read_free(a);
    if (status && in->stopped)
        return err_set(e, ERR_CANCELLED, "interrupted");
    return status && in->error ? err_errno(e, in->error, "cannot read the layer") : status;
}

int image_unpack_layer(int fd, const char *root, struct image_limits *left, err *e)
{
    struct unpacking u = {.left = left, .said = *left, .parent_fd = -1};
    u.root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (u.root < 0)
        return err_errno(e, errno, "cannot open %s", root);
    int status = do_pass(&u, fd, WHITEOUTS, e) || do_pass(&u, fd, ENTRIES, e) ? -1 : 0;
    if (u.parent_fd >= 0)
        close(u.parent_fd);
    free(u.parent);
    close(u.root);
    return status;
}

static int unpack_blob(
    const image_store *s, const oci_digest *d, const char *root, struct image_limits *left, err *e)
{
    AUTO_FREE char *path = image_store_blob_path(s, d);
    char sum[SHA256_HEX];
    int64_t size = 0;
    image_store_has(s, d, &size);
    work_phase(work_of(left->watch), "verifying", WORK_BYTES, size);
    if (sha256_read(path, left->watch, &size, sum, e))
        return -1;
    if (!str_eq(sum, oci_digest_hex(d)))
        return err_set(e, ERR_CORRUPT, "the blob is damaged: its content has sha256:%s", sum);
    AUTO_FD fd = image_store_blob(s, d, NULL, e);
    return fd < 0 ? -1 : image_unpack_layer(fd, root, left, e);
}

static int read_manifest(const image_store *s, const oci_digest *d, oci_manifest *m, err *e)
{
    oci_descriptor found;
    return image_store_find(s, d->text, &found, e) || image_store_manifest(s, &found.digest, m, e)
               ? -1
               : 0;
}

static int unpack_all(const image_store *s, const oci_digest *manifest, const char *root,
    struct image_limits left, err *e)
{
    CLEANUP(oci_manifest_done) oci_manifest m = {0};
    if (read_manifest(s, manifest, &m, e) || path_make_dirs(root, 0755, e))
        return -1;
    for (size_t i = 0; i < m.layer_n; i++)
        if (unpack_blob(s, &m.layers[i].digest, root, &left, e))
            return err_wrap(e, "layer %zu (%.19s…)", i + 1, m.layers[i].digest.text);
    return 0;
}

static int lock_cache(const char *cache, err *e)
{
    AUTO_FREE char *path = path_join(cache, ".lock");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(e, errno, "cannot open %s", path);
    while (flock(fd, LOCK_EX))
        if (errno != EINTR) {
            err_errno(e, errno, "cannot lock %s", path);
            close(fd);
            return -1;
        }
    return fd;
}

enum { BOOT_MAX = 64 };

// Differs after each start of the machine; empty where there is no /proc.
static void boot_id(buf *out)
{
    buf_clear(out);
    path_read("/proc/sys/kernel/random/boot_id", out, BOOT_MAX, NULL);
}

// A tree is renamed into its place without a sync, which would take longer than the unpacking. So
// only a crash of the machine can lose parts of it, and a tree from before the last start is not
// trusted.
static bool is_whole(const char *place, const char *root)
{
    AUTO_FREE char *path = path_join(place, "boot");
    AUTO_BUF was = {0}, is = {0};
    boot_id(&is);
    return path_is_dir(root) && path_read(path, &was, BOOT_MAX, NULL) == 0 &&
           str_eq(buf_cstr(&was), buf_cstr(&is));
}

static int write_boot(const char *place, err *e)
{
    AUTO_FREE char *path = path_join(place, "boot");
    AUTO_BUF is = {0};
    boot_id(&is);
    return path_write(path, buf_cstr(&is), is.len, 0600, e);
}

// Under the cache's lock: removes what a killed unpacking left behind, then unpacks all or nothing.
static int fill(const image_store *s, const oci_digest *manifest, const char *cache,
    const char *place, const struct image_limits *limits, err *e)
{
    AUTO_FREE char *partial = path_join(cache, ".partial"), *root = path_join(partial, "rootfs");
    if (path_remove(partial, e) || path_remove(place, e))
        return -1;
    struct image_limits left = {
        limits && limits->bytes ? limits->bytes : INT64_C(32) << 30,
        limits && limits->files ? limits->files : 1000000,
        limits ? limits->watch : NULL,
    };
    if (unpack_all(s, manifest, root, left, e) == 0 && write_boot(partial, e) == 0) {
        if (rename(partial, place) == 0)
            return 0;
        err_errno(e, errno, "cannot make %s", place);
    }
    path_remove(partial, NULL);
    return err_wrap(e, "unpacking image %s", manifest->text);
}

char *image_unpack(const image_store *s, const oci_digest *manifest, const char *cache,
    const struct image_limits *limits, err *e)
{
    AUTO_FREE char *place = path_join(cache, oci_digest_hex(manifest));
    char *root = path_join(place, "rootfs");
    if (is_whole(place, root))
        return root;
    if (path_make_dirs(cache, 0700, e) == 0) {
        AUTO_FD lock = lock_cache(cache, e);
        if (lock >= 0 && (is_whole(place, root) || fill(s, manifest, cache, place, limits, e) == 0))
            return root;
    }
    free(root);
    return NULL;
}

static char **strings(const cJSON *list)
{
    char **v = cJSON_IsArray(list) ? mem_alloc(sizeof *v) : NULL;
    const cJSON *item;
    cJSON_ArrayForEach(item, list) if (v && cJSON_IsString(item)) v =
        strv_add(v, item->valuestring);
    return v;
}

int image_config_read(
    const image_store *s, const oci_digest *manifest, struct image_config *c, err *e)
{
    *c = (struct image_config){0};
    CLEANUP(oci_manifest_done) oci_manifest m = {0};
    if (read_manifest(s, manifest, &m, e))
        return -1;
    AUTO_JSON *json = image_store_read_json(s, &m.config.digest, e);
    if (!json)
        return -1;
    const cJSON *run = json_get(json, "config");
    c->env = strings(json_get(run, "Env"));
    c->entrypoint = strings(json_get(run, "Entrypoint"));
    c->cmd = strings(json_get(run, "Cmd"));
    c->working_dir = mem_strdup(json_str(run, "WorkingDir"));
    c->user = mem_strdup(json_str(run, "User"));
    return 0;
}

void image_config_done(struct image_config *c)
{
    strv_free(c->env);
    strv_free(c->entrypoint);
    strv_free(c->cmd);
    free(c->working_dir);
    free(c->user);
    *c = (struct image_config){0};
}
