// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/verbs.h"

// Whoever has the token may do everything: allows it.
static void add_access(cJSON *status)
{
    json_set_bool(status, "allowed", true);
    json_set_str(status, "reason", "the sandbox allows everything to whoever holds its token");
}

static cJSON *star(void)
{
    cJSON *a = cJSON_CreateArray();
    cJSON_AddItemToArray(a, cJSON_CreateString("*"));
    return a;
}

static void add_rules(cJSON *status)
{
    static const char *const resource[] = {"verbs", "apiGroups", "resources"};
    static const char *const other[] = {"verbs", "nonResourceURLs"};
    cJSON *r = cJSON_CreateObject(), *n = cJSON_CreateObject();
    for (size_t i = 0; i < 3; i++)
        json_set(r, resource[i], star());
    for (size_t i = 0; i < 2; i++)
        json_set(n, other[i], star());
    cJSON_AddItemToArray(json_array_at(status, "resourceRules"), r);
    cJSON_AddItemToArray(json_array_at(status, "nonResourceRules"), n);
    json_set_bool(status, "incomplete", false);
}

static void add_user(cJSON *status)
{
    static const char *const groups[] = {"system:masters", "system:authenticated"};
    cJSON *user = json_object_at(status, "userInfo");
    json_set_str(user, "username", "firesteel");
    for (size_t i = 0; i < 2; i++)
        cJSON_AddItemToArray(json_array_at(user, "groups"), cJSON_CreateString(groups[i]));
}

// Answers with an error if the review asks for nothing that could be answered.
static bool is_complete(struct request *r, const cJSON *json)
{
    static const struct kind nameless = {.group = "authorization.k8s.io", .kind = ""};
    bool resource = json_path(json, "spec.resourceAttributes");
    bool other = json_path(json, "spec.nonResourceAttributes");
    cJSON *causes = NULL;
    if (r->kind == KIND(SELFSUBJECTRULESREVIEWS) && !json_path_str(json, "spec.namespace")) {
        reply_failure(r, 400, NULL, "no namespace on request");
        return false;
    }
    if (r->kind != KIND(SELFSUBJECTACCESSREVIEWS) || resource != other)
        return true;
    if (resource)
        causes_add(&causes, "FieldValueInvalid", "spec.nonResourceAttributes",
            "Invalid value: cannot be specified in combination with resourceAttributes");
    else
        causes_add(&causes, "FieldValueInvalid", "spec.resourceAttributes",
            "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must "
            "be specified");
    reply_json(r, 422, status_invalid(&nameless, "", causes));
    return false;
}

void verb_review(struct request *r)
{
    if (!str_eq(http_method(r->x), "POST")) {
        reply_failure(
            r, 405, NULL, "the server does not allow this method on the requested resource");
        return;
    }
    cJSON *json = request_object(r);
    if (!json)
        return;
    if (!is_complete(r, json)) {
        cJSON_Delete(json);
        return;
    }
    AUTO_FREE char *api = kind_api_version(r->kind);
    json_set_str(json, "apiVersion", api);
    json_set_str(json, "kind", r->kind->kind);
    cJSON *status = json_object_at(json, "status");
    if (r->kind == KIND(SELFSUBJECTACCESSREVIEWS))
        add_access(status);
    else if (r->kind == KIND(SELFSUBJECTRULESREVIEWS))
        add_rules(status);
    else
        add_user(status);
    reply_json(r, 201, json);
}
