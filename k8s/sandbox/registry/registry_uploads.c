// SPDX-License-Identifier: MIT
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/registry/registry_private.h"

#include <stdio.h>
#include <string.h>

void upload_free(upload *u)
{
    image_blob_free(u->blob);
    free(u->name);
    free(u);
}

static upload *upload_new(registry_exchange *x, err *e)
{
    image_blob *blob = image_blob_new(x->r->store, e);
    if (!blob)
        return NULL;
    upload *u = mem_alloc(sizeof *u);
    random_hex(u->id, (UPLOAD_ID - 1) / 2);
    u->name = mem_strdup(x->name);
    u->blob = blob;
    u->busy = true;
    return u;
}

// A free place in the table, or the place of the upload that is unused longest; NULL: all are busy.
static upload **find_place(registry *r)
{
    upload **oldest = NULL;
    for (upload **p = r->uploads; p < r->uploads + UPLOADS; p++) {
        if (!*p)
            return p;
        if (!(*p)->busy && (!oldest || (*p)->touched < (*oldest)->touched))
            oldest = p;
    }
    return oldest;
}

static bool table_add(registry *r, upload *u)
{
    pthread_mutex_lock(&r->lock);
    upload **place = find_place(r);
    if (place && *place)
        upload_free(*place);
    if (place)
        *place = u;
    pthread_mutex_unlock(&r->lock);
    return place != NULL;
}

// Takes the upload that the request names; nobody else can use it until upload_release.
static upload *table_take(registry_exchange *x)
{
    upload *found = NULL;
    pthread_mutex_lock(&x->r->lock);
    for (size_t i = 0; i < UPLOADS && !found; i++) {
        upload *u = x->r->uploads[i];
        if (u && !u->busy && str_eq(u->id, x->reference) && str_eq(u->name, x->name))
            found = u;
    }
    if (found)
        found->busy = true;
    pthread_mutex_unlock(&x->r->lock);
    return found;
}

void upload_release(registry *r, upload *u)
{
    pthread_mutex_lock(&r->lock);
    u->busy = false;
    u->touched = ++r->clock;
    pthread_mutex_unlock(&r->lock);
}

void upload_remove(registry *r, upload *u)
{
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < UPLOADS; i++)
        if (r->uploads[i] == u)
            r->uploads[i] = NULL;
    pthread_mutex_unlock(&r->lock);
    upload_free(u);
}

void registry_answer_progress(const registry_exchange *x, struct registry_response *r, int status)
{
    int64_t size = image_blob_size(x->up->blob);
    r->status = status;
    registry_add_header(r, "Location", "/v2/%s/blobs/uploads/%s", x->name, x->up->id);
    registry_add_header(r, "Range", "0-%lld", (long long)(size ? size - 1 : 0));
    registry_add_header(r, "Docker-Upload-UUID", "%s", x->up->id);
}

static void answer_blob(
    const registry_exchange *x, struct registry_response *r, const oci_digest *d)
{
    registry_answer_empty(r, 201, d);
    registry_add_header(r, "Location", "/v2/%s/blobs/%s", x->name, d->text);
}

// The body will go into x->up.
static void begin_post(registry_exchange *x)
{
    err e = {0};
    oci_digest d;
    const char *mount = registry_query(x, "mount");
    if (mount && oci_digest_parse(mount, &d, NULL) == 0 && image_store_has(x->r->store, &d, NULL))
        return; // post answers that the blob exists
    upload *u = upload_new(x, &e);
    if (!u) {
        registry_fail_by(x, &e, "UNKNOWN", "UNKNOWN");
    } else if (!table_add(x->r, u)) {
        upload_free(u);
        registry_fail(x, 429, "TOOMANYREQUESTS", "too many uploads are under way");
    } else {
        x->up = u;
    }
}

// Finishes the upload: it becomes a blob with the digest in the query.
static void commit(registry_exchange *x, struct registry_response *r)
{
    err e = {0};
    oci_digest d;
    if (oci_digest_parse(registry_query(x, "digest"), &d, &e)) {
        registry_fail(x, 400, "DIGEST_INVALID", "%s", e.text);
        return;
    }
    int status = image_blob_commit(STEAL(x->up->blob), &d, NULL, &e);
    upload_remove(x->r, STEAL(x->up));
    if (status)
        registry_fail_by(x, &e, "UNKNOWN", "DIGEST_INVALID");
    else
        answer_blob(x, r, &d);
}

static void post_upload(registry_exchange *x, struct registry_response *r)
{
    oci_digest d;
    if (!x->up && oci_digest_parse(registry_query(x, "mount"), &d, NULL) == 0)
        answer_blob(x, r, &d);
    else if (registry_query(x, "digest"))
        commit(x, r); // the request brought the whole blob
    else
        registry_answer_progress(x, r, 202);
}

static void begin_upload(registry_exchange *x)
{
    x->up = table_take(x);
    if (!x->up) {
        registry_fail(x, 404, "BLOB_UPLOAD_UNKNOWN", "there is no upload %s", x->reference);
        return;
    }
    long long from, to;
    const char *range = registry_find_header(x, "Content-Range");
    if (range && sscanf(range, "%lld-%lld", &from, &to) == 2 &&
        from != image_blob_size(x->up->blob))
        registry_fail(x, 416, "BLOB_UPLOAD_INVALID", "the next byte is %lld",
            (long long)image_blob_size(x->up->blob));
}

static void get_upload(registry_exchange *x, struct registry_response *r)
{
    registry_answer_progress(x, r, 204);
}

static void patch_upload(registry_exchange *x, struct registry_response *r)
{
    registry_answer_progress(x, r, 202);
}

static void delete_upload(registry_exchange *x, struct registry_response *r)
{
    upload_remove(x->r, STEAL(x->up));
    r->status = 204;
}

const struct op registry_upload_ops[] = {
    {"POST", RES_UPLOADS, begin_post, post_upload},
    {"GET", RES_UPLOAD, begin_upload, get_upload},
    {"PATCH", RES_UPLOAD, begin_upload, patch_upload},
    {"PUT", RES_UPLOAD, begin_upload, commit},
    {"DELETE", RES_UPLOAD, begin_upload, delete_upload},
    {0},
};
