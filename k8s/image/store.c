// SPDX-License-Identifier: MIT
#include "k8s/image/store.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/folder.h"
#include "base/os/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JSON_LIMIT = 16 << 20 };

struct image_store {
    char *dir;
};

static char *in_store(const image_store *s, const char *name)
{
    return path_join(s->dir, name);
}

int image_store_lock(const image_store *s, err *e)
{
    AUTO_FREE char *path = in_store(s, ".firesteel/lock");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_errno(e, errno, "cannot open %s", path);
    while (flock(fd, LOCK_EX)) {
        if (errno == EINTR)
            continue;
        int number = errno;
        close(fd);
        return err_errno(e, number, "cannot lock %s", path);
    }
    return fd;
}

static int check_layout(const image_store *s, err *e)
{
    AUTO_FREE char *path = in_store(s, "oci-layout");
    AUTO_BUF text = {0};
    if (path_read(path, &text, 4096, e))
        return -1;
    AUTO_JSON *json = json_parse(buf_cstr(&text), text.len, NULL);
    const char *version = json_str(json, "imageLayoutVersion");
    if (!version || !str_starts(version, "1."))
        return err_set(e, ERR_CORRUPT, "%s is not that of an OCI image layout 1.0", path);
    return 0;
}

static int create_file(const image_store *s, const char *name, const char *text, err *e)
{
    AUTO_FREE char *path = in_store(s, name);
    return path_exists(path) ? 0 : path_write(path, text, strlen(text), 0644, e);
}

static int create_layout(const image_store *s, err *e)
{
    AUTO_FD own = folder_open_path(s->dir, 1, true, e); // others must not be able to write
    if (own < 0)
        return -1;
    AUTO_FREE char *blobs = in_store(s, "blobs/sha256");
    AUTO_FREE char *layers = in_store(s, ".firesteel/layers");
    AUTO_FREE char *names = in_store(s, ".firesteel/names");
    if (path_make_dirs(blobs, 0755, e) || path_make_dirs(layers, 0755, e) ||
        path_make_dirs(names, 0755, e))
        return -1;
    AUTO_FD lock = image_store_lock(s, e);
    if (lock < 0 ||
        create_file(s, "index.json",
            "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.index.v1+json\","
            "\"manifests\":[]}",
            e) ||
        create_file(s, "oci-layout", "{\"imageLayoutVersion\":\"1.0.0\"}", e))
        return -1;
    return check_layout(s, e);
}

image_store *image_store_open(const char *dir, err *e)
{
    image_store *s = mem_alloc(sizeof *s);
    s->dir = mem_strdup(dir);
    if (create_layout(s, e)) {
        err_wrap(e, "image store %s", dir);
        image_store_free(s);
        return NULL;
    }
    return s;
}

void image_store_free(image_store *s)
{
    if (!s)
        return;
    free(s->dir);
    free(s);
}

const char *image_store_dir(const image_store *s)
{
    return s->dir;
}

char *image_store_blob_path(const image_store *s, const oci_digest *d)
{
    return str_fmt("%s/blobs/sha256/%s", s->dir, oci_digest_hex(d));
}

bool image_store_has(const image_store *s, const oci_digest *d, int64_t *size)
{
    AUTO_FREE char *path = image_store_blob_path(s, d);
    struct stat st;
    if (stat(path, &st) || !S_ISREG(st.st_mode))
        return false;
    utimensat(AT_FDCWD, path, NULL, 0); // may fail if we may only read; then we never collect
    if (size)
        *size = st.st_size;
    return true;
}

int image_store_look(const image_store *s, const oci_descriptor *d, err *e)
{
    int64_t size;
    if (!image_store_has(s, &d->digest, &size))
        return 0;
    if (size == d->size)
        return 1;
    return err_set(e, ERR_CORRUPT, "the manifest says %lld bytes for %s, which has %lld",
        (long long)d->size, d->digest.text, (long long)size);
}

int image_store_blob(const image_store *s, const oci_digest *d, int64_t *size, err *e)
{
    AUTO_FREE char *path = image_store_blob_path(s, d);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 && errno == ENOENT)
        return err_set(e, ERR_NOT_FOUND, "blob %s is not in the image store", d->text);
    if (fd < 0 || fstat(fd, &st)) {
        int number = errno;
        if (fd >= 0)
            close(fd);
        return err_errno(e, number, "cannot read %s", path);
    }
    if (size)
        *size = st.st_size;
    return fd;
}

int image_store_read(const image_store *s, const oci_digest *d, buf *out, size_t limit, err *e)
{
    AUTO_FREE char *path = image_store_blob_path(s, d);
    AUTO_BUF bytes = {0};
    if (path_read(path, &bytes, limit, e))
        return err_wrap(e, "image store");
    oci_digest got = oci_digest_of(buf_cstr(&bytes), bytes.len);
    if (!oci_digest_equal(&got, d))
        return err_set(e, ERR_CORRUPT, "blob %s in the image store is damaged: it has digest %s",
            d->text, got.text);
    buf_add(out, bytes.data, bytes.len);
    return 0;
}

cJSON *image_store_read_json(const image_store *s, const oci_digest *d, err *e)
{
    AUTO_BUF bytes = {0};
    if (image_store_read(s, d, &bytes, JSON_LIMIT, e))
        return NULL;
    cJSON *json = json_parse(buf_cstr(&bytes), bytes.len, e);
    if (!json)
        err_wrap(e, "blob %s", d->text);
    return json;
}

struct image_blob {
    const image_store *store;
    char *path;
    int fd;
    int64_t size;
    sha256 hash;
    bool keep; // its bytes stay when it is freed
};

image_blob *image_blob_new(const image_store *s, err *e)
{
    image_blob *b = mem_alloc(sizeof *b);
    b->store = s;
    b->path = in_store(s, ".firesteel/upload-XXXXXX");
    b->fd = mkostemp(b->path, O_CLOEXEC);
    sha256_init(&b->hash);
    if (b->fd >= 0)
        return b;
    err_errno(e, errno, "cannot write to the image store %s", s->dir);
    free(b->path);
    free(b);
    return NULL;
}

// Hashes what is there already.
static int read_back(image_blob *b, err *e)
{
    char chunk[64 << 10];
    ssize_t n;
    while ((n = read(b->fd, chunk, sizeof chunk)) > 0) {
        sha256_update(&b->hash, chunk, (size_t)n);
        b->size += n;
    }
    return n < 0 ? err_errno(e, errno, "cannot read %s", b->path) : 0;
}

// Another process may have renamed the file before we had its lock.
static bool is_file_at(int fd, const char *path)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_ino == there.st_ino &&
           ours.st_dev == there.st_dev;
}

image_blob *image_blob_resume(const image_store *s, const oci_digest *d, err *e)
{
    AUTO_FREE char *name = str_fmt(".firesteel/partial-%s", oci_digest_hex(d));
    AUTO_FREE char *path = in_store(s, name);
    AUTO_FD fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) || !is_file_at(fd, path))
        return image_blob_new(s, e);
    image_blob *b = mem_alloc(sizeof *b);
    *b = (image_blob){.store = s, .path = STEAL(path), .fd = fd, .keep = true};
    fd = -1;
    sha256_init(&b->hash);
    if (read_back(b, e) == 0)
        return b;
    image_blob_free(b);
    return NULL;
}

int image_blob_restart(image_blob *b, err *e)
{
    if (ftruncate(b->fd, 0) || lseek(b->fd, 0, SEEK_SET) < 0)
        return err_errno(e, errno, "image store %s", b->store->dir);
    sha256_init(&b->hash);
    b->size = 0;
    return 0;
}

int image_blob_write(image_blob *b, const void *bytes, size_t n, err *e)
{
    if (fd_write_all(b->fd, bytes, n, e))
        return err_wrap(e, "image store %s", b->store->dir);
    sha256_update(&b->hash, bytes, n);
    b->size += (int64_t)n;
    return 0;
}

int64_t image_blob_size(const image_blob *b)
{
    return b->size;
}

void image_blob_free(image_blob *b)
{
    if (!b)
        return;
    if (b->path && !b->keep)
        unlink(b->path);
    close(b->fd);
    free(b->path);
    free(b);
}

static int sync_dir(const char *path, err *e)
{
    AUTO_FD fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || fsync(fd) ? err_errno(e, errno, "cannot sync %s", path) : 0;
}

static int put_blob(image_blob *b, const oci_digest *d, err *e)
{
    AUTO_FREE char *to = image_store_blob_path(b->store, d);
    AUTO_FREE char *dir = path_dirname(to);
    if (fchmod(b->fd, 0644) || fsync(b->fd) || rename(b->path, to))
        return err_errno(e, errno, "cannot write %s", to);
    free(b->path);
    b->path = NULL;
    return sync_dir(dir, e);
}

int image_blob_commit(image_blob *b, const oci_digest *expected, oci_digest *d, err *e)
{
    uint8_t sum[SHA256_SIZE];
    oci_digest got = {"sha256:"};
    sha256_final(&b->hash, sum);
    digest_hex(sum, got.text + 7);
    int status;
    b->keep = false; // whole, or useless
    if (expected && !oci_digest_equal(expected, &got))
        status = err_set(
            e, ERR_INVALID, "the content has digest %s instead of %s", got.text, expected->text);
    else if (image_store_has(b->store, &got, NULL))
        status = 0;
    else
        status = put_blob(b, &got, e);
    image_blob_free(b);
    if (d)
        *d = got;
    return status;
}

int image_store_add(const image_store *s, const void *bytes, size_t n, oci_digest *d, err *e)
{
    image_blob *b = image_blob_new(s, e);
    if (!b)
        return -1;
    if (image_blob_write(b, bytes, n, e)) {
        image_blob_free(b);
        return -1;
    }
    return image_blob_commit(b, NULL, d, e);
}
