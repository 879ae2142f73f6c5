// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/admission.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/objects/defaults.h"
#include "k8s/sandbox/api/objects/schema.h"
#include "k8s/sandbox/api/objects/validate.h"

#include <string.h>

static bool check_type(struct request *r, cJSON *json)
{
    AUTO_FREE char *api = kind_api_version(r->stored);
    const char *given_api = json_str(json, "apiVersion"), *given = json_str(json, "kind");
    bool custom = r->kind->flags & KIND_IS_CUSTOM;
    if (custom && (!given_api || !given)) {
        AUTO_FREE char *text = json_to_str(json);
        reply_failure(r, 400, NULL,
            "the object provided is unrecognized (must be of type %s): Object '%s' is missing in "
            "'%s'",
            r->kind->kind, given ? "apiVersion" : "Kind", text);
    } else if (given_api && !str_eq(given_api, api))
        reply_failure(r, 400, NULL,
            "the API version in the data (%s) does not match the expected API version (%s)",
            given_api, api);
    else if (given && !str_eq(given, r->stored->kind))
        reply_failure(r, 400, NULL,
            "%s in version \"%s\" cannot be handled as a %s: no kind \"%s\" is registered for the "
            "internal version of group \"%s\"",
            given, r->kind->version, r->kind->kind, given, r->kind->group);
    else {
        json_set_str(json, "apiVersion", api);
        json_set_str(json, "kind", r->stored->kind);
        return true;
    }
    return false;
}

static bool place(struct request *r, cJSON *json)
{
    cJSON *meta = json_object_at(json, "metadata");
    const char *given = json_str(meta, "namespace");
    if (!(r->kind->flags & KIND_NAMESPACED)) {
        cJSON_DeleteItemFromObjectCaseSensitive(meta, "namespace");
        return true;
    }
    if (given && *given && !str_eq(given, r->ns)) {
        reply_failure(r, 400, NULL,
            "the namespace of the provided object does not match the namespace sent on the "
            "request");
        return false;
    }
    json_set_str(meta, "namespace", r->ns);
    return true;
}

static void warn_unknown(struct request *r, char *const *unknown)
{
    for (size_t i = 0; unknown && unknown[i]; i++) {
        AUTO_FREE char *warning = str_fmt("299 - \"unknown field \\\"%s\\\"\"", unknown[i]);
        http_set_header(r->x, "Warning", warning);
    }
}

// An invalid result of a patch is reported as a fault of the patch.
static bool is_of_patch(const struct request *r)
{
    const char *type = http_request_header(r->x, "Content-Type");
    return str_eq(http_method(r->x), "PATCH") && type &&
           !str_starts(type, "application/apply-patch");
}

static void refuse_fields(struct request *r, const cJSON *json, const char *why)
{
    static const struct kind nothing = {.group = "", .kind = ""};
    if (!is_of_patch(r)) {
        reply_failure(r, 400, NULL, "%s in version \"%s\" cannot be handled as a %s: %s",
            r->kind->kind, r->kind->version, r->kind->kind, why);
        return;
    }
    cJSON *causes = NULL;
    AUTO_FREE char *value = json_to_str(json);
    causes_add(&causes, "FieldValueInvalid", "patch", "Invalid value: %s: %s", value, why);
    reply_json(r, 422, status_invalid(&nothing, "", causes));
}

static void refuse_unknown(struct request *r, const cJSON *json, char *const *unknown)
{
    AUTO_BUF list = {0};
    buf_str(&list, "strict decoding error: ");
    for (size_t i = 0; unknown[i]; i++)
        buf_fmt(&list, "%sunknown field \"%s\"", i ? ", " : "", unknown[i]);
    if (r->kind->flags & KIND_IS_CUSTOM)
        reply_failure(r, 400, NULL, "%s", buf_cstr(&list));
    else
        refuse_fields(r, json, buf_cstr(&list));
}

static void refuse_types(struct request *r, const cJSON *json, cJSON *causes)
{
    if (r->kind->flags & KIND_IS_CUSTOM) {
        reply_invalid(r, object_name(json), causes);
        return;
    }
    AUTO_BUF list = {0};
    const cJSON *c;
    cJSON_ArrayForEach(c, causes) buf_fmt(
        &list, "%s%s: %s", list.len ? ", " : "", json_str(c, "field"), json_str(c, "message"));
    refuse_fields(r, json, buf_cstr(&list));
    cJSON_Delete(causes);
}

static bool check_fields(struct request *r, cJSON *json)
{
    struct schema_report report;
    const char *mode = http_query(r->x, "fieldValidation");
    bool ok = true;
    schema_check(schema_of(r->stored), json, true, &report);
    if (report.mistyped) {
        refuse_types(r, json, STEAL(report.mistyped));
        ok = false;
    } else if (report.unknown && str_eq(mode, "Strict")) {
        refuse_unknown(r, json, report.unknown);
        ok = false;
    } else if (!str_eq(mode, "Ignore")) {
        warn_unknown(r, report.unknown);
    }
    schema_report_done(&report);
    return ok;
}

static bool has_account(struct request *r, const cJSON *json, const cJSON *old)
{
    const char *account = json_path_str(json, "spec.serviceAccountName");
    if (r->stored != KIND(PODS) || old || !account ||
        !store_get(r->api->store, KIND(NAMESPACES), "", r->ns) ||
        store_get(r->api->store, KIND(SERVICEACCOUNTS), r->ns, account))
        return true;
    reply_failure(r, 403, NULL,
        "pods \"%s\" is forbidden: error looking up service account %s/%s: serviceaccount \"%s\" "
        "not found",
        object_name(json), r->ns, account, account);
    return false;
}

static void forget(cJSON *json, const char *key)
{
    cJSON_DeleteItemFromObjectCaseSensitive(json_object_at(json, "metadata"), key);
}

bool admit(struct request *r, cJSON *json, const cJSON *old)
{
    if (!cJSON_IsObject(json_object_at(json, "metadata")) || !check_type(r, json) ||
        !place(r, json) || !check_fields(r, json))
        return false;
    if (str_eq(r->subresource, "status"))
        return true;
    if (!old) { // clients cannot set the server's own fields
        forget(json, "uid");
        forget(json, "resourceVersion");
        forget(json, "creationTimestamp");
        store_identify(json);
        if (r->stored->flags & KIND_HAS_STATUS)
            cJSON_DeleteItemFromObjectCaseSensitive(json, "status");
    }
    cJSON *causes = NULL;
    err e = {0};
    defaults_set(r->api->store, r->stored, json, old);
    validate(r->stored, json, old, &causes);
    if (causes) {
        reply_invalid(r, object_name(json), causes);
        return false;
    }
    bool same_spec =
        old && json_get(old, "spec") && json_equal(json_get(old, "spec"), json_get(json, "spec"));
    if (!same_spec && !validate_spark(r->stored, json, &e)) {
        reply_failure(r, 403, NULL,
            "admission webhook "
            "\"validate-sparkoperator-k8s-io-v1beta2-sparkapplication.sparkoperator.k8s.io\" "
            "denied the "
            "request: %s",
            e.text);
        return false;
    }
    return has_account(r, json, old);
}
