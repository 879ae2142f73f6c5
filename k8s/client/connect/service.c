// SPDX-License-Identifier: MIT
#include "k8s/client/connect/service.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/request.h"

#include <stdlib.h>
#include <string.h>

// A pod is told of as ready before the Service knows it: the server's lists of endpoints are made
// by a controller, after the fact. So long a Service without any is asked again.
static const int64_t endpoints_late = 60 * CLOCK_SEC;
// A new Service is not known at once to the part of the server that passes requests on.
static const int64_t service_late = 10 * CLOCK_SEC, service_pause = 250 * CLOCK_MS;

// A service's own words for what is wrong, {"error": "…"}, are better than those of its status.
struct refusal {
    char *text;
    bool lacks_endpoints, unknown; // the server says so, not what it asked
    const struct patience *patience;
};

static void keep_refusal(void *arg, const struct http_response *r)
{
    struct refusal *f = arg;
    AUTO_JSON *j = json_parse(r->body.data, r->body.len, NULL);
    free(f->text);
    f->text = mem_strdup(json_str(j, "error"));
    f->lacks_endpoints =
        r->status == 503 && strstr(json_str_or(j, "message", ""), "no endpoints available");
    f->unknown = r->status == 404 && str_eq(json_path_str(j, "details.kind"), "services");
}

// A server that knows no endpoints is not away.
static void tell_away(void *arg, const err *why, int64_t since)
{
    const struct refusal *f = arg;
    if (!f->lacks_endpoints && f->patience->away)
        f->patience->away(f->patience->arg, why, since);
}

// Is it worth asking again? Not for who wants an answer now.
static bool waits_on(const struct refusal *f, const struct service_request *r, int64_t since)
{
    const struct patience *p = f->patience;
    int64_t now = clock_mono();
    int64_t most = f->lacks_endpoints ? endpoints_late : f->unknown ? service_late : 0;
    return r->repeatable && p->retry_ns >= 0 && now - since < most &&
           (!p->deadline || now + CLOCK_SEC < p->deadline);
}

static char *path_of(const struct service_request *r)
{
    AUTO_BUF path = {0};
    buf_str(&path, "/api/v1/namespaces/");
    url_escape(&path, r->ns);
    buf_str(&path, "/services/");
    url_escape(&path, r->service);
    buf_fmt(&path, ":%d/proxy%s", r->port, r->path);
    return STEAL(path.data);
}

int client_service(
    client *c, const struct patience *p, const struct service_request *r, buf *out, err *e)
{
    ERR_GUARD(e);
    static const struct patience none = {0};
    struct refusal refusal = {.patience = p ? p : &none};
    struct patience own = *refusal.patience;
    struct http_response response;
    int64_t since = clock_mono();
    int status;
    own.away = tell_away;
    own.arg = &refusal;
    AUTO_FREE char *path = path_of(r);
    AUTO_FREE char *what = str_fmt("ask service %s in namespace %s", r->service, r->ns);
    struct request request = {.method = r->body ? "POST" : NULL,
        .path = path,
        .accept = "*/*",
        .type = r->body ? "application/json" : NULL,
        .body = r->body,
        .body_n = r->body ? strlen(r->body) : 0,
        .repeatable = r->repeatable,
        .what = what,
        .refused = keep_refusal,
        .refused_arg = &refusal};
    do {
        refusal.lacks_endpoints = refusal.unknown = false;
        status = request_do(c, &own, &request, &response, e);
    } while (status != 0 && (e->code == ERR_UNAVAILABLE || e->code == ERR_NOT_FOUND) &&
             waits_on(&refusal, r, since) && request_pause(&own, service_pause, e) == 0);
    if (status == 0) {
        buf_add(out, response.body.data, response.body.len);
        http_response_done(&response);
    } else if (refusal.lacks_endpoints) {
        err_set(e, e->code,
            "%s: it has no endpoints: none of the pods that it selects is ready; k8s.get \"pods\" "
            "shows them",
            what);
    } else if (refusal.text) {
        err_set(e, e->code, "%s: %s", what, refusal.text);
    }
    free(refusal.text);
    return status;
}
