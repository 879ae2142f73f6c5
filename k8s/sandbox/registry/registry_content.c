// SPDX-License-Identifier: MIT
// All names share blobs, as in the store. Only the store's collector removes blobs.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/index.h"
#include "k8s/sandbox/registry/registry_private.h"

#include <string.h>

static bool is_digest(const char *reference)
{
    return strchr(reference, ':') != NULL; // a tag has no colon
}

static char *store_ref(const registry_exchange *x)
{
    return str_fmt("%s%c%s", x->name, is_digest(x->reference) ? '@' : ':', x->reference);
}

static void answer_fd(struct registry_response *r, int fd, int64_t size)
{
    r->status = 200;
    r->fd = fd;
    r->length = size;
}

static void get_manifest(registry_exchange *x, struct registry_response *r)
{
    err e = {0};
    oci_descriptor d;
    int64_t size;
    AUTO_FREE char *ref = store_ref(x);
    int fd = image_store_resolve(x->r->store, ref, &d, &e)
                 ? -1
                 : image_store_blob(x->r->store, &d.digest, &size, &e);
    if (fd < 0) {
        registry_fail_by(x, &e, "MANIFEST_UNKNOWN", "MANIFEST_INVALID");
        return;
    }
    answer_fd(r, fd, size);
    registry_add_header(r, "Content-Type", "%s", oci_type_text(d.type));
    registry_add_header(r, "Docker-Content-Digest", "%s", d.digest.text);
    registry_add_header(r, "ETag", "\"%s\"", d.digest.text);
}

static void begin_put_manifest(registry_exchange *x)
{
    enum oci_type type = oci_type_parse(registry_find_header(x, "Content-Type"));
    if (oci_type_kind(type) != OCI_KIND_MANIFEST && oci_type_kind(type) != OCI_KIND_INDEX)
        registry_fail(
            x, 415, "MANIFEST_INVALID", "Content-Type is not that of an image manifest or index");
    else if (!is_digest(x->reference) && !oci_tag_valid(x->reference))
        registry_fail(x, 400, "TAG_INVALID", "“%s” is not a tag", x->reference);
    x->keeps_body = !x->fail_status;
}

// Does the store have everything that the manifest refers to?
static int check_children(registry_exchange *x, enum oci_type type, err *e)
{
    if (oci_type_kind(type) == OCI_KIND_MANIFEST) {
        oci_manifest m;
        if (oci_manifest_parse(buf_cstr(&x->body), x->body.len, &m, e))
            return -1;
        oci_manifest_done(&m);
        return 0; // image_store_tag checks the blobs
    }
    AUTO_JSON *json = json_parse(buf_cstr(&x->body), x->body.len, e);
    if (!json)
        return -1;
    const cJSON *item;
    cJSON_ArrayForEach(item, json_get(json, "manifests"))
    {
        oci_digest d;
        if (oci_digest_parse(json_str(item, "digest"), &d, e))
            return -1;
        if (!image_store_has(x->r->store, &d, NULL))
            return err_set(e, ERR_NOT_FOUND, "manifest %s is not here", d.text);
    }
    return 0;
}

static int store_manifest(registry_exchange *x, enum oci_type type, oci_descriptor *d, err *e)
{
    d->type = type;
    d->size = (int64_t)x->body.len;
    oci_digest got = oci_digest_of(buf_cstr(&x->body), x->body.len);
    if (is_digest(x->reference) && !str_eq(x->reference, got.text))
        return err_set(e, ERR_INVALID, "the content has digest %s", got.text);
    if (check_children(x, type, e) ||
        image_store_add(x->r->store, buf_cstr(&x->body), x->body.len, &d->digest, e))
        return -1;
    AUTO_FREE char *ref = store_ref(x);
    return is_digest(x->reference) ? 0 : image_store_tag(x->r->store, ref, d, e);
}

static void put_manifest(registry_exchange *x, struct registry_response *r)
{
    err e = {0};
    oci_descriptor d;
    if (store_manifest(x, oci_type_parse(registry_find_header(x, "Content-Type")), &d, &e)) {
        registry_fail_by(x, &e, "MANIFEST_BLOB_UNKNOWN", "MANIFEST_INVALID");
        return;
    }
    registry_answer_empty(r, 201, &d.digest);
    registry_add_header(r, "Location", "/v2/%s/manifests/%s", x->name, d.digest.text);
}

// Removes a tag; or a digest with all its tags in this repository.
static void delete_manifest(registry_exchange *x, struct registry_response *r)
{
    err e = {0};
    struct image_tag *tags;
    size_t n, removed = 0;
    if (image_store_tags(x->r->store, &tags, &n, &e)) {
        registry_fail_by(x, &e, "UNKNOWN", "UNKNOWN");
        return;
    }
    AUTO_FREE char *prefix = str_fmt("%s:", x->name), *ref = store_ref(x);
    for (size_t i = 0; i < n; i++) {
        bool by_digest =
            str_starts(tags[i].ref, prefix) && str_eq(tags[i].manifest.digest.text, x->reference);
        if (by_digest || str_eq(tags[i].ref, ref))
            removed += image_store_untag(x->r->store, tags[i].ref, NULL, &e) == 0;
    }
    image_tags_free(tags, n);
    if (removed)
        r->status = 202;
    else
        registry_fail(x, 404, "MANIFEST_UNKNOWN", "there is no %s", ref);
}

// "bytes=0-99", "bytes=100-", "bytes=-100". 0: not a range we understand; -1: it lies beyond the
// end.
static int parse_range(const char *text, int64_t size, int64_t *from, int64_t *to)
{
    if (!text || !str_starts(text, "bytes=") || !strchr(text, '-'))
        return 0;
    const char *first = text + strlen("bytes="), *dash = strchr(first, '-');
    AUTO_FREE char *a = mem_strndup(first, (size_t)(dash - first));
    const char *b = dash + 1;
    if ((*a && !str_to_int(a, from)) || (*b && (!str_to_int(b, to) || *to < 0)) || (!*a && !*b))
        return 0;
    if (!*a)
        *from = *to < size ? size - *to : 0;
    if (!*a || !*b || *to >= size)
        *to = size - 1;
    return *from <= *to ? 1 : -1;
}

static void get_blob(registry_exchange *x, struct registry_response *r)
{
    err e = {0};
    oci_digest d;
    int64_t size, from, to;
    if (oci_digest_parse(x->reference, &d, &e)) {
        registry_fail(x, 400, "DIGEST_INVALID", "%s", e.text);
        return;
    }
    int fd = image_store_blob(x->r->store, &d, &size, &e);
    if (fd < 0) {
        registry_fail_by(x, &e, "BLOB_UNKNOWN", "BLOB_UNKNOWN");
        return;
    }
    answer_fd(r, fd, size);
    registry_add_header(r, "Content-Type", "application/octet-stream");
    registry_add_header(r, "Accept-Ranges", "bytes");
    registry_add_header(r, "Docker-Content-Digest", "%s", d.text);
    int ranged = parse_range(registry_find_header(x, "Range"), size, &from, &to);
    if (ranged > 0) {
        r->status = 206;
        r->offset = from;
        r->length = to - from + 1;
        registry_add_header(r, "Content-Range", "bytes %lld-%lld/%lld", (long long)from,
            (long long)to, (long long)size);
    } else if (ranged < 0) {
        registry_fail(x, 416, "RANGE_INVALID", "the blob has %lld bytes", (long long)size);
    }
}

const struct op registry_content_ops[] = {
    {"GET", RES_MANIFEST, NULL, get_manifest},
    {"PUT", RES_MANIFEST, begin_put_manifest, put_manifest},
    {"DELETE", RES_MANIFEST, NULL, delete_manifest},
    {"GET", RES_BLOB, NULL, get_blob},
    {0},
};
