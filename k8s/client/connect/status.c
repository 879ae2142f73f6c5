// SPDX-License-Identifier: MIT
#include "k8s/client/connect/status.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/text/cause.h"

#include <string.h>

//  X(status, err code, remedy)
#define REMEDIES(X)                                                                                \
    X(400, INVALID, NULL)                                                                          \
    X(401, UNAUTHORIZED,                                                                           \
        "log in again, or check the user's token, certificate or exec plugin in the kubeconfig")   \
    X(403, FORBIDDEN, "ask for a role that allows it, or choose another --context or -n")          \
    X(404, NOT_FOUND, NULL)                                                                        \
    X(405, INVALID, "this kind does not have this verb")                                           \
    X(406, INVALID, NULL)                                                                          \
    X(408, UNAVAILABLE, NULL)                                                                      \
    X(409, CONFLICT, NULL)                                                                         \
    X(410, GONE, NULL)                                                                             \
    X(413, LIMIT, "the object is too large for the server")                                        \
    X(415, INVALID, "this kind does not take this type of patch; type=\"merge\" works on all")     \
    X(422, INVALID, NULL)                                                                          \
    X(429, UNAVAILABLE, NULL)

static const struct remedy {
    int status;
    err_code code;
    const char *text;
} remedies[] = {
#define X(status, code, text) {status, ERR_##code, text},
    REMEDIES(X)
#undef X
};

static struct remedy remedy_of(int status)
{
    for (size_t i = 0; i < ARRAY_LEN(remedies); i++)
        if (remedies[i].status == status)
            return remedies[i];
    return (struct remedy){status, status / 100 == 5 ? ERR_UNAVAILABLE : ERR_FAILED, NULL};
}

static struct remedy remedy_for(int status, const char *reason, const char *message)
{
    struct remedy r = remedy_of(status);
    if (status == 500 && strstr(message, "failed calling webhook"))
        r.text = cause_remedy(message);
    // A refusal by what stands behind the rights: a policy, Pod Security, a quota.
    if (status == 403 && message && !strstr(message, "cannot ")) {
        const char *text = cause_remedy(message);
        r.text = text || strstr(message, "is forbidden: ") ? text : r.text;
        if (strstr(message, "denied the request") || strstr(message, "violates PodSecurity"))
            r.code = ERR_INVALID;
    }
    if (status == 409 && str_eq(reason, "AlreadyExists"))
        return (struct remedy){
            status, ERR_EXISTS, "delete it first, give it another name, or use k8s.apply"};
    if (str_eq(reason, "Expired"))
        r.code = ERR_GONE;
    return r;
}

// Server-side apply: who owns which field, in one line. All other messages have their causes.
static void add_message(buf *text, const char *message, const cJSON *details)
{
    const cJSON *cause;
    bool any = false;
    cJSON_ArrayForEach(cause, json_get(details, "causes"))
    {
        if (!str_eq(json_str(cause, "reason"), "FieldManagerConflict"))
            continue;
        if (!any) // "Apply failed with 1 conflict: conflict with …": the rest says it again
            buf_add(text, message, strcspn(message, ":"));
        buf_fmt(text, "%s%s (%s)", any ? ", " : ": ", json_str_or(cause, "field", "?"),
            json_str_or(cause, "message", "another manager"));
        any = true;
    }
    buf_str(text, any ? ": force=true takes these fields over" : message);
}

static int set_error(
    int status, const cJSON *object, const char *message, const char *what, const char *who, err *e)
{
    struct remedy r = remedy_for(status, json_str(object, "reason"), message);
    AUTO_BUF text = {0};
    add_message(&text, message, json_get(object, "details"));
    if (r.text)
        buf_fmt(&text, ": %s", r.text);
    bool about_us = status == 401 || status == 403;
    return err_set(e, r.code, "%s%s%s%s: %s", what, about_us ? " (" : "", about_us ? who : "",
        about_us ? ")" : "", buf_cstr(&text));
}

int status_object_error(const cJSON *object, const char *what, const char *who, err *e)
{
    int status = (int)json_int_or(object, "code", 500);
    const char *message = json_str(object, "message");
    return set_error(
        status, object, message && *message ? message : "the server gives no reason", what, who, e);
}

enum { BODY_SHOWN = 200 };

// The first line of a body that is not a Status, made fit for a message.
static char *first_line(const struct http_response *r)
{
    const char *start = buf_cstr(&r->body) + strspn(buf_cstr(&r->body), " \t\r\n");
    AUTO_FREE char *line = str_trim(start, strcspn(start, "\r\n"));
    return str_fmt("HTTP %d%s%s", r->status, *line ? ": " : "", str_short(line, BODY_SHOWN).text);
}

int status_error(const struct http_response *r, const char *what, const char *who, err *e)
{
    AUTO_JSON *object = json_parse(buf_cstr(&r->body), r->body.len, NULL);
    const char *message = json_str(object, "message");
    if (str_eq(json_str(object, "kind"), "Status") && message && *message)
        return set_error(r->status, object, message, what, who, e);
    AUTO_FREE char *line = first_line(r);
    return set_error(r->status, NULL, line, what, who, e);
}
