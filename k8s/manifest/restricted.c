// SPDX-License-Identifier: MIT
#include "k8s/manifest/restricted.h"

#include "base/mem.h"
#include "base/str.h"

enum { USER = 1000, SPARK_USER = 185 };

static bool is_root(const cJSON *context)
{
    int64_t user;
    return json_int(json_get(context, "runAsUser"), &user) && user == 0;
}

static void fill_bool(cJSON *object, const char *name, bool value)
{
    if (!json_get(object, name))
        json_set_bool(object, name, value);
}

static void restrict_user(cJSON *context, int user)
{
    fill_bool(context, "runAsNonRoot", true);
    if (is_root(context) || !json_get(context, "runAsUser"))
        json_set_int(context, "runAsUser", user);
    if (!json_get(context, "fsGroup"))
        json_set_int(context, "fsGroup", json_int_or(context, "runAsUser", user));
    if (!json_get(context, "seccompProfile"))
        json_set_str(json_object_at(context, "seccompProfile"), "type", "RuntimeDefault");
}

static void restrict_container(cJSON *context)
{
    fill_bool(context, "allowPrivilegeEscalation", false);
    cJSON *capabilities = json_object_at(context, "capabilities");
    if (!json_get(capabilities, "drop"))
        cJSON_AddItemToArray(json_array_at(capabilities, "drop"), cJSON_CreateString("ALL"));
    if (is_root(context)) // the pod's user counts
        cJSON_DeleteItemFromObjectCaseSensitive(context, "runAsUser");
}

static void restrict_pod(cJSON *spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    restrict_user(json_object_at(spec, "securityContext"), USER);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        cJSON *container;
        cJSON_ArrayForEach(container, json_get(spec, lists[i]))
        {
            restrict_container(json_object_at(container, "securityContext"));
        }
    }
}

static void restrict_spark(cJSON *role)
{
    restrict_user(json_object_at(role, "podSecurityContext"), SPARK_USER);
    restrict_container(json_object_at(role, "securityContext"));
}

// Every "spec" with containers is a pod's: of a Pod, a template, or a job in a JobSet.
static void restrict_pods(cJSON *tree)
{
    for (cJSON *item = tree->child; item; item = item->next) {
        if (str_eq(item->string, "spec") && cJSON_IsArray(json_get(item, "containers")))
            restrict_pod(item);
        else
            restrict_pods(item);
    }
}

void manifest_restrict(cJSON *object)
{
    if (!str_eq(json_str(object, "kind"), "SparkApplication")) {
        restrict_pods(object);
        return;
    }
    cJSON *spec = json_object_at(object, "spec");
    restrict_spark(json_object_at(spec, "driver"));
    restrict_spark(json_object_at(spec, "executor"));
}
