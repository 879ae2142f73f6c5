// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/request.h"

#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/print/protobuf.h"

#include <string.h>

bool request_flag(const struct request *r, const char *name)
{
    const char *value = http_query(r->x, name);
    return str_eq(value, "true") || str_eq(value, "1");
}

bool request_is_dry_run(const struct request *r)
{
    return str_eq(http_query(r->x, "dryRun"), "All");
}

char *request_manager(const struct request *r)
{
    const char *given = http_query(r->x, "fieldManager");
    if (given && *given)
        return mem_strdup(given);
    const char *agent = http_request_header(r->x, "User-Agent");
    return agent && *agent ? mem_strndup(agent, strcspn(agent, "/ ")) : mem_strdup("unknown");
}

static bool has_type(const char *header, const char *type)
{
    return header && strstr(header, type);
}

static cJSON *parse_yaml(const struct request *r, err *e)
{
    AUTO_JSON *documents = yaml_parse(buf_cstr(&r->body), r->body.len, e);
    if (!documents)
        return NULL;
    if (cJSON_GetArraySize(documents) != 1) {
        err_set(e, ERR_INVALID, "expected one document, got %d", cJSON_GetArraySize(documents));
        return NULL;
    }
    return cJSON_DetachItemFromArray(documents, 0);
}

static cJSON *parse_body(const struct request *r, const struct schema *s, const char *type, err *e)
{
    if (has_type(type, "protobuf"))
        return protobuf_decode(s, r->body.data, r->body.len, e);
    if (has_type(type, "yaml"))
        return parse_yaml(r, e);
    return json_parse(buf_cstr(&r->body), r->body.len, e);
}

cJSON *request_object_as(struct request *r, const struct schema *s)
{
    const char *type = http_request_header(r->x, "Content-Type");
    err e = {0};
    bool known = !type || !*type || has_type(type, "json") || has_type(type, "yaml");
    if (!known && !(has_type(type, "protobuf") && s)) {
        reply_failure(r, 415, NULL,
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml, application/vnd.kubernetes.protobuf");
        return NULL;
    }
    cJSON *json = parse_body(r, s, type, &e);
    if (json && !cJSON_IsObject(json)) {
        cJSON_Delete(json);
        json = NULL;
        err_set(&e, ERR_INVALID, "not an object");
    }
    if (!json)
        reply_failure(r, 400, NULL,
            "the object provided is unrecognized (must be of type %s): couldn't get version/kind; "
            "%s parse error: %s",
            r->kind->kind, has_type(type, "yaml") ? "yaml" : "json", e.text);
    return json;
}

cJSON *request_object(struct request *r)
{
    return request_object_as(r, schema_of(r->kind));
}

void reply_text(struct request *r, int code, const char *type, const char *text, size_t n)
{
    if (!r->render.as_yaml || !str_eq(type, "application/json")) {
        http_respond(r->x, code, type, text, n);
        return;
    }
    AUTO_JSON *json = json_parse(text, n, NULL);
    AUTO_BUF yaml = {0};
    yaml_print(&yaml, json);
    http_respond(r->x, code, "application/yaml", buf_cstr(&yaml), yaml.len);
}

void reply_json(struct request *r, int code, cJSON *json)
{
    AUTO_BUF b = {0};
    json_print(&b, json);
    cJSON_Delete(json);
    buf_char(&b, '\n');
    reply_text(r, code, "application/json", buf_cstr(&b), b.len);
}

void reply_object(struct request *r, int code, const snapshot *s)
{
    AUTO_BUF b = {0};
    render_object(&b, &r->render, s, true);
    buf_char(&b, '\n');
    reply_text(r, code, "application/json", buf_cstr(&b), b.len);
}

void reply_failure(struct request *r, int code, const char *reason, const char *fmt, ...)
{
    AUTO_BUF b = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&b, fmt, args);
    va_end(args);
    // only these statuses are about one object and name it
    bool about = code == 403 || code == 404 || code == 409;
    reply_json(r, code,
        status_failure(
            code, reason, buf_cstr(&b), about ? r->kind : NULL, about ? r->name : NULL, NULL));
}

void reply_error(struct request *r, const err *e)
{
    // A missing namespace is a 404 about the namespace, whatever the request was for.
    bool about_namespace = e->code == ERR_NOT_FOUND && str_starts(e->text, "namespaces ");
    reply_json(r, status_code(e),
        status_failure(status_code(e), status_reason(e), e->text,
            about_namespace ? KIND(NAMESPACES) : r->kind, about_namespace ? r->ns : r->name, NULL));
}

void reply_invalid(struct request *r, const char *name, cJSON *causes)
{
    reply_json(r, 422, status_invalid(r->kind, name, causes));
}
