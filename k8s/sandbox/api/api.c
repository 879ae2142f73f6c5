// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/api.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/discovery.h"
#include "k8s/sandbox/api/objects/alias.h"
#include "k8s/sandbox/api/openapi.h"
#include "k8s/sandbox/api/options.h"
#include "k8s/sandbox/api/verbs.h"

#include <string.h>

enum { BODY_MAX = 3 * 1024 * 1024 }; // as in kube-apiserver

static void *begin(void *arg, http_exchange *x)
{
    const struct api_context *api = arg;
    struct request *r = mem_alloc(sizeof *r);
    r->api = api;
    r->x = x;
    r->ns = mem_strdup("");
    r->name = mem_strdup("");
    r->subresource = mem_strdup("");
    r->render.now = store_now(api->store);
    return r;
}

static void body(void *state, http_exchange *x, const char *bytes, size_t n)
{
    struct request *r = state;
    if (r->body.len + n > BODY_MAX)
        r->too_big = true;
    else
        buf_add(&r->body, bytes, n);
}

static void done(void *state)
{
    struct request *r = state;
    buf_done(&r->body);
    free(r->ns);
    free(r->name);
    free(r->subresource);
    free(r);
}

// Finds the first known media type of the Accept header; false when there is none (406).
static bool negotiate(struct request *r)
{
    const char *accept = http_request_header(r->x, "Accept");
    if (!accept || !*accept)
        return true;
    char **types = strv_split(accept, ',');
    bool known = false;
    for (size_t i = 0; types[i] && !known; i++) {
        AUTO_FREE char *type = str_trim(types[i], strlen(types[i]));
        bool table = strstr(type, "as=Table"), partial = strstr(type, "as=PartialObjectMetadata");
        bool partials = strstr(type, "as=PartialObjectMetadataList");
        bool yaml = str_starts(type, "application/yaml");
        known = yaml || str_starts(type, "application/json") || str_starts(type, "*/*") ||
                str_starts(type, "application/*") || str_starts(type, "text/plain");
        if (strstr(type, "as=") && !table && !partial)
            known = strstr(type, "as=APIGroupDiscoveryList") != NULL;
        r->render.as_yaml = known && yaml;
        r->render.form = known && table      ? FORM_TABLE
                         : known && partials ? FORM_METADATA_LIST
                         : known && partial  ? FORM_METADATA
                                             : FORM_OBJECT;
    }
    strv_free(types);
    const char *include = http_query(r->x, "includeObject");
    r->render.include = str_eq(include, "Object") ? INCLUDE_OBJECT
                        : str_eq(include, "None") ? INCLUDE_NONE
                                                  : INCLUDE_METADATA;
    return known;
}

static void set(char **at, const char *value)
{
    free(*at);
    *at = mem_strdup(value);
}

// /api/v1/… and /apis/GROUP/VERSION/…, then [namespaces/NS/]RESOURCE[/NAME[/SUB]].
static bool find_target(struct request *r, char **path)
{
    size_t n = strv_len(path);
    bool core = str_eq(path[0], "api");
    if (n < (core ? 3u : 4u) || (!core && !str_eq(path[0], "apis")))
        return false;
    const char *group = core ? "" : path[1], *version = core ? path[1] : path[2];
    path += core ? 2 : 3;
    n -= core ? 2 : 3;
    bool inside = n >= 3 && str_eq(path[0], "namespaces") && !str_eq(path[2], "status") &&
                  !str_eq(path[2], "finalize");
    if (inside) {
        set(&r->ns, path[1]);
        path += 2;
        n -= 2;
    }
    r->kind = kinds_find(r->api->kinds, group, version, path[0]);
    if (!r->kind || n > 3 || (inside && !(r->kind->flags & KIND_NAMESPACED)))
        return false;
    if (n > 1)
        set(&r->name, path[1]);
    if (n > 2)
        set(&r->subresource, path[2]);
    r->stored = alias_stored(r->kind);
    r->render.kind = r->kind;
    return true;
}

static bool has_subresource(const struct kind *k, const char *sub)
{
    return !*sub || (str_eq(sub, "status") && (k->flags & KIND_HAS_STATUS)) ||
           (str_eq(sub, "log") && (k->flags & KIND_HAS_LOG));
}

static void on_collection(struct request *r, const char *method)
{
    bool placed = !(r->kind->flags & KIND_NAMESPACED) || *r->ns;
    if (str_eq(method, "GET") && request_flag(r, "watch"))
        verb_watch(r);
    else if (str_eq(method, "GET"))
        verb_list(r);
    else if (str_eq(method, "POST") && placed)
        verb_create(r);
    else if (str_eq(method, "DELETE") && placed && r->kind != KIND(NAMESPACES))
        verb_delete_all(r);
    else
        reply_failure(
            r, 405, NULL, "the server does not allow this method on the requested resource");
}

static void on_object(struct request *r, const char *method)
{
    if (str_eq(r->subresource, "log") && str_eq(method, "GET"))
        verb_log(r);
    else if (str_eq(method, "GET"))
        verb_get(r);
    else if (str_eq(method, "PUT"))
        verb_update(r);
    else if (str_eq(method, "PATCH"))
        verb_patch(r);
    else if (str_eq(method, "DELETE") && !*r->subresource)
        verb_delete(r);
    else
        reply_failure(
            r, 405, NULL, "the server does not allow this method on the requested resource");
}

static void on_resource(struct request *r)
{
    const char *method = http_method(r->x);
    if (!has_subresource(r->kind, r->subresource))
        reply_failure(r, 404, NULL, "the server could not find the requested resource");
    else if (r->kind->flags & KIND_IS_REVIEW)
        verb_review(r);
    else if (!options_check(r, method))
        ;
    else if (*r->name && (r->kind->flags & KIND_NAMESPACED) && !*r->ns)
        reply_failure(r, 404, NULL, "the server could not find the requested resource");
    else if (*r->name)
        on_object(r, method);
    else
        on_collection(r, method);
}

static bool serve_health(struct request *r, char *const *path)
{
    static const char *const words[] = {"healthz", "livez", "readyz"};
    for (size_t i = 0; path[0] && i < ARRAY_LEN(words); i++)
        if (str_eq(path[0], words[i])) {
            reply_text(r, 200, "text/plain; charset=utf-8", "ok", 2);
            return true;
        }
    return false;
}

// An unknown path below a served group and version gets a Status; any other path gets plain text.
static void not_found(struct request *r, char *const *path)
{
    static const char text[] = "404 page not found\n";
    size_t n = strv_len(path);
    bool core = n > 1 && str_eq(path[0], "api"), group = n > 2 && str_eq(path[0], "apis");
    const struct kind *k;
    for (size_t i = 0; (core || group) && (k = kinds_at(r->api->kinds, i)); i++)
        if (str_eq(k->group, core ? "" : path[1]) && str_eq(k->version, path[core ? 1 : 2])) {
            reply_failure(r, 404, NULL, "the server could not find the requested resource");
            return;
        }
    http_respond(r->x, 404, "text/plain; charset=utf-8", text, sizeof text - 1);
}

static void dispatch(struct request *r, char **path)
{
    if (serve_health(r, path))
        return;
    if (!http_is_authorized(r->x))
        reply_failure(r, 401, NULL, "Unauthorized");
    else if (r->too_big)
        reply_failure(r, 413, NULL, "Request entity too large: limit is %d", BODY_MAX);
    else if (openapi_serve(r, path) || discovery_serve(r, path))
        ;
    else if (!negotiate(r))
        reply_failure(r, 406, NULL,
            "only the following media types are accepted: application/json, application/yaml");
    else if (path[0] && find_target(r, path))
        on_resource(r);
    else
        not_found(r, path);
}

static void end(void *state, http_exchange *x)
{
    struct request *r = state;
    const char *p = http_path(x);
    char **all = strv_split(p + (*p == '/'), '/');
    size_t n = strv_len(all);
    if (n && !*all[n - 1]) { // a trailing slash
        free(all[n - 1]);
        all[n - 1] = NULL;
    }
    dispatch(r, all);
    strv_free(all);
}

const struct http_handler api_handler = {
    .begin = begin,
    .body = body,
    .end = end,
    .done = done,
};
