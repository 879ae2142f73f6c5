// SPDX-License-Identifier: MIT
#include "k8s/client/service.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/request.h"

#include <stdlib.h>
#include <string.h>

// A service's own words for what is wrong, {"error": "…"}, are better than those of its status.
struct refusal {
    char *text;
};

static void keep_refusal(void *arg, const struct http_response *r)
{
    struct refusal *f = arg;
    AUTO_JSON *j = json_parse(r->body.data, r->body.len, NULL);
    free(f->text);
    f->text = mem_strdup(json_str(j, "error"));
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
    struct refusal refusal = {0};
    struct http_response response;
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
    int status = request_do(c, p, &request, &response, e);
    if (status == 0) {
        buf_add(out, response.body.data, response.body.len);
        http_response_done(&response);
    } else if (refusal.text) {
        err_set(e, e->code, "%s: %s", what, refusal.text);
    }
    free(refusal.text);
    return status;
}
