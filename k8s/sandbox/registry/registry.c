// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/registry/registry_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

registry *registry_new(const image_store *s)
{
    registry *r = mem_alloc(sizeof *r);
    r->store = s;
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

void registry_free(registry *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < UPLOADS; i++)
        if (r->uploads[i])
            upload_free(r->uploads[i]);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void registry_add_header(struct registry_response *r, const char *name, const char *fmt, ...)
{
    if (r->header_n == REGISTRY_HEADERS)
        return;
    struct registry_header *h = &r->headers[r->header_n++];
    h->name = name;
    va_list args;
    va_start(args, fmt);
    vsnprintf(h->value, sizeof h->value, fmt, args);
    va_end(args);
}

void registry_answer_json(struct registry_response *r, int status, const cJSON *json)
{
    r->status = status;
    registry_add_header(r, "Content-Type", "application/json");
    json_print(&r->body, json);
    r->length = (int64_t)r->body.len;
}

static void answer_error(
    struct registry_response *r, int status, const char *code, const char *text)
{
    AUTO_JSON *json = cJSON_CreateObject();
    cJSON *item = cJSON_CreateObject();
    json_set_str(item, "code", code);
    json_set_str(item, "message", text);
    cJSON_AddItemToArray(json_array_at(json, "errors"), item);
    registry_answer_json(r, status, json);
}

void registry_answer_empty(struct registry_response *r, int status, const oci_digest *d)
{
    r->status = status;
    if (d)
        registry_add_header(r, "Docker-Content-Digest", "%s", d->text);
}

void registry_fail(registry_exchange *x, int status, const char *code, const char *fmt, ...)
{
    if (x->fail_status)
        return;
    va_list args;
    va_start(args, fmt);
    err_vset(&x->fail, ERR_FAILED, fmt, args);
    va_end(args);
    x->fail_status = status;
    x->fail_code = code;
}

// An error of the store as an HTTP status.
void registry_fail_by(
    registry_exchange *x, const err *e, const char *not_found, const char *invalid)
{
    if (e->code == ERR_NOT_FOUND)
        registry_fail(x, 404, not_found, "%s", e->text);
    else if (e->code == ERR_INVALID)
        registry_fail(x, 400, invalid, "%s", e->text);
    else
        registry_fail(x, e->code == ERR_NO_SPACE ? 507 : 500, "UNKNOWN", "%s", e->text);
}

const char *registry_query(const registry_exchange *x, const char *name)
{
    return x->q.query ? x->q.query(x->q.arg, name) : NULL;
}

const char *registry_find_header(const registry_exchange *x, const char *name)
{
    return x->q.header ? x->q.header(x->q.arg, name) : NULL;
}

// Splits "NAME<middle>REFERENCE" at the last middle. Lists and new uploads have no reference.
static bool split(
    registry_exchange *x, const char *path, const char *middle, enum resource resource)
{
    const char *found = NULL;
    for (const char *p = path; (p = strstr(p, middle)); p++)
        found = p;
    if (!found)
        return false;
    const char *reference = found + strlen(middle);
    bool wants = resource != RES_TAGS && resource != RES_UPLOADS;
    if (wants ? !*reference || strchr(reference, '/') : *reference)
        return false;
    x->name = mem_strndup(path, (size_t)(found - path));
    x->reference = mem_strdup(reference);
    x->resource = resource;
    return true;
}

static bool find_resource(registry_exchange *x, const char *path)
{
    if (str_eq(path, "/v2/") || str_eq(path, "/v2")) {
        x->resource = RES_BASE;
        return true;
    }
    if (!str_starts(path, "/v2/"))
        return false;
    path += strlen("/v2/");
    if (str_eq(path, "_catalog")) {
        x->resource = RES_CATALOG;
        return true;
    }
    return split(x, path, "/blobs/uploads/", RES_UPLOAD) ||
           split(x, path, "/blobs/uploads/", RES_UPLOADS) ||
           split(x, path, "/blobs/uploads", RES_UPLOADS) ||
           split(x, path, "/manifests/", RES_MANIFEST) || split(x, path, "/blobs/", RES_BLOB) ||
           split(x, path, "/tags/list", RES_TAGS);
}

static const struct op *find_op(enum resource resource, const char *method)
{
    if (str_eq(method, "HEAD"))
        method = "GET";
    static const struct op *const tables[] = {
        registry_list_ops, registry_content_ops, registry_upload_ops};
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        for (const struct op *o = tables[i]; o->method; o++)
            if (o->resource == resource && str_eq(o->method, method))
                return o;
    return NULL;
}

registry_exchange *registry_begin(registry *r, const struct registry_request *q)
{
    registry_exchange *x = mem_alloc(sizeof *x);
    x->r = r;
    x->q = *q;
    if (!find_resource(x, q->path))
        registry_fail(x, 404, "UNSUPPORTED", "there is nothing at this path");
    else if (x->name && !oci_name_valid(x->name))
        registry_fail(x, 400, "NAME_INVALID", "“%s” is not the name of a repository", x->name);
    else if (!(x->op = find_op(x->resource, q->method)))
        registry_fail(x, 405, "UNSUPPORTED", "%s is not supported here", q->method);
    else if (x->op->begin)
        x->op->begin(x);
    return x;
}

void registry_body(registry_exchange *x, const void *bytes, size_t n)
{
    err e = {0};
    if (x->fail_status)
        return;
    if (x->keeps_body && x->body.len + n > MANIFEST_LIMIT)
        registry_fail(x, 413, "MANIFEST_INVALID", "the manifest has more than 4 MiB");
    else if (x->keeps_body)
        buf_add(&x->body, bytes, n);
    else if (x->up && image_blob_write(x->up->blob, bytes, n, &e))
        registry_fail_by(x, &e, "UNKNOWN", "UNKNOWN");
}

static void exchange_free(registry_exchange *x)
{
    if (x->up)
        upload_release(x->r, x->up);
    buf_done(&x->body);
    free(x->name);
    free(x->reference);
    free(x);
}

// For some errors the specification tells the client where to go on.
static void answer_failure(registry_exchange *x, struct registry_response *r)
{
    registry_response_done(r);
    *r = (struct registry_response){.fd = -1};
    if (x->up && x->fail_status == 416)
        registry_answer_progress(x, r, 416);
    answer_error(r, x->fail_status, x->fail_code, x->fail.text);
}

void registry_end(registry_exchange *x, struct registry_response *response)
{
    *response = (struct registry_response){.fd = -1};
    if (!x->fail_status)
        x->op->end(x, response);
    if (x->fail_status)
        answer_failure(x, response);
    // An upload that was cut short by a full disk must be started again.
    if (x->up && x->fail_status >= 500)
        upload_remove(x->r, STEAL(x->up));
    registry_add_header(response, "Docker-Distribution-API-Version", "registry/2.0");
    exchange_free(x);
}

void registry_abort(registry_exchange *x)
{
    if (x)
        exchange_free(x);
}

void registry_response_done(struct registry_response *r)
{
    buf_done(&r->body);
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}
