// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/registry_route.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/registry/registry.h"

#include <string.h>

struct route_state {
    registry_exchange *exchange; // NULL: refused
};

static const char *header(void *arg, const char *name)
{
    return http_request_header(arg, name);
}

static const char *query(void *arg, const char *name)
{
    return http_query(arg, name);
}

static void refuse(http_exchange *x)
{
    static const char body[] =
        "{\"errors\":[{\"code\":\"UNAUTHORIZED\",\"message\":\"authentication required: the "
        "sandbox's token as bearer or as password\"}]}\n";
    http_set_header(x, "WWW-Authenticate", "Basic realm=\"firesteel\"");
    http_respond(x, 401, "application/json", body, sizeof body - 1);
}

static void *begin(void *arg, http_exchange *x)
{
    struct route_state *s = mem_alloc(sizeof *s);
    if (!http_is_authorized(x)) {
        refuse(x);
        return s;
    }
    s->exchange = registry_begin(arg, &(struct registry_request){
                                          .method = http_method(x),
                                          .path = http_path(x),
                                          .header = header,
                                          .query = query,
                                          .arg = x,
                                      });
    return s;
}

static void body(void *state, http_exchange *x, const char *bytes, size_t n)
{
    struct route_state *s = state;
    registry_body(s->exchange, bytes, n);
}

static void end(void *state, http_exchange *x)
{
    struct route_state *s = state;
    struct registry_response r = {0};
    const char *type = NULL;
    registry_end(STEAL(s->exchange), &r);
    for (size_t i = 0; i < r.header_n; i++) {
        if (strcasecmp(r.headers[i].name, "Content-Type") == 0)
            type = r.headers[i].value;
        else
            http_set_header(x, r.headers[i].name, r.headers[i].value);
    }
    if (str_eq(http_method(x), "HEAD") && r.length > 0)
        http_respond_length(x, r.status, type, (uint64_t)r.length);
    else if (r.fd >= 0)
        http_respond_file(x, r.status, type, r.fd, (uint64_t)r.offset, (uint64_t)r.length);
    else
        http_respond(x, r.status, type, buf_cstr(&r.body), r.body.len);
    if (!str_eq(http_method(x), "HEAD"))
        r.fd = -1; // taken
    registry_response_done(&r);
}

static void done(void *state)
{
    struct route_state *s = state;
    registry_abort(s->exchange);
    free(s);
}

const struct http_handler registry_route = {
    .begin = begin,
    .body = body,
    .end = end,
    .done = done,
};
