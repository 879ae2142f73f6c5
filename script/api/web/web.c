// SPDX-License-Identifier: MIT
// http: requests to any server. A request that only reads is no effect; one that may change
// something is an effect of class cluster. Whether that still holds can be verified only if the
// cell names an address to look at.
#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/client/connect/proxy.h"
#include "script/api/k8s/cluster.h"
#include "script/kernel/effects/binding.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BODY_LIMIT = 64 << 20, SHOWN = 200 }; // of a body that is kept; of one in a message

struct exchange {
    char *proxy;
    struct http_request request;
    struct http_response response;
    char **headers;
    char *part; // the file that is being written, and its descriptor
    int fd;
    int64_t size;
};

static void exchange_done(struct exchange *x)
{
    http_response_done(&x->response);
    strv_free(x->headers);
    free(x->proxy);
    if (x->fd > 0)
        close(x->fd);
    if (x->part)
        unlink(x->part);
    free(x->part);
}

static const char *url_of(const cJSON *args)
{
    return json_str_or(args, "url", "");
}

// Without its query, which may hold a key.
static char *shown_url(const char *url)
{
    size_t n = strcspn(url, "?#");
    return str_fmt("%.*s%s%s", (int)n, url,
        url[n] == '#' ? "#"
        : url[n]      ? "?"
                      : "",
        url[n] ? STR_CUT : "");
}

static int read_headers(struct exchange *x, const cJSON *headers, err *e)
{
    const cJSON *h;
    cJSON_ArrayForEach(h, headers)
    {
        const char *value = cJSON_GetStringValue(h);
        if (!value || strpbrk(value, "\r\n") || strpbrk(h->string, "\r\n: "))
            return err_set(e, ERR_USAGE, "http: the header %s is not one", h->string);
        AUTO_FREE char *line = str_fmt("%s: %s", h->string, value);
        x->headers = strv_add(x->headers, line);
    }
    return 0;
}

static int read_request(struct exchange *x, const cJSON *args, err *e)
{
    const char *url = url_of(args), *body = json_str(args, "body");
    const char *at = strchr(url, '@'), *slash = strstr(url, "://");
    for (const char *p = url; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7f)
            return err_set(e, ERR_USAGE,
                *p == ' ' ? "http: the address has a blank in it, which is written %%20"
                          : "http: the address has a control character in it (byte %d)",
                *p);
    if (!str_starts(url, "http://") && !str_starts(url, "https://"))
        return err_set(e, ERR_USAGE, "http: an address begins with https:// or http://");
    if (at && at < slash + 3 + strcspn(slash + 3, "/?#"))
        return err_set(e, ERR_USAGE,
            "http: name and password do not stand in the address: auth = {name, password}");
    if (read_headers(x, json_get(args, "headers"), e))
        return -1;
    const cJSON *seconds = json_get(args, "timeout");
    x->request = (struct http_request){.method = json_str_or(args, "method", "GET"),
        .url = url,
        .headers = (const char *const *)x->headers,
        .body = body,
        .body_n = body ? strlen(body) : 0,
        .once = true,
        .apart = true,
        .timeout_ms = cJSON_IsNumber(seconds) ? (int64_t)(seconds->valuedouble * 1000) : 0,
        .limit = BODY_LIMIT};
    return 0;
}

// The variables that curl and Go look at.
static char *proxy_of(call *c, const char *url)
{
    const char *const *env = call_env(c);
    const char *names[] = {str_starts(url, "https") ? "HTTPS_PROXY" : "HTTP_PROXY",
        str_starts(url, "https") ? "https_proxy" : "http_proxy"};
    const char *upper = env_get(env, names[0]), *none = env_get(env, "NO_PROXY");
    return proxy_for(
        url, upper ? upper : env_get(env, names[1]), none ? none : env_get(env, "no_proxy"));
}

static int use_trust(call *c, http *h, struct exchange *x, const cJSON *args, err *e)
{
    const char *name = json_str(args, "ca");
    bool insecure = json_bool_or(args, "insecure", false);
    if (!name && !insecure)
        return 0;
    AUTO_BUF ca = {0};
    AUTO_FREE char *path = path_join(call_cwd(c), name ? name : "");
    if (name && path_read(path, &ca, 1 << 20, e))
        return -1;
    x->request.tls = http_tls_new(h,
        &(struct http_tls_options){.ca = ca.data, .ca_n = ca.len, .insecure = insecure && !name},
        e);
    return x->request.tls ? 0 : -1;
}

static int to_file(void *arg, const char *bytes, size_t n, err *e)
{
    struct exchange *x = arg;
    x->size += (int64_t)n;
    return fd_write_all(x->fd, bytes, n, e);
}

// The body goes to a file beside the one that is meant, and takes its place when all is there.
static int download(call *c, http *h, struct exchange *x, const char *file, err *e)
{
    AUTO_FREE char *path = path_join(call_cwd(c), file), *parent = path_dirname(path);
    if (path_make_dirs(parent, 0777, e))
        return -1;
    static atomic_uint downloads; // several branches may download to one file
    x->part = str_fmt("%s.part-%d-%u", path, (int)getpid(), atomic_fetch_add(&downloads, 1));
    x->fd = open(x->part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (x->fd < 0)
        return err_errno(e, errno, "cannot write %s", file);
    if (http_download(
            h, call_canceller(c), call_deadline(c), &x->request, to_file, x, &x->response, e))
        return -1;
    if (x->response.status / 100 != 2)
        return 0;
    if (fsync(x->fd) < 0 || rename(x->part, path) < 0)
        return err_errno(e, errno, "cannot write %s", file);
    free(STEAL(x->part));
    return 0;
}

static cJSON *headers_of(const buf *lines)
{
    cJSON *headers = cJSON_CreateObject();
    char **split = strv_split(lines->data ? lines->data : "", '\n');
    for (size_t i = 0; split[i]; i++) {
        char *colon = strchr(split[i], ':');
        if (!colon)
            continue;
        AUTO_FREE char *name = mem_strndup(split[i], (size_t)(colon - split[i]));
        AUTO_FREE char *value = str_trim(colon + 1, strlen(colon + 1));
        AUTO_BUF clean = {0};
        for (char *p = name; *p; p++)
            *p = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
        utf8_clean(&clean, value, strlen(value));
        json_set_str(headers, name, buf_cstr(&clean));
    }
    strv_free(split);
    return headers;
}

static int take_body(const struct exchange *x, const char *file, cJSON *result, err *e)
{
    const buf *body = &x->response.body;
    if (file && x->response.status / 100 == 2) {
        json_set_str(result, "file", file);
        json_set_int(result, "size", x->size);
        return 0;
    }
    if (body->len && (memchr(body->data, 0, body->len) || !utf8_valid(body->data, body->len)))
        return err_set(e, ERR_USAGE,
            "the answer's %zu bytes are no text; file = \"name\" writes them to a file", body->len);
    json_set_str(result, "body", body->len ? buf_cstr(&x->response.body) : "");
    return 0;
}

// A status that is no success is an error, unless check = false; its text is the body's first line.
static int check_status(const struct exchange *x, const cJSON *args, err *e)
{
    int status = x->response.status;
    if (status / 100 == 2 || status / 100 == 3 || !json_bool_or(args, "check", true))
        return 0;
    struct str_short line = str_short_line(buf_cstr(&x->response.body), SHOWN);
    return err_set(e, ERR_FAILED, "the server says %d%s%s (check = false allows that)", status,
        *line.text ? ": " : "", line.text);
}

static int exchange_do(call *c, struct exchange *x, const cJSON *args, cJSON **result, err *e)
{
    const char *file = json_str(args, "file");
    http *h = bind_http(c, e);
    if (!h || read_request(x, args, e) || use_trust(c, h, x, args, e))
        return -1;
    x->request.proxy = x->proxy = proxy_of(c, url_of(args));
    int status =
        file ? download(c, h, x, file, e)
             : http_do(h, call_canceller(c), call_deadline(c), &x->request, &x->response, e);
    if (status)
        return -1;
    AUTO_JSON *answer = cJSON_CreateObject();
    json_set_int(answer, "status", x->response.status);
    json_set(answer, "headers", headers_of(&x->response.headers));
    if (check_status(x, args, e) || take_body(x, file, answer, e))
        return -1;
    *result = STEAL(answer);
    return 0;
}

static int request(call *c, struct exchange *x, const cJSON *args, cJSON **result, err *e)
{
    int status = exchange_do(c, x, args, result, e);
    AUTO_FREE char *url = shown_url(url_of(args));
    return status ? err_wrap(e, "%s %s", json_str_or(args, "method", "GET"), url) : 0;
}

static int get_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    CLEANUP(exchange_done) struct exchange x = {0};
    return request(c, &x, args, result, e);
}

// The request is announced before it is sent. If not a byte of it has left, it was certainly not
// heard.
static int send_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    CLEANUP(exchange_done) struct exchange x = {0};
    AUTO_JSON *announced = cJSON_CreateObject(), *nothing = cJSON_CreateNull();
    AUTO_FREE char *url = shown_url(url_of(args));
    json_set_str(announced, "method", json_str(args, "method"));
    json_set_str(announced, "url", url);
    if (call_ledger_partial(c, announced, e))
        return -1;
    if (request(c, &x, args, result, e) == 0)
        return 0;
    err why;
    bool refused = x.response.status >= 400 && x.response.status < 500;
    if (!x.response.sent || refused)
        call_ledger_partial(c, nothing, &why);
    return -1;
}

// Without an address that the cell named nobody knows whether the effect still holds.
static int send_verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    const char *look = json_str(args, "verify");
    if (!look)
        return VERDICT_REPEAT;
    CLEANUP(exchange_done) struct exchange x = {0};
    AUTO_JSON *ask = cJSON_Duplicate(args, true), *answer = NULL;
    json_set_str(ask, "method", "GET");
    json_set_str(ask, "url", look);
    json_set_bool(ask, "check", false);
    cJSON_DeleteItemFromObjectCaseSensitive(ask, "body");
    cJSON_DeleteItemFromObjectCaseSensitive(ask, "file");
    if (request(c, &x, ask, &answer, e))
        return -1;
    int status = x.response.status;
    AUTO_FREE char *shown = shown_url(look);
    if (status / 100 != 2 && status != 404 && status != 410)
        return err_set(e, ERR_FAILED, "%s answers %d", shown, status);
    bool gone = str_eq(json_str(args, "method"), "DELETE");
    bool holds = recorded && (status / 100 == 2) != gone;
    if (holds && !json_get(recorded, "status"))
        *result = STEAL(answer); // the answer to the request itself was lost
    return holds ? VERDICT_YES : VERDICT_NO;
}

static void send_describe(call *c, const cJSON *args, struct about *about)
{
    AUTO_FREE char *url = shown_url(url_of(args));
    about->what = str_fmt("%s %s", json_str_or(args, "method", "POST"), url);
    about->context = url_host(url);
}

const struct binding web_bindings[] = {
    {.name = "http.get", .effect = EFFECT_PURE, .start = get_start},
    {.name = "http.send",
        .effect = EFFECT_CLUSTER,
        .announces = true,
        .start = send_start,
        .verify = send_verify,
        .describe = send_describe},
    {0},
};
