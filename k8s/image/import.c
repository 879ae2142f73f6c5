// SPDX-License-Identifier: MIT
#include "k8s/image/import.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "k8s/image/index.h"

#include <errno.h>
#include <unistd.h>

enum { MANIFEST_LIMIT = 4 << 20 };

static int copy_bytes(int from, image_blob *to, err *e)
{
    char chunk[64 << 10];
    ssize_t n;
    while ((n = read(from, chunk, sizeof chunk)) > 0)
        if (image_blob_write(to, chunk, (size_t)n, e))
            return -1;
    return n == 0 ? 0 : err_errno(e, errno, "cannot read a blob");
}

static int copy_blob(
    const image_store *to, const image_store *from, const oci_digest *d, size_t *copied, err *e)
{
    int64_t size;
    if (image_store_has(to, d, NULL))
        return 0;
    AUTO_FD in = image_store_blob(from, d, &size, e);
    image_blob *out = in >= 0 ? image_blob_new(to, e) : NULL;
    if (!out)
        return -1;
    if (copy_bytes(in, out, e)) {
        image_blob_free(out);
        return -1;
    }
    ++*copied;
    return image_blob_commit(out, d, NULL, e);
}

static int copy_parts(
    const image_store *to, const image_store *from, const oci_manifest *m, size_t *layers, err *e)
{
    size_t configs = 0;
    int status = copy_blob(to, from, &m->config.digest, &configs, e);
    for (size_t i = 0; i < m->layer_n && status == 0; i++)
        status = copy_blob(to, from, &m->layers[i].digest, layers, e);
    return status;
}

int image_import(const image_store *to, const char *tag, const image_store *from, const char *name,
    oci_descriptor *manifest, size_t *layers, err *e)
{
    AUTO_BUF text = {0};
    oci_manifest m = {0};
    *layers = 0;
    if (image_store_find(from, name, manifest, e) ||
        image_store_read(from, &manifest->digest, &text, MANIFEST_LIMIT, e) ||
        image_store_manifest(from, &manifest->digest, &m, e))
        return -1;
    int status = copy_parts(to, from, &m, layers, e);
    oci_manifest_done(&m);
    if (status || image_store_add(to, text.data, text.len, NULL, e))
        return -1;
    return image_store_tag(to, tag, manifest, e);
}
