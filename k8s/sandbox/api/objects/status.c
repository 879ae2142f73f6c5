// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/objects/status.h"

#include "base/mem.h"
#include "base/str.h"

// The names are those of k8s.io/apimachinery/pkg/apis/meta/v1 (StatusReason).
static const struct {
    int code;
    const char *reason;
} reasons[] = {
    {400, "BadRequest"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "NotFound"},
    {405, "MethodNotAllowed"},
    {406, "NotAcceptable"},
    {409, "Conflict"},
    {410, "Expired"},
    {413, "RequestEntityTooLarge"},
    {415, "UnsupportedMediaType"},
    {422, "Invalid"},
    {429, "TooManyRequests"},
    {500, "InternalError"},
    {504, "Timeout"},
};

static const char *reason_of(int code)
{
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (reasons[i].code == code)
            return reasons[i].reason;
    return "";
}

static cJSON *status_new(const char *status)
{
    cJSON *s = cJSON_CreateObject();
    json_set_str(s, "kind", "Status");
    json_set_str(s, "apiVersion", "v1");
    json_set(s, "metadata", cJSON_CreateObject());
    json_set_str(s, "status", status);
    return s;
}

static cJSON *add_details(cJSON *s, const struct kind *k, const char *name, const char *kind)
{
    cJSON *d = json_object_at(s, "details");
    if (name && *name)
        json_set_str(d, "name", name);
    if (k && k->group && *k->group)
        json_set_str(d, "group", k->group);
    if (k)
        json_set_str(d, "kind", kind);
    return d;
}

cJSON *status_failure(int code, const char *reason, const char *message, const struct kind *k,
    const char *name, cJSON *causes)
{
    cJSON *s = status_new("Failure");
    json_set_str(s, "message", message);
    if (!reason)
        reason = reason_of(code);
    if (*reason)
        json_set_str(s, "reason", reason);
    // Details name the resource, but for an Invalid the Kind: Kubernetes does so, too.
    if (k || causes) {
        cJSON *d = add_details(s, k, name, k ? (code == 422 ? k->kind : k->resource) : NULL);
        if (causes)
            json_set(d, "causes", causes);
    }
    json_set_int(s, "code", code);
    return s;
}

cJSON *status_success(const struct kind *k, const char *name, const char *uid)
{
    cJSON *s = status_new("Success");
    json_set_str(add_details(s, k, name, k->resource), "uid", uid);
    return s;
}

int status_code(const err *e)
{
    switch (e->code) {
    case ERR_NOT_FOUND:
        return 404;
    case ERR_EXISTS:
    case ERR_CONFLICT:
        return 409;
    case ERR_FORBIDDEN:
        return 403;
    case ERR_GONE:
        return 410;
    case ERR_INVALID:
        return 422;
    case ERR_USAGE:
        return 400;
    default:
        return 500;
    }
}

const char *status_reason(const err *e)
{
    return e->code == ERR_EXISTS ? "AlreadyExists" : reason_of(status_code(e));
}

void causes_add(cJSON **causes, const char *reason, const char *field, const char *fmt, ...)
{
    AUTO_BUF b = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&b, fmt, args);
    va_end(args);
    if (!*causes)
        *causes = cJSON_CreateArray();
    cJSON *c = cJSON_CreateObject();
    json_set_str(c, "reason", reason);
    json_set_str(c, "message", buf_cstr(&b));
    if (field)
        json_set_str(c, "field", field);
    cJSON_AddItemToArray(*causes, c);
}

cJSON *status_invalid(const struct kind *k, const char *name, cJSON *causes)
{
    AUTO_BUF b = {0};
    bool many = cJSON_GetArraySize(causes) > 1;
    if (k->group && *k->group)
        buf_fmt(&b, "%s.%s \"%s\" is invalid: %s", k->kind, k->group, name, many ? "[" : "");
    else
        buf_fmt(&b, "%s \"%s\" is invalid: %s", k->kind, name, many ? "[" : "");
    const cJSON *c;
    cJSON_ArrayForEach(c, causes) buf_fmt(&b, "%s%s: %s", c == causes->child ? "" : ", ",
        json_str_or(c, "field", ""), json_str_or(c, "message", ""));
    buf_str(&b, many ? "]" : "");
    return status_failure(422, NULL, buf_cstr(&b), k, name, causes);
}
