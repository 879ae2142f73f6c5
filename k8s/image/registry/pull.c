// SPDX-License-Identifier: MIT
#include "k8s/image/registry/pull.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/index.h"

#include <string.h>

enum { TRIES = 4, REDIRECTS = 5 };

struct pull {
    const image_store *store;
    struct image_session session;
    struct work *work;
    struct image_pulled *out;
    bool resumed;    // the last try went on with what another one had left
    int64_t reached; // how much of the blob was there when it ended
};

// A blob that is being fetched.
struct fetch {
    struct pull *pull;
    const oci_descriptor *blob;
    image_blob *file;
    int64_t began; // bytes that an earlier try has left
    bool checked;  // the server was seen to go on from there
    struct http_response answer;
};

static void session_done(struct image_session *s)
{
    image_session_end(s);
}

static char *accepted_manifests(void)
{
    return str_fmt("%s, %s, %s, %s", oci_type_text(OCI_TYPE_OCI_MANIFEST),
        oci_type_text(OCI_TYPE_OCI_INDEX), oci_type_text(OCI_TYPE_DOCKER_MANIFEST),
        oci_type_text(OCI_TYPE_DOCKER_INDEX));
}

static int no_image(
    const struct image_session *s, const char *tag, const struct http_response *r, err *e)
{
    if (r->status != 404)
        return image_refused(s, "the manifest", r, e);
    return err_set(e, ERR_NOT_FOUND, "the registry %s has no image %s%c%s", s->remote->host,
        s->name, strchr(tag, ':') ? '@' : ':', tag);
}

// Reads a manifest or an index, which must have the digest that was asked for, and the size that
// its index says (-1: none does).
static int get_manifest(
    struct pull *p, const char *tag, int64_t size, buf *text, oci_descriptor *d, err *e)
{
    AUTO_FREE char *path = str_fmt("/v2/%s/manifests/%s", p->session.name, tag);
    AUTO_FREE char *accept = accepted_manifests();
    CLEANUP(http_response_done) struct http_response r = {0};
    struct image_step step = {.method = "GET", .url = path, .accept = accept, .fd = -1};
    if (image_exchange(&p->session, &step, &r, e))
        return -1;
    if (r.status != 200)
        return no_image(&p->session, tag, &r, e);
    buf_add(text, r.body.data, r.body.len);
    d->digest = oci_digest_of(buf_cstr(text), text->len);
    d->size = (int64_t)text->len;
    if (strchr(tag, ':') && !str_eq(tag, d->digest.text))
        return err_set(e, ERR_INVALID, "the registry %s answers %s with a manifest of digest %s",
            p->session.remote->host, tag, d->digest.text);
    if (size >= 0 && size != d->size)
        return err_set(e, ERR_INVALID,
            "the index of %s says that the manifest %s has %lld bytes, and it has %lld: whoever "
            "made the index has to make it anew",
            p->session.name, d->digest.text, (long long)size, (long long)d->size);
    AUTO_JSON *json = json_parse(buf_cstr(text), text->len, e);
    if (!json)
        return err_wrap(e, "the manifest of %s", p->session.name);
    AUTO_FREE char *header = http_header(&r, "Content-Type");
    const char *type = json_str(json, "mediaType");
    d->type = oci_type_parse(type ? type : header);
    enum oci_kind kind = oci_type_kind(d->type);
    if (kind == OCI_KIND_MANIFEST || kind == OCI_KIND_INDEX)
        return 0;
    type = type ? type : header ? header : "";
    return err_set(e, ERR_INVALID, "the registry %s has %s as “%s”, which is no image",
        p->session.remote->host, p->session.name, str_short(type, 100).text);
}

static int store_text(struct pull *p, const buf *text, err *e)
{
    return image_store_add(p->store, text->data, text->len, NULL, e);
}

// What was counted of the blob does not count any more.
static void forget(const struct fetch *f, int64_t counted)
{
    work_skip(f->pull->work, -f->began);
    work_step(f->pull->work, f->began - counted);
}

// Puts the file back to its start: what was left of it is of no use.
static int start_again(struct fetch *f, err *e)
{
    forget(f, image_blob_size(f->file));
    f->began = 0;
    return image_blob_restart(f->file, e);
}

static int take_bytes(void *arg, const char *bytes, size_t n, err *e)
{
    struct fetch *f = arg;
    if (!f->checked && f->began && f->answer.status != 206 && start_again(f, e))
        return -1;
    f->checked = true;
    if (image_blob_size(f->file) + (int64_t)n > f->blob->size)
        return err_set(e, ERR_INVALID, "%s is longer than its %lld bytes", f->blob->digest.text,
            (long long)f->blob->size);
    if (image_blob_write(f->file, bytes, n, e))
        return -1;
    f->pull->out->bytes += (int64_t)n;
    work_step(f->pull->work, (int64_t)n);
    return 0;
}

static bool is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// Asks for the rest of the blob, where the registry sends us: often a storage of its own, which
// gets no credentials of ours.
static int get_rest(struct fetch *f, err *e)
{
    struct image_session *s = &f->pull->session;
    AUTO_FREE char *url = str_fmt("/v2/%s/blobs/%s", s->name, f->blob->digest.text);
    AUTO_FREE char *range = str_fmt("bytes=%lld-", (long long)f->began);
    for (int i = 0; i <= REDIRECTS; i++) {
        struct image_step step = {.method = "GET",
            .url = url,
            .range = f->began ? range : NULL,
            .fd = -1,
            .sink = take_bytes,
            .sink_arg = f};
        http_response_done(&f->answer);
        if (image_exchange(s, &step, &f->answer, e))
            return -1;
        if (!is_redirect(f->answer.status))
            break;
        char *to = http_header(&f->answer, "Location");
        if (!to)
            break;
        free(url);
        url = to;
    }
    if (f->answer.status == 416 && f->began) // it does not go on from there
        return start_again(f, e) || get_rest(f, e) ? -1 : 0;
    if (f->answer.status / 100 != 2)
        return image_refused(s, "a layer", &f->answer, e);
    if (image_blob_size(f->file) == f->blob->size)
        return 0;
    return err_set(e, ERR_UNAVAILABLE, "the registry %s sent %lld of the %lld bytes of %s",
        s->remote->host, (long long)image_blob_size(f->file), (long long)f->blob->size,
        f->blob->digest.text);
}

static int fetch_once(struct pull *p, const oci_descriptor *d, err *e)
{
    struct fetch f = {.pull = p, .blob = d, .file = image_blob_resume(p->store, &d->digest, e)};
    if (!f.file)
        return -1;
    f.began = image_blob_size(f.file);
    p->resumed = f.began > 0;
    work_skip(p->work, f.began);
    int status = f.began > d->size ? start_again(&f, e) : 0;
    if (status == 0 && (f.began != d->size || d->size == 0))
        status = get_rest(&f, e);
    http_response_done(&f.answer);
    int64_t counted = p->reached = image_blob_size(f.file);
    if (status == 0)
        status = image_blob_commit(f.file, &d->digest, NULL, e);
    else
        image_blob_free(f.file);
    if (status)
        forget(&f, counted);
    return status;
}

// Retries while a registry is busy or away for a moment, and as long as tries come further than any
// before. (A registry that does not go on where it has broken off may send the same bytes for
// ever.)
static int fetch_patiently(struct pull *p, const oci_descriptor *d, err *e)
{
    err why = {0};
    int64_t furthest = 0;
    for (int i = 0; i < TRIES; i++) {
        p->reached = 0;
        if (i && canceller_sleep(p->session.remote->canceller, (CLOCK_SEC / 16) << (2 * i), e))
            return -1;
        if (fetch_once(p, d, &why) == 0) {
            p->out->fetched++;
            return 0;
        }
        if (why.code != ERR_UNAVAILABLE && !(why.code == ERR_INVALID && p->resumed))
            break;
        if (p->reached <= furthest)
            continue;
        furthest = p->reached;
        i = 0;
    }
    return err_set(e, why.code, "%s", why.text);
}

static int fetch_blob(struct pull *p, const oci_descriptor *d, err *e)
{
    int there = image_store_look(p->store, d, e);
    if (there <= 0)
        return there < 0 ? -1 : fetch_patiently(p, d, e);
    p->out->present++;
    work_skip(p->work, d->size);
    return 0;
}

static int fetch_blobs(struct pull *p, const buf *manifest, err *e)
{
    CLEANUP(oci_manifest_done) oci_manifest m = {0};
    if (oci_manifest_parse(manifest->data, manifest->len, &m, e))
        return -1;
    work_total(p->work, oci_manifest_bytes(&m));
    work_parts(p->work, (int64_t)m.layer_n);
    for (size_t i = 0; i < m.layer_n; i++) {
        size_t fetched = p->out->fetched;
        if (fetch_blob(p, &m.layers[i], e))
            return -1;
        work_part(p->work, p->out->fetched == fetched);
    }
    return fetch_blob(p, &m.config, e) || store_text(p, manifest, e) ? -1 : 0;
}

// Of an index, the image for this machine.
static int choose_image(struct pull *p, buf *text, err *e)
{
    AUTO_JSON *index = json_parse(buf_cstr(text), text->len, e);
    oci_descriptor chosen;
    if (!index || oci_index_choose(index, &chosen, e) || store_text(p, text, e))
        return -1;
    buf_clear(text);
    return get_manifest(p, chosen.digest.text, chosen.size, text, &p->out->manifest, e);
}

static int pull(struct pull *p, const struct image_pull_from *from, err *e)
{
    AUTO_BUF text = {0};
    if (image_greet(&p->session, e) || get_manifest(p, from->tag, -1, &text, &p->out->manifest, e))
        return -1;
    oci_descriptor named = p->out->manifest;
    p->out->digest = named.digest;
    if (oci_type_kind(named.type) == OCI_KIND_INDEX && choose_image(p, &text, e))
        return -1;
    if (fetch_blobs(p, &text, e))
        return -1;
    return from->ref ? image_store_tag(p->store, from->ref, &named, e) : 0;
}

int image_pull(const image_store *store, const struct image_remote *remote,
    const struct image_pull_from *from, struct image_pulled *out, err *e)
{
    *out = (struct image_pulled){0};
    struct pull p = {.store = store,
        .session = image_session_begin(remote, from->name, "pull"),
        .work = from->work,
        .out = out};
    int status = pull(&p, from, e);
    image_session_end(&p.session);
    return status ? err_wrap(
                        e, "pull %s%c%s", from->name, strchr(from->tag, ':') ? '@' : ':', from->tag)
                  : 0;
}

int image_remote_head(const struct image_remote *remote, const char *name, const char *tag,
    oci_digest *digest, err *e)
{
    CLEANUP(session_done) struct image_session s = image_session_begin(remote, name, "pull");
    AUTO_FREE char *path = str_fmt("/v2/%s/manifests/%s", name, tag);
    AUTO_FREE char *accept = accepted_manifests();
    CLEANUP(http_response_done) struct http_response r = {0};
    struct image_step step = {.method = "HEAD", .url = path, .accept = accept, .fd = -1};
    if (image_exchange(&s, &step, &r, e))
        return -1;
    if (r.status != 200)
        return image_refused(&s, "a look at the tag", &r, e);
    AUTO_FREE char *got = http_header(&r, "Docker-Content-Digest");
    return oci_digest_parse(got, digest, e);
}
