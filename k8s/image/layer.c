// SPDX-License-Identifier: MIT
// Everything that could differ from run to run is fixed here: order, owners, times, modes, the gzip
// header. Only the version of zlib remains, so it is part of a layer's key.
#include "k8s/image/layer.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/inside.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/archive_late.h"
#include "k8s/image/ignore.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

// For the worker's layer, level 4 takes 2.5 times less time than level 6, and 4 % more space.
enum { GZIP_LEVEL = 4, CHUNK = 128 << 10 };

enum entry_kind { ENTRY_DIR, ENTRY_LINK, ENTRY_BYTES, ENTRY_FILE };
struct entry {
    enum entry_kind kind;
    char *path;
    mode_t mode;
    unsigned uid, gid;
    char *source;                  // ENTRY_LINK: the target; ENTRY_FILE: the file's path
    char *name;                    // ENTRY_FILE from a folder: that folder; NULL: source is opened
    size_t folder;                 // of layer.folders
    buf bytes;                     // ENTRY_BYTES
    int64_t size;                  // ENTRY_FILE: when it was added
    size_t order;                  // order of adding: of two entries with the same path the later
                                   // stays
    char sum[SHA256_HEX];          // of the content, after hashing
    const struct layer_told *told; // called for ENTRY_FILE; NULL: nothing
};
struct folder {
    int fd;
    char *path;
};
struct layer {
    struct entry *entries;
    size_t n, cap, order;
    struct folder *folders; // folder from which the last entry is being read
    size_t folder_n;
    unsigned uid, gid; // for entries added from now on
    mode_t mode;       // 0: the usual
    const struct layer_told *told;
    const struct work_watch *watch;
    bool bare;
};

layer *layer_new(void)
{
    return mem_alloc(sizeof(layer));
}

static void entry_done(struct entry *x)
{
    free(x->path);
    free(x->source);
    free(x->name);
    buf_done(&x->bytes);
}

void layer_free(layer *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n; i++)
        entry_done(&l->entries[i]);
    for (size_t i = 0; i < l->folder_n; i++) {
        close(l->folders[i].fd);
        free(l->folders[i].path);
    }
    free(l->folders);
    free(l->entries);
    free(l);
}

static struct entry *add(layer *l, enum entry_kind kind, const char *path, mode_t mode)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->entries = mem_resize(l->entries, l->cap, sizeof *l->entries);
    }
    struct entry *x = &l->entries[l->n++];
    *x = (struct entry){.kind = kind,
        .mode = mode,
        .uid = l->uid,
        .gid = l->gid,
        .told = l->told,
        .path = mem_strdup(path),
        .order = l->order++};
    if (l->mode && kind != ENTRY_LINK)
        x->mode = kind == ENTRY_DIR ? l->mode | (l->mode & 0444) >> 2 : l->mode;
    for (size_t n = strlen(x->path); n > 1 && x->path[n - 1] == '/'; n--)
        x->path[n - 1] = '\0';
    return x;
}

void layer_looks(layer *l, unsigned uid, unsigned gid, mode_t mode)
{
    l->uid = uid;
    l->gid = gid;
    l->mode = mode;
}

void layer_tells(layer *l, const struct layer_told *to)
{
    l->told = to;
}

void layer_watched(layer *l, const struct work_watch *watch)
{
    l->watch = watch;
}

void layer_bare(layer *l)
{
    l->bare = true;
}

void layer_dir(layer *l, const char *path, mode_t mode)
{
    add(l, ENTRY_DIR, path, mode);
}

void layer_link(layer *l, const char *path, const char *target)
{
    add(l, ENTRY_LINK, path, 0777)->source = mem_strdup(target);
}

void layer_bytes(layer *l, const char *path, const void *bytes, size_t n, mode_t mode)
{
    buf_add(&add(l, ENTRY_BYTES, path, mode)->bytes, bytes, n);
}

static int no_file(const char *source, err *e)
{
    return err_set(e, ERR_INVALID,
        "%s is neither a file nor a folder: leave it out (.dockerignore, exclude)", source);
}

static struct entry *add_file(layer *l, const char *path, const char *source, const struct stat *st)
{
    struct entry *x = add(l, ENTRY_FILE, path, st->st_mode & 0111 ? 0755 : 0644);
    x->source = mem_strdup(source);
    x->size = st->st_size;
    return x;
}

int layer_file(layer *l, const char *path, const char *source, err *e)
{
    struct stat st;
    if (stat(source, &st) || access(source, R_OK))
        return err_errno(e, errno, "cannot read %s", source);
    if (!S_ISREG(st.st_mode))
        return no_file(source, e);
    add_file(l, path, source, &st);
    return 0;
}

int layer_reads(layer *l, int folder, const char *path, err *e)
{
    int fd = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return err_errno(e, errno, "cannot open %s", path);
    l->folders = mem_resize(l->folders, l->folder_n + 1, sizeof *l->folders);
    l->folders[l->folder_n++] = (struct folder){fd, mem_strdup(path)};
    return 0;
}

// A walk through a tree of the folder that is read, by descriptors: no link is followed.
struct walk {
    layer *layer;
    const char *const *exclude;
    const char *top; // the path that was given
};

// A place in the walk.
struct place {
    int dir;            // the folder that it is in
    const char *last;   // its name there
    const char *path;   // in the image
    const char *name;   // in the folder that is read
    const char *called; // by the patterns
};

static char *source_of(const struct walk *w, const struct place *p)
{
    const char *folder = w->layer->folders[w->layer->folder_n - 1].path;
    return *p->name ? path_join(folder, p->name) : mem_strdup(folder);
}

static int cannot_read(const struct walk *w, const struct place *p, err *e)
{
    int number = errno;
    AUTO_FREE char *source = source_of(w, p);
    return err_errno(e, number, "cannot read %s", source);
}

static int add_any(const struct walk *w, const struct place *p, err *e);

static int add_child(
    const struct walk *w, const struct place *p, int dir, const char *child, err *e)
{
    AUTO_FREE char *path = *p->path ? path_join(p->path, child) : mem_strdup(child),
                   *name = *p->name ? path_join(p->name, child) : mem_strdup(child),
                   *called = *p->called ? path_join(p->called, child) : mem_strdup(child);
    return add_any(w, &(struct place){dir, child, path, name, called}, e);
}

static int add_dir(const struct walk *w, const struct place *p, err *e)
{
    bool leave = w->layer->bare && p->path == w->top; // a folder of the base may be there
    if (*p->path && !leave && !ignore_matches(w->exclude, p->called))
        layer_dir(w->layer, p->path, 0755);
    int fd = openat(p->dir, p->last, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return cannot_read(w, p, e);
    int status = 0;
    for (struct dirent *f; status == 0 && (f = readdir(d));)
        if (!str_eq(f->d_name, ".") && !str_eq(f->d_name, ".."))
            status = add_child(w, p, fd, f->d_name, e);
    closedir(d);
    return status;
}

static int add_regular(const struct walk *w, const struct place *p, const struct stat *st, err *e)
{
    if (faccessat(p->dir, p->last, R_OK, 0))
        return cannot_read(w, p, e);
    AUTO_FREE char *source = source_of(w, p);
    struct entry *x = add_file(w->layer, p->path, source, st);
    x->name = mem_strdup(p->name);
    x->folder = w->layer->folder_n - 1;
    return 0;
}

static int add_link(const struct walk *w, const struct place *p, err *e)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(p->dir, p->last, target, sizeof target - 1);
    if (n < 0)
        return cannot_read(w, p, e);
    target[n] = '\0';
    layer_link(w->layer, p->path, target);
    return 0;
}

static int add_any(const struct walk *w, const struct place *p, err *e)
{
    struct stat st;
    if (fstatat(p->dir, p->last, &st, AT_SYMLINK_NOFOLLOW))
        return cannot_read(w, p, e);
    if (S_ISDIR(st.st_mode))
        return add_dir(w, p, e); // also an ignored folder: files in it may be included again
    if (ignore_matches(w->exclude, p->called))
        return 0;
    if (S_ISREG(st.st_mode))
        return add_regular(w, p, &st, e);
    if (S_ISLNK(st.st_mode))
        return add_link(w, p, e);
    AUTO_FREE char *source = source_of(w, p);
    return no_file(source, e);
}

int layer_tree(layer *l, const char *path, const char *name, const char *called,
    const char *const *exclude, err *e)
{
    struct walk w = {l, exclude, path};
    int root = l->folders[l->folder_n - 1].fd;
    AUTO_FREE char *real = inside_name(root, name, INSIDE_ROOT);
    if (!real)
        return cannot_read(&w, &(struct place){.name = name}, e);
    AUTO_FREE char *above = *real ? path_dirname(real) : mem_strdup(""),
                   *last = *real ? path_basename(real) : mem_strdup(".");
    AUTO_FD dir = inside_open(root, above, O_PATH | O_DIRECTORY, INSIDE_ROOT);
    if (dir < 0)
        return cannot_read(&w, &(struct place){.name = name}, e);
    return add_any(&w, &(struct place){dir, last, path, real, called}, e);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int by_path = strcmp(x->path, y->path);
    return by_path ? by_path : (x->order > y->order) - (x->order < y->order);
}

static int compare_path(const void *path, const void *x)
{
    return strcmp(path, ((const struct entry *)x)->path);
}

// Adds the folders above the entries, sorts, and drops all but the last entry of each path.
static void settle(layer *l)
{
    qsort(l->entries, l->n, sizeof *l->entries, compare_entries);
    size_t sorted = l->n; // the list grows while we walk it: new folders have folders above, too
    for (size_t i = 0; i < l->n && !l->bare; i++) {
        AUTO_FREE char *above = path_dirname(l->entries[i].path);
        if (!str_eq(above, ".") &&
            !bsearch(above, l->entries, sorted, sizeof *l->entries, compare_path))
            layer_dir(l, above, 0755);
    }
    qsort(l->entries, l->n, sizeof *l->entries, compare_entries);
    size_t kept = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (i + 1 < l->n && str_eq(l->entries[i].path, l->entries[i + 1].path))
            entry_done(&l->entries[i]);
        else
            l->entries[kept++] = l->entries[i];
    }
    l->n = kept;
}

// The key: a hash of everything that goes into the layer

// Somebody who may write to the folder may have replaced the file meanwhile.
static int open_source(const layer *l, const struct entry *x, err *e)
{
    enum { HOW = O_RDONLY | O_NONBLOCK | O_CLOEXEC };
    int fd = x->name ? inside_open(l->folders[x->folder].fd, x->name, HOW | O_NOFOLLOW, INSIDE_ROOT)
                     : open(x->source, HOW);
    return fd >= 0 ? fd : err_errno(e, errno, "cannot read %s", x->source);
}

static int hash_content(const layer *l, struct entry *x, err *e)
{
    int64_t size;
    if (x->kind == ENTRY_BYTES)
        sha256_hex(buf_cstr(&x->bytes), x->bytes.len, x->sum);
    if (x->kind != ENTRY_FILE)
        return 0;
    const struct layer_told *t = x->told;
    AUTO_FD fd = open_source(l, x, e);
    if (fd < 0 || sha256_fd(fd, x->source, l->watch, &size, x->sum, e))
        return -1;
    if (t)
        t->fn(t->arg, x->source, size, x->sum);
    return 0;
}

static int make_key(layer *l, int64_t mtime, char key[SHA256_HEX], err *e)
{
    AUTO_BUF text = {0};
    buf_fmt(&text, "firesteel layer 1\nzlib %s %d\nmtime %lld\n", zlibVersion(), GZIP_LEVEL,
        (long long)mtime);
    for (size_t i = 0; i < l->n; i++) {
        struct entry *x = &l->entries[i];
        if (hash_content(l, x, e))
            return -1;
        if (x->uid || x->gid)
            buf_fmt(&text, "%u:%u ", x->uid, x->gid);
        buf_fmt(&text, "%d %o %s %s %zu:%s\n", x->kind, (unsigned)x->mode, x->sum,
            x->kind == ENTRY_LINK ? x->source : "", strlen(x->path), x->path);
    }
    sha256_hex(text.data, text.len, key);
    return 0;
}

// Another phase, in which the content of all files is read.
static void begin_phase(const layer *l, const char *phase)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < l->n; i++)
        bytes += l->entries[i].size;
    work_phase(work_of(l->watch), phase, WORK_BYTES, bytes);
}

static char *key_path(const image_store *s, const char *key)
{
    return str_fmt("%s/.firesteel/layers/%s", image_store_dir(s), key);
}

static bool find_cached(const image_store *s, const char *key, layer_result *r)
{
    AUTO_FREE char *path = key_path(s, key);
    AUTO_BUF text = {0};
    if (path_read(path, &text, 4096, NULL))
        return false;
    AUTO_JSON *json = json_parse(buf_cstr(&text), text.len, NULL);
    int64_t size;
    r->cached = json && oci_descriptor_parse(json_get(json, "blob"), &r->blob, NULL) == 0 &&
                oci_digest_parse(json_str(json, "diffId"), &r->diff_id, NULL) == 0 &&
                image_store_has(s, &r->blob.digest, &size) && size == r->blob.size;
    return r->cached;
}

static int remember(const image_store *s, const char *key, const layer_result *r, err *e)
{
    AUTO_FREE char *path = key_path(s, key);
    AUTO_JSON *json = cJSON_CreateObject();
    json_set(json, "blob", oci_descriptor_json(&r->blob));
    json_set_str(json, "diffId", r->diff_id.text);
    AUTO_BUF text = {0};
    json_print(&text, json);
    return path_write(path, text.data, text.len, 0644, e);
}

// The stream: tar -> diff_id, gzip -> blob

struct stream {
    sha256 diff;
    z_stream zip;
    image_blob *blob;
    err *e; // set after a failed write
    unsigned char out[CHUNK];
};

static int deflate_some(struct stream *s, const void *bytes, size_t n, int flush)
{
    s->zip.next_in = (void *)bytes;
    s->zip.avail_in = (uInt)n;
    do {
        s->zip.next_out = s->out;
        s->zip.avail_out = CHUNK;
        deflate(&s->zip, flush);
        if (image_blob_write(s->blob, s->out, CHUNK - s->zip.avail_out, s->e))
            return -1;
    } while (s->zip.avail_out == 0);
    return 0;
}

static la_ssize_t on_tar(struct archive *a, void *arg, const void *bytes, size_t n)
{
    struct stream *s = arg;
    sha256_update(&s->diff, bytes, n);
    return deflate_some(s, bytes, n, Z_NO_FLUSH) ? -1 : (la_ssize_t)n;
}

static int write_data(struct archive *a, const void *bytes, size_t n, err *e)
{
    ERR_GUARD(e);
    if (archive_write_data(a, bytes, n) == (la_ssize_t)n)
        return 0;
    // If a write to the store failed, e already has the store's own text.
    return e->code ? -1 : err_set(e, ERR_IO, "tar: %s", archive_error_string(a));
}

static int copy_file(
    struct archive *a, const struct work_watch *watch, const struct entry *x, int fd, err *e)
{
    sha256 hash;
    sha256_init(&hash);
    AUTO_FREE char *chunk = mem_alloc(CHUNK);
    ssize_t n;
    while ((n = read(fd, chunk, CHUNK)) > 0) {
        sha256_update(&hash, chunk, (size_t)n);
        if (!work_goes_on(watch))
            return err_set(e, ERR_CANCELLED, "interrupted");
        if (write_data(a, chunk, (size_t)n, e))
            return -1;
        work_step(work_of(watch), n);
    }
    if (n < 0)
        return err_errno(e, errno, "cannot read %s", x->source);
    uint8_t digest[SHA256_SIZE];
    char sum[SHA256_HEX];
    sha256_final(&hash, digest);
    digest_hex(digest, sum);
    return str_eq(sum, x->sum)
               ? 0
               : err_set(e, ERR_CONFLICT, "%s changed while the image was built; build it again",
                     x->source);
}

static int write_content(
    struct archive *a, struct archive_entry *head, const layer *l, const struct entry *x, err *e)
{
    ERR_GUARD(e);
    AUTO_FD fd = x->kind == ENTRY_FILE ? open_source(l, x, e) : -1;
    struct stat st = {0};
    if (x->kind == ENTRY_FILE && fd < 0)
        return -1;
    if (x->kind == ENTRY_FILE && fstat(fd, &st))
        return err_errno(e, errno, "cannot read %s", x->source);
    archive_entry_set_size(head, x->kind == ENTRY_FILE ? st.st_size : (la_int64_t)x->bytes.len);
    int status = 0;
    if (archive_write_header(a, head) != ARCHIVE_OK)
        status = e->code ? -1 : err_set(e, ERR_IO, "tar: %s", archive_error_string(a));
    else if (x->kind == ENTRY_FILE)
        status = copy_file(a, l->watch, x, fd, e);
    else if (x->kind == ENTRY_BYTES)
        status = write_data(a, buf_cstr(&x->bytes), x->bytes.len, e);
    return status;
}

static int write_entry(
    struct archive *a, const layer *l, const struct entry *x, int64_t mtime, err *e)
{
    static const mode_t types[] = {
        [ENTRY_DIR] = AE_IFDIR,
        [ENTRY_LINK] = AE_IFLNK,
        [ENTRY_BYTES] = AE_IFREG,
        [ENTRY_FILE] = AE_IFREG,
    };
    struct archive_entry *head = archive_entry_new();
    archive_entry_set_pathname(head, x->path);
    archive_entry_set_filetype(head, types[x->kind]);
    archive_entry_set_perm(head, x->mode);
    archive_entry_set_uid(head, x->uid);
    archive_entry_set_gid(head, x->gid);
    archive_entry_set_mtime(head, (time_t)mtime, 0);
    if (x->kind == ENTRY_LINK)
        archive_entry_set_symlink(head, x->source);
    int status = write_content(a, head, l, x, e);
    archive_entry_free(head);
    return status;
}

static struct archive *new_tar(err *e)
{
    if (archive_late(e) != 0)
        return NULL;
    struct archive *a = archive_write_new();
    archive_write_set_format_pax_restricted(a); // writes plain ustar where that is enough
    archive_write_set_bytes_in_last_block(a, 1);
    return a;
}

// opened: the result of opening it. Frees it.
static int write_tar(const layer *l, struct archive *a, int opened, int64_t mtime, err *e)
{
    ERR_GUARD(e);
    int status = opened == ARCHIVE_OK ? 0 : err_set(e, ERR_IO, "tar: %s", archive_error_string(a));
    for (size_t i = 0; i < l->n && status == 0; i++)
        status = write_entry(a, l, &l->entries[i], mtime, e);
    if (status == 0 && archive_write_close(a) != ARCHIVE_OK)
        status = e->code ? -1 : err_set(e, ERR_IO, "tar: %s", archive_error_string(a));
    archive_write_free(a);
    return status;
}

static int write_blob(
    const layer *l, const image_store *store, int64_t mtime, layer_result *r, err *e)
{
    ERR_GUARD(e);
    AUTO_FREE struct stream *s = mem_alloc(sizeof *s);
    s->e = e;
    s->blob = image_blob_new(store, s->e);
    if (!s->blob)
        return -1;
    sha256_init(&s->diff);
    deflateInit2(&s->zip, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY); // 15 + 16: gzip
    struct archive *a = new_tar(s->e);
    int opened = a ? archive_write_open(a, s, NULL, on_tar, NULL) : 0;
    int status =
        !a || write_tar(l, a, opened, mtime, s->e) || deflate_some(s, NULL, 0, Z_FINISH) ? -1 : 0;
    deflateEnd(&s->zip);
    if (status) {
        image_blob_free(s->blob);
        return -1;
    }
    uint8_t sum[SHA256_SIZE];
    sha256_final(&s->diff, sum);
    memcpy(r->diff_id.text, "sha256:", 7);
    digest_hex(sum, r->diff_id.text + 7);
    r->blob.type = OCI_TYPE_OCI_LAYER_GZIP;
    r->blob.size = image_blob_size(s->blob);
    return image_blob_commit(s->blob, NULL, &r->blob.digest, e);
}

int layer_write(layer *l, const image_store *s, int64_t mtime, layer_result *r, err *e)
{
    char key[SHA256_HEX];
    settle(l);
    *r = (layer_result){0};
    begin_phase(l, "hashing");
    if (make_key(l, mtime, key, e))
        return -1;
    if (find_cached(s, key, r))
        return 0;
    *r = (layer_result){0};
    begin_phase(l, "compressing");
    return write_blob(l, s, mtime, r, e) || remember(s, key, r, e) ? -1 : 0;
}

int layer_save(layer *l, int fd, int64_t mtime, int level, err *e)
{
    settle(l);
    begin_phase(l, "hashing");
    for (size_t i = 0; i < l->n; i++)
        if (hash_content(l, &l->entries[i], e))
            return -1;
    begin_phase(l, "compressing");
    struct archive *a = new_tar(e);
    if (!a)
        return -1;
    AUTO_FREE char *text = str_fmt("%d", level);
    archive_write_add_filter_zstd(a);
    archive_write_set_filter_option(a, "zstd", "compression-level", text);
    return write_tar(l, a, archive_write_open_fd(a, fd), mtime, e);
}
