// SPDX-License-Identifier: MIT
// For each blob: HEAD (is it there already?), POST (asks for a place, or for a mount from another
// name), PUT. The manifest comes last, so that a tag never names missing blobs. Credentials go only
// to the registry's own host and its token server, never to the host that a Location names.
#include "k8s/image/push.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/auth.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { TRIES = 4, MANIFEST_LIMIT = 4 << 20, RESPONSE_LIMIT = 4 << 20, IDLE_MS = 60000 };

struct session {
    const image_store *store;
    const struct image_remote *remote;
    const char *name, *mount_from;
    const char *actions; // "pull" or "pull,push"
    buf authorization;   // "Authorization: …"; empty: none yet
};

// A request of a session. `fd` is the body when it is not -1.
struct step {
    const char *method;
    const char *url; // absolute, or a path on the registry
    const char *content_type, *accept;
    const void *body;
    int64_t body_n;
    int fd;
    int64_t offset; // where the next bytes are in fd
};

static void session_done(struct session *s)
{
    buf_done(&s->authorization);
}

static ssize_t read_fd(void *arg, char *out, size_t n, err *e)
{
    struct step *step = arg;
    ssize_t got = pread(step->fd, out, n, step->offset);
    if (got < 0)
        return err_errno(e, errno, "cannot read a blob of the image store");
    step->offset += got;
    return got;
}

static int rewind_fd(void *arg)
{
    ((struct step *)arg)->offset = 0;
    return 0;
}

static char *absolute_url(const struct session *s, const char *url)
{
    if (str_starts(url, "http://") || str_starts(url, "https://"))
        return mem_strdup(url);
    return str_fmt("%s://%s%s%s", s->remote->plain ? "http" : "https", s->remote->host,
        *url == '/' ? "" : "/", url);
}

// Is this URL on the registry itself, over a transport as safe as the configured one?
static bool is_home(const struct session *s, const char *url)
{
    AUTO_FREE char *host = url_host(url);
    return str_eq(host, s->remote->host) && (s->remote->plain || str_starts(url, "https://"));
}

static int send_once(struct session *s, struct step *step, struct http_response *r, err *e)
{
    AUTO_FREE char *url = absolute_url(s, step->url);
    AUTO_FREE char *type =
        str_fmt("Content-Type: %s", step->content_type ? step->content_type : "");
    AUTO_FREE char *accept = str_fmt("Accept: %s", step->accept ? step->accept : "");
    const char *headers[4] = {0};
    size_t n = 0;
    if (step->content_type)
        headers[n++] = type;
    if (step->accept)
        headers[n++] = accept;
    bool home = is_home(s, url);
    if (s->authorization.len && home)
        headers[n++] = buf_cstr(&s->authorization);
    step->offset = 0;
    struct http_request request = {
        .method = step->method,
        .url = url,
        .headers = headers,
        .body = step->body                           ? step->body
                : step->fd < 0 && step->content_type ? ""
                                                     : NULL,
        .body_n = (size_t)step->body_n,
        .read = step->fd >= 0 ? read_fd : NULL,
        .rewind = step->fd >= 0 ? rewind_fd : NULL,
        .read_arg = step,
        .tls = home ? s->remote->tls : NULL,
        .proxy = s->remote->proxy,
        .idle_timeout_ms = IDLE_MS,
        .least_speed = HTTP_LEAST_SPEED,
        .limit = RESPONSE_LIMIT,
    };
    return http_do(s->remote->http, s->remote->canceller, s->remote->deadline, &request, r, e);
}

static void use_basic(struct session *s)
{
    AUTO_BUF pair = {0};
    buf_fmt(&pair, "%s:%s", s->remote->user, s->remote->password);
    buf_clear(&s->authorization);
    buf_str(&s->authorization, "Authorization: Basic ");
    base64_encode(&s->authorization, pair.data, pair.len);
}

static void use_bearer(struct session *s, const char *token)
{
    buf_clear(&s->authorization);
    buf_fmt(&s->authorization, "Authorization: Bearer %s", token);
}

static void token_url(const struct session *s, const auth_challenge *c, buf *url)
{
    buf_fmt(url, "%s%c", c->realm, strchr(c->realm, '?') ? '&' : '?');
    if (c->service) {
        buf_str(url, "service=");
        url_escape(url, c->service);
        buf_char(url, '&');
    }
    AUTO_FREE char *scope = str_fmt("repository:%s:%s", s->name, s->actions);
    buf_str(url, "scope=");
    url_escape(url, scope);
    if (s->mount_from) {
        AUTO_FREE char *from = str_fmt("repository:%s:pull", s->mount_from);
        buf_str(url, "&scope=");
        url_escape(url, from);
    }
}

static int fetch_token(struct session *s, const auth_challenge *c, err *e)
{
    if (!c->realm || (!str_starts(c->realm, "https://") && !s->remote->plain))
        return err_set(e, ERR_UNAUTHORIZED,
            "the registry %s asks for a token without a safe address", s->remote->host);
    AUTO_BUF url = {0};
    token_url(s, c, &url);
    // The token server's name may differ from the registry's. The user's password is meant for it
    // (docker login stores it so); a bearer token of the registry is not.
    buf_clear(&s->authorization);
    if (s->remote->user)
        use_basic(s);
    const char *headers[] = {s->authorization.len ? buf_cstr(&s->authorization) : NULL, NULL};
    struct http_request request = {
        .url = buf_cstr(&url),
        .headers = headers,
        .tls = is_home(s, c->realm) ? s->remote->tls : NULL,
        .proxy = s->remote->proxy,
        .idle_timeout_ms = IDLE_MS,
        .least_speed = HTTP_LEAST_SPEED,
        .limit = RESPONSE_LIMIT,
    };
    struct http_response r = {0};
    int status =
        http_do(s->remote->http, s->remote->canceller, s->remote->deadline, &request, &r, e);
    AUTO_JSON *json =
        status == 0 && r.status == 200 ? json_parse(buf_cstr(&r.body), r.body.len, NULL) : NULL;
    const char *token = json_str(json, "token");
    if (!token)
        token = json_str(json, "access_token");
    if (status == 0 && token)
        use_bearer(s, token);
    else if (status == 0)
        status = err_set(
            e, ERR_UNAUTHORIZED, "the token server of %s answered %d", s->remote->host, r.status);
    http_response_done(&r);
    return status;
}

// Reacts to a 401: 0 when another try is worth it.
static int answer_challenge(struct session *s, const struct http_response *r, err *e)
{
    AUTO_FREE char *header = http_header(r, "WWW-Authenticate");
    CLEANUP(auth_challenge_done) auth_challenge c;
    auth_challenge_parse(header ? header : "", &c);
    if (c.scheme == AUTH_BEARER)
        return fetch_token(s, &c, e);
    if (c.scheme == AUTH_BASIC && s->remote->user &&
        !str_starts(buf_cstr(&s->authorization), "Authorization: Basic")) {
        use_basic(s);
        return 0;
    }
    return err_set(e, ERR_UNAUTHORIZED,
        "the registry %s wants credentials: log in with docker, podman or skopeo", s->remote->host);
}

static int refused(const struct session *s, const char *what, const struct http_response *r, err *e)
{
    AUTO_JSON *json = json_parse(buf_cstr(&r->body), r->body.len, NULL);
    const char *code = json_path_str(json, "errors[0].code"),
               *message = json_path_str(json, "errors[0].message");
    err_code kind = r->status == 401                           ? ERR_UNAUTHORIZED
                    : r->status == 403                         ? ERR_FORBIDDEN
                    : r->status == 404                         ? ERR_NOT_FOUND
                    : r->status == 429 || r->status / 100 == 5 ? ERR_UNAVAILABLE
                                                               : ERR_FAILED;
    return err_set(e, kind, "the registry %s refuses %s of %s: %d%s%s%s%.400s", s->remote->host,
        what, s->name, r->status, code ? " " : "", code ? code : "", message ? ": " : "",
        message ? message : "");
}

// Sends a request, with credentials once the registry asks for them.
static int exchange(struct session *s, struct step *step, struct http_response *r, err *e)
{
    if (send_once(s, step, r, e))
        return -1;
    if (r->status != 401)
        return 0;
    int status = answer_challenge(s, r, e);
    http_response_done(r);
    if (status || send_once(s, step, r, e))
        return -1;
    if (r->status != 401)
        return 0;
    http_response_done(r);
    return err_set(
        e, ERR_UNAUTHORIZED, "the registry %s does not take these credentials", s->remote->host);
}

static char *blob_path(const struct session *s, const oci_digest *d)
{
    return str_fmt("/v2/%s/blobs/%s", s->name, d->text);
}

// 1: the registry has the blob; 0: it does not.
static int has_blob(struct session *s, const oci_digest *d, err *e)
{
    AUTO_FREE char *path = blob_path(s, d);
    CLEANUP(http_response_done) struct http_response r = {0};
    if (exchange(s, &(struct step){.method = "HEAD", .url = path, .fd = -1}, &r, e))
        return -1;
    if (r.status == 200 || r.status == 307 || r.status == 302) // some redirect to a blob store
        return 1;
    return r.status == 404 ? 0 : refused(s, "a look at a layer", &r, e);
}

// Returns the place for an upload, new. NULL with *mounted when no upload is needed; NULL with an
// error.
static char *begin_upload(struct session *s, const oci_digest *d, bool *mounted, err *e)
{
    AUTO_BUF url = {0};
    buf_fmt(&url, "/v2/%s/blobs/uploads/", s->name);
    if (s->mount_from) {
        buf_fmt(&url, "?mount=%s&from=", d->text);
        url_escape(&url, s->mount_from);
    }
    CLEANUP(http_response_done) struct http_response r = {0};
    struct step post = {.method = "POST",
        .url = buf_cstr(&url),
        .content_type = "application/octet-stream",
        .fd = -1};
    if (exchange(s, &post, &r, e))
        return NULL;
    *mounted = r.status == 201;
    char *location = r.status == 202 ? http_header(&r, "Location") : NULL;
    if (!location && !*mounted)
        refused(s, "an upload", &r, e);
    return location;
}

static int put_blob(struct session *s, const oci_descriptor *d, const char *location, err *e)
{
    int fd = image_store_blob(s->store, &d->digest, NULL, e);
    if (fd < 0)
        return -1;
    AUTO_FREE char *url =
        str_fmt("%s%cdigest=%s", location, strchr(location, '?') ? '&' : '?', d->digest.text);
    struct step put = {.method = "PUT",
        .url = url,
        .content_type = "application/octet-stream",
        .body_n = d->size,
        .fd = fd};
    CLEANUP(http_response_done) struct http_response r = {0};
    int status = exchange(s, &put, &r, e);
    close(fd);
    if (status == 0 && r.status != 201 && r.status != 204)
        status = refused(s, "a layer", &r, e);
    return status;
}

static int push_blob(struct session *s, const oci_descriptor *d, struct image_pushed *out, err *e)
{
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
    if (!location || put_blob(s, d, location, e))
        return -1;
    out->sent++;
    out->bytes += d->size;
    return 0;
}

// Retries while a registry is busy or away for a moment; each blob starts from its beginning.
static int push_patiently(
    struct session *s, const oci_descriptor *d, struct image_pushed *out, err *e)
{
    err why = {0};
    for (int i = 0; i < TRIES; i++) {
        if (i && canceller_sleep(s->remote->canceller, (CLOCK_SEC / 16) << (2 * i), e))
            return -1;
        if (push_blob(s, d, out, &why) == 0)
            return 0;
        if (why.code != ERR_UNAVAILABLE)
            break;
    }
    return err_set(e, why.code, "%s", why.text);
}

static int put_manifest(
    struct session *s, const oci_descriptor *d, const buf *text, const char *tag, err *e)
{
    AUTO_FREE char *path = str_fmt("/v2/%s/manifests/%s", s->name, tag);
    struct step put = {.method = "PUT",
        .url = path,
        .content_type = oci_type_text(d->type),
        .body = text->data,
        .body_n = (int64_t)text->len,
        .fd = -1};
    CLEANUP(http_response_done) struct http_response r = {0};
    if (exchange(s, &put, &r, e))
        return -1;
    if (r.status / 100 != 2)
        return refused(s, "the manifest", &r, e);
    AUTO_FREE char *got = http_header(&r, "Docker-Content-Digest");
    if (got && !str_eq(got, d->digest.text))
        return err_set(e, ERR_FAILED, "the registry %s stored %s:%s as %s instead of %s",
            s->remote->host, s->name, tag, got, d->digest.text);
    return 0;
}

static int push_blobs(struct session *s, const oci_manifest *m, struct image_pushed *out, err *e)
{
    for (size_t i = 0; i < m->layer_n; i++)
        if (push_patiently(s, &m->layers[i], out, e))
            return -1;
    return push_patiently(s, &m->config, out, e);
}

static void session_begin(struct session *s)
{
    if (s->remote->token)
        use_bearer(s, s->remote->token);
}

// Is there a registry, and does it accept us? Here an absent one is an error at once.
static int greet(struct session *s, err *e)
{
    CLEANUP(http_response_done) struct http_response r = {0};
    if (exchange(s, &(struct step){.method = "GET", .url = "/v2/", .fd = -1}, &r, e))
        return -1;
    return r.status == 200 ? 0 : refused(s, "a greeting", &r, e);
}

int image_push(const image_store *store, const oci_descriptor *manifest,
    const struct image_remote *remote, const char *name, const char *tag, const char *mount_from,
    struct image_pushed *out, err *e)
{
    *out = (struct image_pushed){.digest = manifest->digest};
    CLEANUP(session_done) struct session s = {store, remote, name, mount_from, "pull,push", {0}};
    CLEANUP(oci_manifest_done) oci_manifest m = {0};
    AUTO_BUF text = {0};
    session_begin(&s);
    if (image_store_read(store, &manifest->digest, &text, MANIFEST_LIMIT, e) ||
        oci_manifest_parse(text.data, text.len, &m, e) || greet(&s, e) ||
        push_blobs(&s, &m, out, e) || put_manifest(&s, manifest, &text, tag, e))
        return err_wrap(e, "push %s:%s", name, tag);
    return 0;
}

int image_remote_head(const struct image_remote *remote, const char *name, const char *tag,
    oci_digest *digest, err *e)
{
    CLEANUP(session_done) struct session s = {NULL, remote, name, NULL, "pull", {0}};
    AUTO_FREE char *path = str_fmt("/v2/%s/manifests/%s", name, tag);
    AUTO_FREE char *accept = str_fmt("%s, %s, %s, %s", oci_type_text(OCI_TYPE_OCI_MANIFEST),
        oci_type_text(OCI_TYPE_OCI_INDEX), oci_type_text(OCI_TYPE_DOCKER_MANIFEST),
        oci_type_text(OCI_TYPE_DOCKER_INDEX));
    CLEANUP(http_response_done) struct http_response r = {0};
    session_begin(&s);
    if (exchange(
            &s, &(struct step){.method = "HEAD", .url = path, .accept = accept, .fd = -1}, &r, e))
        return -1;
    if (r.status != 200)
        return refused(&s, "a look at the tag", &r, e);
    AUTO_FREE char *got = http_header(&r, "Docker-Content-Digest");
    return oci_digest_parse(got, digest, e);
}
