// SPDX-License-Identifier: MIT
// For each blob: HEAD (is it there already?), POST (asks for a place, or for a mount from another
// name), PUT. The manifest comes last, so that a tag never names missing blobs.
#include "k8s/image/registry/push.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/index.h"

#include <string.h>
#include <unistd.h>

enum { TRIES = 4, MANIFEST_LIMIT = 4 << 20 };

struct push {
    const image_store *store;
    struct image_session session;
    struct work *work;
    int64_t counted; // of the blob that is being sent
};

static void push_done(struct push *p)
{
    image_session_end(&p->session);
}

static char *blob_path(const struct image_session *s, const oci_digest *d)
{
    return str_fmt("/v2/%s/blobs/%s", s->name, d->text);
}

// 1: the registry has the blob; 0: it does not.
static int has_blob(struct image_session *s, const oci_digest *d, err *e)
{
    AUTO_FREE char *path = blob_path(s, d);
    CLEANUP(http_response_done) struct http_response r = {0};
    if (image_exchange(s, &(struct image_step){.method = "HEAD", .url = path, .fd = -1}, &r, e))
        return -1;
    if (r.status == 200 || r.status == 307 || r.status == 302) // some redirect to a blob store
        return 1;
    return r.status == 404 ? 0 : image_refused(s, "a look at a layer", &r, e);
}

// Returns the place for an upload, new. NULL with *mounted when no upload is needed; NULL with an
// error.
static char *begin_upload(struct image_session *s, const oci_digest *d, bool *mounted, err *e)
{
    AUTO_BUF url = {0};
    buf_fmt(&url, "/v2/%s/blobs/uploads/", s->name);
    if (s->mount_from) {
        buf_fmt(&url, "?mount=%s&from=", d->text);
        url_escape(&url, s->mount_from);
    }
    CLEANUP(http_response_done) struct http_response r = {0};
    struct image_step post = {.method = "POST",
        .url = buf_cstr(&url),
        .content_type = "application/octet-stream",
        .fd = -1};
    if (image_exchange(s, &post, &r, e))
        return NULL;
    *mounted = r.status == 201;
    char *location = r.status == 202 ? http_header(&r, "Location") : NULL;
    if (!location && !*mounted)
        image_refused(s, "an upload", &r, e);
    return location;
}

// The bytes of this blob that count as sent.
static void count_sent(void *arg, int64_t n)
{
    struct push *p = arg;
    p->counted += n;
    work_step(p->work, n);
}

static int put_blob(struct push *p, const oci_descriptor *d, const char *location, err *e)
{
    int fd = image_store_blob(p->store, &d->digest, NULL, e);
    if (fd < 0)
        return -1;
    AUTO_FREE char *url =
        str_fmt("%s%cdigest=%s", location, strchr(location, '?') ? '&' : '?', d->digest.text);
    struct image_step put = {.method = "PUT",
        .url = url,
        .content_type = "application/octet-stream",
        .body_n = d->size,
        .fd = fd,
        .sent = count_sent,
        .sent_arg = p};
    CLEANUP(http_response_done) struct http_response r = {0};
    struct image_session *s = &p->session;
    int status = image_exchange(s, &put, &r, e);
    close(fd);
    if (status == 0 && r.status != 201 && r.status != 204)
        status = image_refused(s, "a layer", &r, e);
    return status;
}

static int push_blob(struct push *p, const oci_descriptor *d, struct image_pushed *out, err *e)
{
    struct image_session *s = &p->session;
    int there = has_blob(s, &d->digest, e);
    if (there) {
        out->skipped += there > 0;
        return there > 0 ? 0 : -1;
    }
    bool mounted = false;
    AUTO_FREE char *location = begin_upload(s, &d->digest, &mounted, e);
    if (mounted) {
        out->mounted++;
        return 0;
    }
    if (!location || put_blob(p, d, location, e))
        return -1;
    out->sent++;
    out->bytes += d->size;
    return 0;
}

// Retries while a registry is busy or away for a moment; each blob starts from its beginning.
static int push_patiently(struct push *p, const oci_descriptor *d, struct image_pushed *out, err *e)
{
    const struct image_remote *to = p->session.remote;
    err why = {0};
    for (int i = 0; i < TRIES; i++) {
        if (i && canceller_sleep(to->canceller, (CLOCK_SEC / 16) << (2 * i), e))
            return -1;
        p->counted = 0;
        if (push_blob(p, d, out, &why) == 0) {
            (p->counted ? work_step : work_skip)(p->work, d->size - p->counted);
            return 0;
        }
        work_step(p->work, -p->counted);
        if (why.code != ERR_UNAVAILABLE)
            break;
    }
    return err_set(e, why.code, "%s", why.text);
}

static int put_manifest(
    struct image_session *s, const oci_descriptor *d, const buf *text, const char *tag, err *e)
{
    AUTO_FREE char *path = str_fmt("/v2/%s/manifests/%s", s->name, tag);
    struct image_step put = {.method = "PUT",
        .url = path,
        .content_type = oci_type_text(d->type),
        .body = text->data,
        .body_n = (int64_t)text->len,
        .fd = -1};
    CLEANUP(http_response_done) struct http_response r = {0};
    if (image_exchange(s, &put, &r, e))
        return -1;
    if (r.status / 100 != 2)
        return image_refused(s, "the manifest", &r, e);
    AUTO_FREE char *got = http_header(&r, "Docker-Content-Digest");
    if (got && !str_eq(got, d->digest.text))
        return err_set(e, ERR_FAILED, "the registry %s stored %s:%s as %s instead of %s",
            s->remote->host, s->name, tag, got, d->digest.text);
    return 0;
}

static int push_blobs(struct push *p, const oci_manifest *m, struct image_pushed *out, err *e)
{
    for (size_t i = 0; i < m->layer_n; i++) {
        size_t sent = out->sent;
        if (push_patiently(p, &m->layers[i], out, e))
            return -1;
        work_part(p->work, out->sent == sent);
    }
    return push_patiently(p, &m->config, out, e);
}

int image_push(const image_store *store, const oci_descriptor *manifest,
    const struct image_remote *remote, const struct image_push_to *to, struct image_pushed *out,
    err *e)
{
    *out = (struct image_pushed){.digest = manifest->digest};
    CLEANUP(push_done)
    struct push p = {store, image_session_begin(remote, to->name, "pull,push"), to->work, 0};
    p.session.mount_from = to->mount_from;
    CLEANUP(oci_manifest_done) oci_manifest m = {0};
    AUTO_BUF text = {0};
    if (image_store_read(store, &manifest->digest, &text, MANIFEST_LIMIT, e) ||
        image_store_manifest(store, &manifest->digest, &m, e))
        return err_wrap(e, "push %s:%s", to->name, to->tag);
    work_total(to->work, oci_manifest_bytes(&m));
    work_parts(to->work, (int64_t)m.layer_n);
    if (image_greet(&p.session, e) || push_blobs(&p, &m, out, e) ||
        put_manifest(&p.session, manifest, &text, to->tag, e))
        return err_wrap(e, "push %s:%s", to->name, to->tag);
    return 0;
}
