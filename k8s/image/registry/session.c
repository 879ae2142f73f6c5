// SPDX-License-Identifier: MIT
#include "k8s/image/registry/session.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/registry/auth.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

// A connection has as long as docker and podman give it (Go's dialer: 30 s): registries are further
// away than clusters, and busier.
enum { RESPONSE_LIMIT = 4 << 20, CONNECT_MS = 30000, IDLE_MS = 60000, PROBE_MS = 5000 };
// A registry that is busy for longer has to be asked by the person.
enum { BUSY_TRIES = 3, BUSY_SECONDS = 60 };

struct image_session image_session_begin(
    const struct image_remote *r, const char *name, const char *actions)
{
    struct image_session s = {.remote = r, .name = name, .actions = actions, .plain = r->plain};
    if (r->token)
        buf_fmt(&s.authorization, "Authorization: Bearer %s", r->token);
    return s;
}

void image_session_end(struct image_session *s)
{
    if (s->authorization.data)
        explicit_bzero(s->authorization.data, s->authorization.len);
    buf_done(&s->authorization);
}

static ssize_t read_fd(void *arg, char *out, size_t n, err *e)
{
    struct image_step *step = arg;
    ssize_t got = pread(step->fd, out, n, step->offset);
    if (got < 0)
        return err_errno(e, errno, "cannot read a blob of the image store");
    step->offset += got;
    if (step->sent)
        step->sent(step->sent_arg, got);
    return got;
}

static int rewind_fd(void *arg)
{
    struct image_step *step = arg;
    if (step->sent)
        step->sent(step->sent_arg, -step->offset);
    step->offset = 0;
    return 0;
}

static char *absolute_url(const struct image_session *s, const char *url)
{
    if (str_starts(url, "http://") || str_starts(url, "https://"))
        return mem_strdup(url);
    return str_fmt(
        "%s://%s%s%s", s->plain ? "http" : "https", s->remote->host, *url == '/' ? "" : "/", url);
}

// Is this URL on the registry itself, over a transport as safe as the configured one?
static bool is_home(const struct image_session *s, const char *url)
{
    AUTO_FREE char *host = url_host(url);
    return str_eq(host, s->remote->host) && (s->plain || str_starts(url, "https://"));
}

static int send_once(
    struct image_session *s, struct image_step *step, struct http_response *r, err *e)
{
    AUTO_FREE char *url = absolute_url(s, step->url);
    AUTO_FREE char *type =
        str_fmt("Content-Type: %s", step->content_type ? step->content_type : "");
    AUTO_FREE char *accept = str_fmt("Accept: %s", step->accept ? step->accept : "");
    AUTO_FREE char *range = str_fmt("Range: %s", step->range ? step->range : "");
    const char *headers[5] = {0};
    size_t n = 0;
    if (step->content_type)
        headers[n++] = type;
    if (step->accept)
        headers[n++] = accept;
    if (step->range)
        headers[n++] = range;
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
        .connect_timeout_ms = CONNECT_MS,
        .idle_timeout_ms = IDLE_MS,
        .least_speed = HTTP_LEAST_SPEED,
        .limit = RESPONSE_LIMIT,
        .no_compression = step->sink != NULL, // a blob's bytes as they are
    };
    const struct image_remote *to = s->remote;
    return http_download(
        to->http, to->canceller, to->deadline, &request, step->sink, step->sink_arg, r, e);
}

// Is it a registry that speaks plain HTTP? No credentials are sent.
static bool is_plain_registry(const struct image_session *s)
{
    AUTO_FREE char *url = str_fmt("http://%s/v2/", s->remote->host);
    struct http_request request = {
        .url = url, .proxy = s->remote->proxy, .timeout_ms = PROBE_MS, .limit = RESPONSE_LIMIT};
    CLEANUP(http_response_done) struct http_response r = {0};
    return http_do(s->remote->http, s->remote->canceller, s->remote->deadline, &request, &r,
               NULL) == 0 &&
           (r.status == 200 || r.status == 401);
}

// Why the registry cannot be reached as it should be, with what a person can do about it.
static int explain_transport(const struct image_session *s, const err *why, err *e)
{
    const struct image_remote *to = s->remote;
    if (why->code == ERR_UNAVAILABLE && !s->plain && is_plain_registry(s))
        return err_set(e, ERR_FAILED,
            "the registry %s speaks plain HTTP. If that is meant: --registry http://%s, or "
            "`insecure: true` in the kubeconfig's extension firesteel/registry",
            to->host, to->host);
    if (why->code != ERR_FAILED)
        return err_set(e, why->code, "%s", why->text);
    return err_set(e, why->code,
        "%s. Its authority %s%s%s belongs into ~/.config/containers/certs.d/%s/ca.crt, or is named "
        "as `ca` in the kubeconfig's extension firesteel/registry",
        why->text, to->ca_from ? "is not the one of " : "", to->ca_from ? to->ca_from : "",
        to->ca_from ? "; it" : "", to->host);
}

// The first request of a session finds the transport.
static int send_settling(
    struct image_session *s, struct image_step *step, struct http_response *r, err *e)
{
    err why = {0};
    if (s->settled)
        return send_once(s, step, r, e);
    if (send_once(s, step, r, &why)) {
        bool ended = why.code == ERR_CANCELLED || why.code == ERR_TIMEOUT;
        if (ended || s->plain || !s->remote->insecure)
            return ended ? err_set(e, why.code, "%s", why.text) : explain_transport(s, &why, e);
        s->plain = true;
        if (send_once(s, step, r, &why)) {
            s->plain = false;
            return err_set(e, why.code, "%s", why.text);
        }
    }
    s->settled = true;
    return 0;
}

static void use_basic(struct image_session *s)
{
    AUTO_BUF pair = {0};
    buf_fmt(&pair, "%s:%s", s->remote->user, s->remote->password);
    buf_clear(&s->authorization);
    buf_str(&s->authorization, "Authorization: Basic ");
    base64_encode(&s->authorization, pair.data, pair.len);
}

static void use_bearer(struct image_session *s, const char *token)
{
    buf_clear(&s->authorization);
    buf_fmt(&s->authorization, "Authorization: Bearer %s", token);
}

static void token_url(const struct image_session *s, const auth_challenge *c, buf *url)
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

// It asks who we are, and takes nobody for an answer; or it does not know the one that we are.
static int no_login(const struct image_remote *to, err *e)
{
    return err_set(e, ERR_UNAUTHORIZED,
        "the registry %s wants credentials: `docker login %s` (or podman, skopeo) keeps them where "
        "they are looked for%s%s",
        to->host, to->host, to->login_from ? "; " : "", to->login_from ? to->login_from : "");
}

static int wrong_login(const struct image_remote *to, err *e)
{
    return err_set(e, ERR_UNAUTHORIZED,
        "the registry %s does not take these credentials%s%s: `docker login %s` (or podman, "
        "skopeo) renews them",
        to->host, to->login_from ? ", which are from " : "", to->login_from ? to->login_from : "",
        to->host);
}

static int not_let_in(const struct image_remote *to, err *e)
{
    return to->user || to->identity ? wrong_login(to, e) : no_login(to, e);
}

static void add_form(buf *form, const char *name, const char *value)
{
    buf_fmt(form, "%s%s=", form->len ? "&" : "", name);
    url_escape(form, value);
}

// OAuth2: the identity token is what a refresh token is there. Source: distribution,
// docs/content/spec/auth/oauth.md.
static void token_form(const struct image_session *s, const auth_challenge *c, buf *form)
{
    AUTO_BUF scope = {0};
    buf_fmt(&scope, "repository:%s:%s", s->name, s->actions);
    if (s->mount_from)
        buf_fmt(&scope, " repository:%s:pull", s->mount_from);
    add_form(form, "grant_type", "refresh_token");
    add_form(form, "service", c->service ? c->service : "");
    add_form(form, "client_id", "firesteel");
    add_form(form, "scope", buf_cstr(&scope));
    add_form(form, "refresh_token", s->remote->identity);
}

static void tell_where(struct image_session *s, const char *realm)
{
    const struct image_remote *to = s->remote;
    AUTO_FREE char *host = url_host(realm);
    if (s->told || !to->told || !(to->user || to->identity) || str_eq(host, to->host))
        return;
    AUTO_FREE char *from = to->login_from ? str_fmt(", of %s,", to->login_from) : mem_strdup("");
    AUTO_FREE char *words = str_fmt(
        "the login for %s%s goes to %s, which the registry names for tokens", to->host, from, host);
    to->told(to->told_arg, words);
    s->told = true;
}

static int ask_for_token(
    struct image_session *s, const auth_challenge *c, struct http_response *r, err *e)
{
    const struct image_remote *to = s->remote;
    AUTO_BUF url = {0}, form = {0};
    const char *headers[2] = {NULL};
    // The token server's name may differ from the registry's. The user's password is meant for it
    // (docker login stores it so); a bearer token of the registry is not.
    buf_clear(&s->authorization);
    if (to->identity) {
        buf_str(&url, c->realm);
        token_form(s, c, &form);
        headers[0] = "Content-Type: application/x-www-form-urlencoded";
    } else {
        token_url(s, c, &url);
        if (to->user)
            use_basic(s);
        headers[0] = s->authorization.len ? buf_cstr(&s->authorization) : NULL;
    }
    struct http_request request = {
        .method = to->identity ? "POST" : "GET",
        .url = buf_cstr(&url),
        .headers = headers,
        .body = form.data,
        .body_n = form.len,
        .tls = is_home(s, c->realm) ? to->tls : NULL,
        .proxy = to->proxy,
        .connect_timeout_ms = CONNECT_MS,
        .idle_timeout_ms = IDLE_MS,
        .least_speed = HTTP_LEAST_SPEED,
        .limit = RESPONSE_LIMIT,
    };
    int status = http_do(to->http, to->canceller, to->deadline, &request, r, e);
    if (form.data)
        explicit_bzero(form.data, form.len);
    return status;
}

static int fetch_token(struct image_session *s, const auth_challenge *c, err *e)
{
    if (!c->realm || (!str_starts(c->realm, "https://") && !s->plain))
        return err_set(e, ERR_UNAUTHORIZED,
            "the registry %s asks for a token without a safe address", s->remote->host);
    struct http_response r = {0};
    tell_where(s, c->realm);
    int status = ask_for_token(s, c, &r, e);
    AUTO_JSON *json =
        status == 0 && r.status == 200 ? json_parse(buf_cstr(&r.body), r.body.len, NULL) : NULL;
    const char *token = json_str(json, "token");
    if (!token || !*token)
        token = json_str(json, "access_token");
    AUTO_FREE char *host = url_host(c->realm);
    if (status == 0 && token)
        use_bearer(s, token);
    else if (status == 0 && r.status == 401)
        status = not_let_in(s->remote, e);
    else if (status == 0)
        status = err_set(e, ERR_UNAUTHORIZED, "the token server %s of %s answered %d", host,
            s->remote->host, r.status);
    http_response_done(&r);
    return status;
}

// Reacts to a 401: 0 when another try is worth it.
static int answer_challenge(struct image_session *s, const struct http_response *r, err *e)
{
    const struct image_remote *to = s->remote;
    AUTO_FREE char *header = http_header(r, "WWW-Authenticate");
    CLEANUP(auth_challenge_done) auth_challenge c;
    auth_challenge_parse(header ? header : "", &c);
    if (c.scheme == AUTH_BEARER)
        return fetch_token(s, &c, e);
    if (c.scheme == AUTH_BASIC && to->user &&
        !str_starts(buf_cstr(&s->authorization), "Authorization: Basic")) {
        use_basic(s);
        return 0;
    }
    return not_let_in(to, e);
}

int image_refused(
    const struct image_session *s, const char *what, const struct http_response *r, err *e)
{
    AUTO_JSON *json = json_parse(buf_cstr(&r->body), r->body.len, NULL);
    const char *code = json_path_str(json, "errors[0].code"),
               *message = json_path_str(json, "errors[0].message");
    err_code kind = r->status == 401                           ? ERR_UNAUTHORIZED
                    : r->status == 403                         ? ERR_FORBIDDEN
                    : r->status == 404                         ? ERR_NOT_FOUND
                    : r->status == 429 || r->status / 100 == 5 ? ERR_UNAVAILABLE
                                                               : ERR_FAILED;
    return err_set(e, kind, "the registry %s refuses %s of %s: %d%s%s%s%s", s->remote->host, what,
        s->name, r->status, code ? " " : "", code ? code : "", message ? ": " : "",
        message ? str_short(message, 400).text : "");
}

// Sends it, and once more when the registry asks who we are.
static int exchange_once(
    struct image_session *s, struct image_step *step, struct http_response *r, err *e)
{
    if (send_settling(s, step, r, e))
        return -1;
    AUTO_FREE char *url = absolute_url(s, step->url);
    if (r->status != 401 || !is_home(s, url))
        return 0;
    int status = answer_challenge(s, r, e);
    http_response_done(r);
    if (status || send_once(s, step, r, e))
        return -1;
    if (r->status != 401)
        return 0;
    http_response_done(r);
    return not_let_in(s->remote, e);
}

// How long to wait for a registry that is busy; 0: that is over, or goes on for too long.
static int64_t pause_for(struct image_session *s, const struct http_response *r)
{
    if (r->status != 429 && r->status != 503) {
        s->busy = 0;
        return 0;
    }
    int64_t asked = http_retry_after(r), own = (CLOCK_SEC / 4) << (2 * s->busy);
    if (s->busy >= BUSY_TRIES || asked > BUSY_SECONDS)
        return 0;
    s->busy++;
    return asked > 0 ? asked * CLOCK_SEC : own;
}

int image_exchange(
    struct image_session *s, struct image_step *step, struct http_response *r, err *e)
{
    int64_t pause;
    for (;;) {
        if (exchange_once(s, step, r, e))
            return -1;
        if ((pause = pause_for(s, r)) == 0)
            return 0;
        http_response_done(r);
        if (canceller_sleep(s->remote->canceller, pause, e))
            return -1;
    }
}

int image_greet(struct image_session *s, err *e)
{
    CLEANUP(http_response_done) struct http_response r = {0};
    struct image_step step = {.method = "GET", .url = "/v2/", .fd = -1};
    if (image_exchange(s, &step, &r, e))
        return -1;
    return r.status == 200 ? 0 : image_refused(s, "a greeting", &r, e);
}
