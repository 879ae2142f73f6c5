// SPDX-License-Identifier: MIT
// Requests to the registry: each gets one answer with a valid status, a blob that is sent has the
// requested digest, and nothing appears outside of the store.
#include "k8s/sandbox/registry/registry.h"
#include "base/data/digest.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/request.h"

#include <dirent.h>
#include <unistd.h>

static const char *header(void *arg, const char *name)
{
    return fuzz_request_find(((struct fuzz_request *)arg)->headers, name, ':');
}

static const char *query(void *arg, const char *name)
{
    return fuzz_request_find(((struct fuzz_request *)arg)->queries, name, '=');
}

static void check_blob(const struct fuzz_request *q, const struct registry_response *r)
{
    const char *asked = strstr(q->path, "/blobs/sha256:");
    AUTO_BUF bytes = {0};
    err e;
    if (!asked || !str_eq(q->method, "GET") || r->status != 200 || r->fd < 0)
        return;
    if (fd_read_all(r->fd, &bytes, 0, &e) != 0 || (int64_t)bytes.len != r->length)
        abort();
    oci_digest d = oci_digest_of(buf_cstr(&bytes), bytes.len);
    if (!str_eq(d.text, asked + strlen("/blobs/")))
        abort();
}

static void ask(registry *reg, struct fuzz_request *q)
{
    struct registry_request request = {q->method, q->path, header, query, q};
    struct registry_response r = {0};
    registry_exchange *x = registry_begin(reg, &request);
    if (str_eq(q->method, "BREAK")) {
        registry_abort(x);
        return;
    }
    for (size_t at = 0; at < q->body_n; at += 100)
        registry_body(x, q->body + at, q->body_n - at < 100 ? q->body_n - at : 100);
    registry_end(x, &r);
    if (r.status < 200 || r.status > 599 || r.header_n > REGISTRY_HEADERS)
        abort();
    for (size_t i = 0; i < r.header_n; i++)
        if (strpbrk(r.headers[i].value, "\r\n"))
            abort();
    check_blob(q, &r);
    registry_response_done(&r);
}

// The store's folder is the only entry of its parent.
static void check_outside(void)
{
    DIR *d = opendir(fuzz_folder());
    for (struct dirent *entry; d && (entry = readdir(d));)
        if (*entry->d_name != '.' && !str_eq(entry->d_name, "in"))
            abort();
    closedir(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO_FREE char *inner = path_join(fuzz_folder(), "in"), *dir = path_join(inner, "images");
    err e;
    if (path_make_dirs(inner, 0700, &e) != 0)
        abort();
    image_store *s = image_store_open(dir, &e);
    registry *reg = s ? registry_new(s) : NULL;
    if (!reg)
        abort();
    const char *at = (const char *)data, *end = at + n;
    for (int i = 0; at < end && i < 30; i++) {
        struct fuzz_request q;
        at = fuzz_request_read(&q, at, end);
        ask(reg, &q);
        fuzz_request_done(&q);
    }
    registry_free(reg);
    image_store_free(s);
    check_outside();
    if (path_remove(inner, &e) != 0)
        abort();
    return 0;
}
