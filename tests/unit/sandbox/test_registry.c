// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/index.h"
#include "k8s/sandbox/registry/registry.h"
#include "tests/support/tap.h"

#include <unistd.h>

#define MANIFEST "application/vnd.oci.image.manifest.v1+json"

static image_store *store;
static registry *reg;

static void set_up(void)
{
    err e = {0};
    AUTO_FREE char *dir = path_join(tap_dir(), "images");
    store = image_store_open(dir, &e);
    CHECK_OK(store, e);
    reg = registry_new(store);
}

static void tear_down(void)
{
    registry_free(reg);
    image_store_free(store);
}

// "name=value" pairs of a request; pairs with ':' in front of the name are headers.
static const char *find(const char *const *pairs, char mark, const char *name)
{
    for (; pairs && *pairs; pairs++) {
        const char *p = *pairs;
        if ((*p == ':') != (mark == ':'))
            continue;
        p += *p == ':';
        size_t n = strlen(name);
        if (strncasecmp(p, name, n) == 0 && p[n] == '=')
            return p + n + 1;
    }
    return NULL;
}

static const char *find_header(void *arg, const char *name)
{
    return find(arg, ':', name);
}

static const char *find_query(void *arg, const char *name)
{
    return find(arg, '?', name);
}

static struct registry_response response;

// Makes one request and returns its status. The response stays in `response` until the next
// request.
static int ask(const char *method, const char *path, const char *const *pairs, const char *body)
{
    struct registry_request q = {method, path, find_header, find_query, (void *)pairs};
    registry_exchange *x = registry_begin(reg, &q);
    for (size_t i = 0; body && body[i]; i++) // in the smallest pieces
        registry_body(x, body + i, 1);
    registry_response_done(&response);
    registry_end(x, &response);
    return response.status;
}

static const char *got(const char *name)
{
    for (size_t i = 0; i < response.header_n; i++)
        if (str_eq(response.headers[i].name, name))
            return response.headers[i].value;
    return NULL;
}

static void check_body(const char *want)
{
    char text[4096] = "";
    CHECK(response.fd >= 0 && response.length < (int64_t)sizeof text);
    CHECK_INT(pread(response.fd, text, (size_t)response.length, response.offset), response.length);
    CHECK_STR(text, want);
}

static void check_error(int status, const char *code)
{
    CHECK_INT(response.status, status);
    CHECK_HAS(buf_cstr(&response.body), "{\"errors\":[{\"code\":");
    CHECK_HAS(buf_cstr(&response.body), code);
}

static oci_digest push_blob(const char *text)
{
    oci_digest d = oci_digest_of(text, strlen(text));
    CHECK_INT(ask("POST", "/v2/a/b/blobs/uploads/", NULL, NULL), 202);
    AUTO_FREE char *location = mem_strdup(got("Location")), *digest = str_fmt("digest=%s", d.text);
    CHECK_INT(ask("PUT", location, (const char *[]){digest, NULL}, text), 201);
    CHECK_STR(got("Docker-Content-Digest"), d.text);
    return d;
}

static char *manifest_text(void)
{
    oci_digest config = push_blob("{}"), layer = push_blob("layer");
    return str_fmt(
        "{\"schemaVersion\":2,\"mediaType\":\"" MANIFEST "\",\"config\":{\"mediaType\":"
        "\"%s\",\"digest\":\"%s\",\"size\":2},\"layers\":[{\"mediaType\":\"%s\",\"digest\":"
        "\"%s\",\"size\":5}]}",
        oci_type_text(OCI_TYPE_OCI_CONFIG), config.text, oci_type_text(OCI_TYPE_OCI_LAYER),
        layer.text);
}

static const char *const as_manifest[] = {":content-type=" MANIFEST, NULL};

TEST(base)
{
    set_up();
    CHECK_INT(ask("GET", "/v2/", NULL, NULL), 200);
    CHECK_STR(buf_cstr(&response.body), "{}");
    CHECK_STR(got("Docker-Distribution-API-Version"), "registry/2.0");
    ask("GET", "/v2/a/b/nothing", NULL, NULL);
    check_error(404, "UNSUPPORTED");
    ask("GET", "/v2/A/manifests/x", NULL, NULL);
    check_error(400, "NAME_INVALID");
    ask("GET", "/v2/../../etc/manifests/x", NULL, NULL);
    check_error(400, "NAME_INVALID");
    ask("DELETE", "/v2/", NULL, NULL);
    check_error(405, "UNSUPPORTED");
    tear_down();
}

TEST(blobs)
{
    set_up();
    oci_digest d = push_blob("0123456789"), other = oci_digest_of("x", 1);
    AUTO_FREE char *path = str_fmt("/v2/a/b/blobs/%s", d.text),
                   *missing = str_fmt("/v2/a/b/blobs/%s", other.text);
    CHECK_INT(ask("HEAD", path, NULL, NULL), 200);
    CHECK_INT(response.length, 10);
    CHECK_INT(ask("GET", path, NULL, NULL), 200);
    check_body("0123456789");
    ask("GET", missing, NULL, NULL);
    check_error(404, "BLOB_UNKNOWN");
    ask("GET", "/v2/a/b/blobs/sha256:../../x", NULL, NULL);
    CHECK_INT(response.status, 404);
    ask("GET", "/v2/a/b/blobs/sha256:xyz", NULL, NULL);
    check_error(400, "DIGEST_INVALID");
    tear_down();
}

TEST(ranges)
{
    set_up();
    oci_digest d = push_blob("0123456789");
    AUTO_FREE char *path = str_fmt("/v2/a/b/blobs/%s", d.text);
    static const struct {
        const char *range, *want, *content_range;
    } good[] = {
        {":Range=bytes=2-4", "234", "bytes 2-4/10"},
        {":Range=bytes=7-", "789", "bytes 7-9/10"},
        {":Range=bytes=7-99", "789", "bytes 7-9/10"},
        {":Range=bytes=-3", "789", "bytes 7-9/10"},
        {":Range=bytes=-99", "0123456789", "bytes 0-9/10"},
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        CHECK_INT(ask("GET", path, (const char *[]){good[i].range, NULL}, NULL), 206);
        check_body(good[i].want);
        CHECK_STR(got("Content-Range"), good[i].content_range);
    }
    const char *const ignored[] = {":Range=lines=1-2", ":Range=bytes=1-2,4-5", ":Range=bytes=-",
        ":Range=bytes=x-", ":Range=bytes=1--2"};
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++) {
        CHECK_INT(ask("GET", path, (const char *[]){ignored[i], NULL}, NULL), 200);
        check_body("0123456789");
    }
    ask("GET", path, (const char *[]){":Range=bytes=10-", NULL}, NULL);
    check_error(416, "RANGE_INVALID");
    tear_down();
}

TEST(uploads_in_chunks)
{
    set_up();
    CHECK_INT(ask("POST", "/v2/a/b/blobs/uploads/", NULL, NULL), 202);
    AUTO_FREE char *at = mem_strdup(got("Location"));
    CHECK_INT(ask("PATCH", at, (const char *[]){":Content-Range=0-2", NULL}, "012"), 202);
    CHECK_STR(got("Range"), "0-2");
    ask("PATCH", at, (const char *[]){":Content-Range=9-11", NULL}, "xxx");
    check_error(416, "BLOB_UPLOAD_INVALID");
    CHECK_STR(got("Range"), "0-2"); // where to go on
    CHECK_INT(ask("GET", at, NULL, NULL), 204);
    CHECK_STR(got("Range"), "0-2");
    CHECK_INT(ask("PATCH", at, (const char *[]){":Content-Range=3-4", NULL}, "34"), 202);
    oci_digest d = oci_digest_of("0123456", 7);
    AUTO_FREE char *digest = str_fmt("digest=%s", d.text);
    CHECK_INT(ask("PUT", at, (const char *[]){digest, NULL}, "56"), 201);
    CHECK(image_store_has(store, &d, NULL));
    ask("PATCH", at, NULL, "x"); // it is over
    check_error(404, "BLOB_UPLOAD_UNKNOWN");
    tear_down();
}

TEST(uploads_that_go_wrong)
{
    set_up();
    CHECK_INT(ask("POST", "/v2/a/b/blobs/uploads/", NULL, NULL), 202);
    AUTO_FREE char *at = mem_strdup(got("Location"));
    oci_digest d = oci_digest_of("right", 5), wrong = oci_digest_of("wrong", 5);
    AUTO_FREE char *digest = str_fmt("digest=%s", d.text);
    ask("PUT", at, (const char *[]){digest, NULL}, "wrong");
    check_error(400, "DIGEST_INVALID");
    CHECK(!image_store_has(store, &d, NULL) && !image_store_has(store, &wrong, NULL));

    CHECK_INT(ask("POST", "/v2/a/b/blobs/uploads/", NULL, NULL), 202);
    free(at);
    at = mem_strdup(got("Location"));
    ask("PUT", at, NULL, "right");
    check_error(400, "DIGEST_INVALID");
    CHECK_INT(ask("DELETE", at, NULL, NULL), 204);
    ask("GET", at, NULL, NULL);
    check_error(404, "BLOB_UPLOAD_UNKNOWN");

    // After a broken connection the upload is where it was; it cannot be found under another name.
    CHECK_INT(ask("POST", "/v2/a/b/blobs/uploads/", NULL, NULL), 202);
    free(at);
    at = mem_strdup(got("Location"));
    struct registry_request q = {"PATCH", at, NULL, NULL, NULL};
    registry_exchange *x = registry_begin(reg, &q);
    registry_body(x, "ri", 2);
    ask("PATCH", at, NULL, "x"); // held by the other
    check_error(404, "BLOB_UPLOAD_UNKNOWN");
    registry_abort(x);
    AUTO_FREE char *stranger = str_fmt("/v2/c%s", at + strlen("/v2/a/b"));
    ask("GET", stranger, NULL, NULL);
    check_error(404, "BLOB_UPLOAD_UNKNOWN");
    CHECK_INT(ask("PUT", at, (const char *[]){digest, NULL}, "ght"), 201);
    tear_down();
}

TEST(uploads_are_bounded)
{
    set_up();
    CHECK_INT(ask("POST", "/v2/a/b/blobs/uploads/", NULL, NULL), 202);
    AUTO_FREE char *first = mem_strdup(got("Location")), *last = NULL;
    for (int i = 0; i < 64; i++)
        CHECK_INT(ask("POST", "/v2/a/b/blobs/uploads/", NULL, NULL), 202);
    last = mem_strdup(got("Location"));
    CHECK_INT(ask("GET", first, NULL, NULL), 404); // it rested longest
    CHECK_INT(ask("GET", last, NULL, NULL), 204);
    tear_down();
}

TEST(one_request_and_mounts)
{
    set_up();
    oci_digest d = oci_digest_of("all", 3), none = oci_digest_of("none", 4);
    AUTO_FREE char *digest = str_fmt("digest=%s", d.text), *mount = str_fmt("mount=%s", d.text),
                   *nothing = str_fmt("mount=%s", none.text);
    CHECK_INT(ask("POST", "/v2/a/b/blobs/uploads/", (const char *[]){digest, NULL}, "all"), 201);
    CHECK_INT(
        ask("POST", "/v2/c/blobs/uploads/", (const char *[]){mount, "from=a/b", NULL}, NULL), 201);
    CHECK_HAS(got("Location"), "/v2/c/blobs/sha256:");
    CHECK_INT(
        ask("POST", "/v2/c/blobs/uploads/", (const char *[]){nothing, "from=a/b", NULL}, NULL),
        202);
    CHECK_HAS(got("Location"), "/v2/c/blobs/uploads/");
    tear_down();
}

TEST(manifests_and_tags)
{
    set_up();
    AUTO_FREE char *text = manifest_text();
    oci_digest d = oci_digest_of(text, strlen(text));
    AUTO_FREE char *by_digest = str_fmt("/v2/a/b/manifests/%s", d.text);
    CHECK_INT(ask("PUT", "/v2/a/b/manifests/1.0", as_manifest, text), 201);
    CHECK_STR(got("Docker-Content-Digest"), d.text);
    CHECK_STR(got("Location"), by_digest);
    CHECK_INT(ask("PUT", "/v2/a/b/manifests/latest", as_manifest, text), 201);
    CHECK_INT(ask("PUT", by_digest, as_manifest, text), 201);
    CHECK_INT(ask("GET", "/v2/a/b/manifests/1.0", NULL, NULL), 200);
    CHECK_STR(got("Content-Type"), MANIFEST);
    check_body(text);
    CHECK_INT(ask("HEAD", by_digest, NULL, NULL), 200);
    ask("GET", "/v2/a/b/manifests/2.0", NULL, NULL);
    check_error(404, "MANIFEST_UNKNOWN");

    oci_descriptor found; // the store itself has it under the same name
    err e = {0};
    CHECK_OK(image_store_resolve(store, "a/b:1.0", &found, &e) == 0, e);
    CHECK_STR(found.digest.text, d.text);

    CHECK_INT(ask("GET", "/v2/a/b/tags/list", NULL, NULL), 200);
    CHECK_STR(buf_cstr(&response.body), "{\"name\":\"a/b\",\"tags\":[\"1.0\",\"latest\"]}");
    CHECK_INT(ask("GET", "/v2/a/b/tags/list", (const char *[]){"n=1", NULL}, NULL), 200);
    CHECK_STR(got("Link"), "</v2/a/b/tags/list?n=1&last=1.0>; rel=\"next\"");
    CHECK_INT(
        ask("GET", "/v2/a/b/tags/list", (const char *[]){"n=1", "last=1.0", NULL}, NULL), 200);
    CHECK_STR(buf_cstr(&response.body), "{\"name\":\"a/b\",\"tags\":[\"latest\"]}");
    CHECK(!got("Link"));
    CHECK_INT(ask("GET", "/v2/_catalog", NULL, NULL), 200);
    CHECK_STR(buf_cstr(&response.body), "{\"repositories\":[\"a/b\"]}");
    ask("GET", "/v2/nobody/tags/list", NULL, NULL);
    check_error(404, "NAME_UNKNOWN");

    CHECK_INT(ask("DELETE", "/v2/a/b/manifests/1.0", NULL, NULL), 202);
    CHECK_INT(ask("DELETE", by_digest, NULL, NULL), 202);
    ask("DELETE", "/v2/a/b/manifests/latest", NULL, NULL);
    check_error(404, "MANIFEST_UNKNOWN");
    tear_down();
}

TEST(manifests_that_are_refused)
{
    set_up();
    AUTO_FREE char *text = manifest_text();
    oci_digest other = oci_digest_of("x", 1), layer = oci_digest_of("layer", 5);
    AUTO_FREE char *by_digest = str_fmt("/v2/a/b/manifests/%s", other.text);
    ask("PUT", "/v2/a/b/manifests/1", as_manifest, "{\"schemaVersion\":2}");
    check_error(400, "MANIFEST_INVALID");
    ask("PUT", "/v2/a/b/manifests/1", as_manifest, "not JSON");
    check_error(400, "MANIFEST_INVALID");
    ask("PUT", "/v2/a/b/manifests/1", (const char *[]){":content-type=text/plain", NULL}, text);
    check_error(415, "MANIFEST_INVALID");
    ask("PUT", "/v2/a/b/manifests/-", as_manifest, text);
    check_error(400, "TAG_INVALID");
    ask("PUT", by_digest, as_manifest, text);
    check_error(400, "MANIFEST_INVALID");
    AUTO_FREE char *path = image_store_blob_path(store, &layer);
    unlink(path);
    ask("PUT", "/v2/a/b/manifests/1", as_manifest, text);
    check_error(404, "MANIFEST_BLOB_UNKNOWN");
    CHECK_INT(ask("GET", "/v2/a/b/manifests/1", NULL, NULL), 404);
    tear_down();
}

int main(void)
{
    int status = tap_run();
    registry_response_done(&response);
    return status;
}
