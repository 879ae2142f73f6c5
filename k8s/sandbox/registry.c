// SPDX-License-Identifier: MIT
// One table says what each method does to each resource; the rest of the file is those functions,
// in the table's order. Blobs are shared by all names, as the store's are, and are removed by its
// collector only.
#include "k8s/sandbox/registry.h"

#include "base/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/index.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    MANIFEST_LIMIT = 4 << 20, // as the specification recommends
    UPLOAD_ID = 33,           // 32 hexadecimal digits
    UPLOADS = 64,             // under way at once; then the one that rested longest goes
};

typedef struct upload {
    char id[UPLOAD_ID];
    char *name; // of the repository it was begun for
    image_blob *blob;
    bool busy;        // an exchange holds it
    uint64_t touched; // when it was used last, as a count
} upload;

struct registry {
    const image_store *store;
    pthread_mutex_t lock; // of the table; an upload that is busy belongs to its exchange
    upload *uploads[UPLOADS];
    uint64_t clock; // counts uses
};

enum resource { RES_BASE, RES_CATALOG, RES_TAGS, RES_MANIFEST, RES_BLOB, RES_UPLOADS, RES_UPLOAD };

struct op {
    const char *method;
    enum resource resource;
    void (*begin)(registry_exchange *x); // before the body; may be NULL
    void (*end)(registry_exchange *x, struct registry_response *response);
};

struct registry_exchange {
    registry *r;
    struct registry_request q;
    enum resource resource;
    char *name;      // "firesteel/mnist"
    char *reference; // tag, digest or upload id
    const struct op *op;
    bool keeps_body; // in `body`; else it goes to `up`, or nowhere
    buf body;
    upload *up;
    // The first thing that went wrong, found before or while the body came.
    int fail_status;
    const char *fail_code;
    err fail;
};

registry *registry_new(const image_store *s)
{
    registry *r = mem_alloc(sizeof *r);
    r->store = s;
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

static void upload_free(upload *u)
{
    image_blob_free(u->blob);
    free(u->name);
    free(u);
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

// Answers

static void add_header(struct registry_response *r, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void add_header(struct registry_response *r, const char *name, const char *fmt, ...)
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

static void answer_json(struct registry_response *r, int status, const cJSON *json)
{
    r->status = status;
    add_header(r, "Content-Type", "application/json");
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
    answer_json(r, status, json);
}

static void answer_empty(struct registry_response *r, int status, const oci_digest *d)
{
    r->status = status;
    if (d)
        add_header(r, "Docker-Content-Digest", "%s", d->text);
}

static void fail(registry_exchange *x, int status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void fail(registry_exchange *x, int status, const char *code, const char *fmt, ...)
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

// What the store says, as a status of HTTP.
static void fail_by(registry_exchange *x, const err *e, const char *not_found, const char *invalid)
{
    if (e->code == ERR_NOT_FOUND)
        fail(x, 404, not_found, "%s", e->text);
    else if (e->code == ERR_INVALID)
        fail(x, 400, invalid, "%s", e->text);
    else
        fail(x, e->code == ERR_NO_SPACE ? 507 : 500, "UNKNOWN", "%s", e->text);
}

static const char *query(const registry_exchange *x, const char *name)
{
    return x->q.query ? x->q.query(x->q.arg, name) : NULL;
}

static const char *header(const registry_exchange *x, const char *name)
{
    return x->q.header ? x->q.header(x->q.arg, name) : NULL;
}

// Lists

// One page of sorted names after `last`, at most n, with a link to the next one.
static void answer_page(registry_exchange *x, struct registry_response *r, const char *key,
    char *const *names, const char *path)
{
    const char *last = query(x, "last"), *n_text = query(x, "n");
    int64_t n = INT64_MAX, taken = 0;
    if (n_text && (!str_to_int(n_text, &n) || n < 0)) {
        answer_error(r, 400, "PAGINATION_NUMBER_INVALID", "n is not a number");
        return;
    }
    AUTO_JSON *json = cJSON_CreateObject();
    if (x->name)
        json_set_str(json, "name", x->name);
    cJSON *list = json_array_at(json, key);
    for (size_t i = 0; names[i]; i++) {
        if (last && strcmp(names[i], last) <= 0)
            continue;
        if (taken++ == n) {
            if (i > 0 && n > 0)
                add_header(r, "Link", "<%s?n=%lld&last=%s>; rel=\"next\"", path, (long long)n,
                    names[i - 1]);
            break;
        }
        cJSON_AddItemToArray(list, cJSON_CreateString(names[i]));
    }
    answer_json(r, 200, json);
}

static void get_base(registry_exchange *x, struct registry_response *r)
{
    AUTO_JSON *json = cJSON_CreateObject();
    answer_json(r, 200, json);
}

// Names of all repositories, or the tags of `only`.
static char **list_names(registry_exchange *x, const char *only, err *e)
{
    struct image_tag *tags;
    size_t n;
    if (image_store_tags(x->r->store, &tags, &n, e))
        return NULL;
    char **names = mem_alloc(sizeof *names);
    for (size_t i = 0; i < n; i++) {
        char *colon = strrchr(tags[i].ref, ':');
        *colon = '\0';
        size_t have = strv_len(names);
        if (only && str_eq(tags[i].ref, only))
            names = strv_add(names, colon + 1);
        if (!only && (have == 0 || !str_eq(names[have - 1], tags[i].ref)))
            names = strv_add(names, tags[i].ref);
    }
    image_tags_free(tags, n);
    return names;
}

static void get_catalog(registry_exchange *x, struct registry_response *r)
{
    err e = {0};
    char **names = list_names(x, NULL, &e);
    if (!names) {
        fail_by(x, &e, "UNKNOWN", "UNKNOWN");
        return;
    }
    answer_page(x, r, "repositories", names, "/v2/_catalog");
    strv_free(names);
}

static void get_tags(registry_exchange *x, struct registry_response *r)
{
    err e = {0};
    char **names = list_names(x, x->name, &e);
    if (!names) {
        fail_by(x, &e, "UNKNOWN", "UNKNOWN");
    } else if (!names[0]) {
        fail(x, 404, "NAME_UNKNOWN", "there is no repository %s", x->name);
    } else {
        AUTO_FREE char *path = str_fmt("/v2/%s/tags/list", x->name);
        answer_page(x, r, "tags", names, path);
    }
    strv_free(names);
}

// Manifests

static bool is_digest(const char *reference)
{
    return strchr(reference, ':') != NULL; // a tag has none
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
        fail_by(x, &e, "MANIFEST_UNKNOWN", "MANIFEST_INVALID");
        return;
    }
    answer_fd(r, fd, size);
    add_header(r, "Content-Type", "%s", oci_type_text(d.type));
    add_header(r, "Docker-Content-Digest", "%s", d.digest.text);
    add_header(r, "ETag", "\"%s\"", d.digest.text);
}

static void begin_put_manifest(registry_exchange *x)
{
    enum oci_type type = oci_type_parse(header(x, "Content-Type"));
    if (oci_type_kind(type) != OCI_KIND_MANIFEST && oci_type_kind(type) != OCI_KIND_INDEX)
        fail(x, 415, "MANIFEST_INVALID", "Content-Type is not that of an image manifest or index");
    else if (!is_digest(x->reference) && !oci_tag_valid(x->reference))
        fail(x, 400, "TAG_INVALID", "“%s” is not a tag", x->reference);
    x->keeps_body = !x->fail_status;
}

// Does the store have what the manifest leads to?
static int check_children(registry_exchange *x, enum oci_type type, err *e)
{
    if (oci_type_kind(type) == OCI_KIND_MANIFEST) {
        oci_manifest m;
        if (oci_manifest_parse(buf_cstr(&x->body), x->body.len, &m, e))
            return -1;
        oci_manifest_done(&m);
        return 0; // tagging looks for the blobs
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
    if (store_manifest(x, oci_type_parse(header(x, "Content-Type")), &d, &e)) {
        fail_by(x, &e, "MANIFEST_BLOB_UNKNOWN", "MANIFEST_INVALID");
        return;
    }
    answer_empty(r, 201, &d.digest);
    add_header(r, "Location", "/v2/%s/manifests/%s", x->name, d.digest.text);
}

// A tag goes; a digest goes with all its tags in this repository.
static void delete_manifest(registry_exchange *x, struct registry_response *r)
{
    err e = {0};
    struct image_tag *tags;
    size_t n, removed = 0;
    if (image_store_tags(x->r->store, &tags, &n, &e)) {
        fail_by(x, &e, "UNKNOWN", "UNKNOWN");
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
        fail(x, 404, "MANIFEST_UNKNOWN", "there is no %s", ref);
}

// Blobs

// "bytes=0-99", "bytes=100-", "bytes=-100". 0: no range that is understood, -1: none of it is
// there.
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
        fail(x, 400, "DIGEST_INVALID", "%s", e.text);
        return;
    }
    int fd = image_store_blob(x->r->store, &d, &size, &e);
    if (fd < 0) {
        fail_by(x, &e, "BLOB_UNKNOWN", "BLOB_UNKNOWN");
        return;
    }
    answer_fd(r, fd, size);
    add_header(r, "Content-Type", "application/octet-stream");
    add_header(r, "Accept-Ranges", "bytes");
    add_header(r, "Docker-Content-Digest", "%s", d.text);
    int ranged = parse_range(header(x, "Range"), size, &from, &to);
    if (ranged > 0) {
        r->status = 206;
        r->offset = from;
        r->length = to - from + 1;
        add_header(r, "Content-Range", "bytes %lld-%lld/%lld", (long long)from, (long long)to,
            (long long)size);
    } else if (ranged < 0) {
        fail(x, 416, "RANGE_INVALID", "the blob has %lld bytes", (long long)size);
    }
}

// Uploads

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

// A free place of the table, or that of the upload which rested longest; NULL: all are busy.
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

// Takes the upload that the request names; nobody else has it until table_release.
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

static void table_release(registry *r, upload *u)
{
    pthread_mutex_lock(&r->lock);
    u->busy = false;
    u->touched = ++r->clock;
    pthread_mutex_unlock(&r->lock);
}

static void table_remove(registry *r, upload *u)
{
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < UPLOADS; i++)
        if (r->uploads[i] == u)
            r->uploads[i] = NULL;
    pthread_mutex_unlock(&r->lock);
    upload_free(u);
}

static void answer_progress(const registry_exchange *x, struct registry_response *r, int status)
{
    int64_t size = image_blob_size(x->up->blob);
    r->status = status;
    add_header(r, "Location", "/v2/%s/blobs/uploads/%s", x->name, x->up->id);
    add_header(r, "Range", "0-%lld", (long long)(size ? size - 1 : 0));
    add_header(r, "Docker-Upload-UUID", "%s", x->up->id);
}

static void answer_blob(
    const registry_exchange *x, struct registry_response *r, const oci_digest *d)
{
    answer_empty(r, 201, d);
    add_header(r, "Location", "/v2/%s/blobs/%s", x->name, d->text);
}

// The body is on its way into x->up.
static void begin_post(registry_exchange *x)
{
    err e = {0};
    oci_digest d;
    const char *mount = query(x, "mount");
    if (mount && oci_digest_parse(mount, &d, NULL) == 0 && image_store_has(x->r->store, &d, NULL))
        return; // post answers that it is there
    upload *u = upload_new(x, &e);
    if (!u) {
        fail_by(x, &e, "UNKNOWN", "UNKNOWN");
    } else if (!table_add(x->r, u)) {
        upload_free(u);
        fail(x, 429, "TOOMANYREQUESTS", "too many uploads are under way");
    } else {
        x->up = u;
    }
}

// Ends the upload as a blob with the digest that the query names.
static void commit(registry_exchange *x, struct registry_response *r)
{
    err e = {0};
    oci_digest d;
    if (oci_digest_parse(query(x, "digest"), &d, &e)) {
        fail(x, 400, "DIGEST_INVALID", "%s", e.text);
        return;
    }
    int status = image_blob_commit(STEAL(x->up->blob), &d, NULL, &e);
    table_remove(x->r, STEAL(x->up));
    if (status)
        fail_by(x, &e, "UNKNOWN", "DIGEST_INVALID");
    else
        answer_blob(x, r, &d);
}

static void post_upload(registry_exchange *x, struct registry_response *r)
{
    oci_digest d;
    if (!x->up && oci_digest_parse(query(x, "mount"), &d, NULL) == 0)
        answer_blob(x, r, &d);
    else if (query(x, "digest"))
        commit(x, r); // all of it came with the request
    else
        answer_progress(x, r, 202);
}

static void begin_upload(registry_exchange *x)
{
    x->up = table_take(x);
    if (!x->up) {
        fail(x, 404, "BLOB_UPLOAD_UNKNOWN", "there is no upload %s", x->reference);
        return;
    }
    long long from, to;
    const char *range = header(x, "Content-Range");
    if (range && sscanf(range, "%lld-%lld", &from, &to) == 2 &&
        from != image_blob_size(x->up->blob))
        fail(x, 416, "BLOB_UPLOAD_INVALID", "the next byte is %lld",
            (long long)image_blob_size(x->up->blob));
}

static void get_upload(registry_exchange *x, struct registry_response *r)
{
    answer_progress(x, r, 204);
}

static void patch_upload(registry_exchange *x, struct registry_response *r)
{
    answer_progress(x, r, 202);
}

static void delete_upload(registry_exchange *x, struct registry_response *r)
{
    table_remove(x->r, STEAL(x->up));
    r->status = 204;
}

static const struct op ops[] = {
    {"GET", RES_BASE, NULL, get_base},
    {"GET", RES_CATALOG, NULL, get_catalog},
    {"GET", RES_TAGS, NULL, get_tags},
    {"GET", RES_MANIFEST, NULL, get_manifest},
    {"PUT", RES_MANIFEST, begin_put_manifest, put_manifest},
    {"DELETE", RES_MANIFEST, NULL, delete_manifest},
    {"GET", RES_BLOB, NULL, get_blob},
    {"POST", RES_UPLOADS, begin_post, post_upload},
    {"GET", RES_UPLOAD, begin_upload, get_upload},
    {"PATCH", RES_UPLOAD, begin_upload, patch_upload},
    {"PUT", RES_UPLOAD, begin_upload, commit},
    {"DELETE", RES_UPLOAD, begin_upload, delete_upload},
};

// The exchange

// Splits "NAME<middle>REFERENCE" at the last middle. A NULL reference takes none.
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
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        if (ops[i].resource == resource && str_eq(ops[i].method, method))
            return &ops[i];
    return NULL;
}

registry_exchange *registry_begin(registry *r, const struct registry_request *q)
{
    registry_exchange *x = mem_alloc(sizeof *x);
    x->r = r;
    x->q = *q;
    if (!find_resource(x, q->path))
        fail(x, 404, "UNSUPPORTED", "there is nothing at this path");
    else if (x->name && !oci_name_valid(x->name))
        fail(x, 400, "NAME_INVALID", "“%s” is not the name of a repository", x->name);
    else if (!(x->op = find_op(x->resource, q->method)))
        fail(x, 405, "UNSUPPORTED", "%s is not done to this", q->method);
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
        fail(x, 413, "MANIFEST_INVALID", "the manifest has more than 4 MiB");
    else if (x->keeps_body)
        buf_add(&x->body, bytes, n);
    else if (x->up && image_blob_write(x->up->blob, bytes, n, &e))
        fail_by(x, &e, "UNKNOWN", "UNKNOWN");
}

static void exchange_free(registry_exchange *x)
{
    if (x->up)
        table_release(x->r, x->up);
    buf_done(&x->body);
    free(x->name);
    free(x->reference);
    free(x);
}

// The specification gives some errors a place to go on from.
static void answer_failure(registry_exchange *x, struct registry_response *r)
{
    registry_response_done(r);
    *r = (struct registry_response){.fd = -1};
    if (x->up && x->fail_status == 416)
        answer_progress(x, r, 416);
    answer_error(r, x->fail_status, x->fail_code, x->fail.text);
}

void registry_end(registry_exchange *x, struct registry_response *response)
{
    *response = (struct registry_response){.fd = -1};
    if (!x->fail_status)
        x->op->end(x, response);
    if (x->fail_status)
        answer_failure(x, response);
    // What was half written when the disk was full can only be begun again.
    if (x->up && x->fail_status >= 500)
        table_remove(x->r, STEAL(x->up));
    add_header(response, "Docker-Distribution-API-Version", "registry/2.0");
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
