// SPDX-License-Identifier: MIT
// Objects from an API server, in any shape, and their texts: description, tables, states, order.
// The texts are UTF-8, and contain no value of a Secret.
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describe/describe.h"
#include "k8s/client/describe/events.h"
#include "k8s/client/state/sick.h"
#include "k8s/client/state/state.h"
#include "k8s/client/watch/table.h"
#include "k8s/client/watch/usage.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { NOW_S = 1800000000 };
static const int64_t now = NOW_S * INT64_C(1000000000);

static void check(const buf *shown)
{
    if (!utf8_valid(buf_cstr(shown), shown->len) || strlen(buf_cstr(shown)) != shown->len)
        abort();
}

static void show_table(cJSON *table)
{
    AUTO_BUF shown = {0};
    if (!table)
        return;
    tabletext_print(table, now, &shown);
    tabletext_summary(table, &shown);
    check(&shown);
    cJSON_Delete(table);
}

// As what it says it is, and as each kind that has a description of its own.
static void describe_as(const cJSON *object, const cJSON *events)
{
    static const char *const kinds[][2] = {{"v1", "Pod"}, {"batch/v1", "Job"},
        {"apps/v1", "Deployment"}, {"apps/v1", "StatefulSet"}, {"apps/v1", "DaemonSet"},
        {"apps/v1", "ReplicaSet"}, {"v1", "Service"}, {"v1", "ConfigMap"}, {"v1", "Node"},
        {"v1", "PersistentVolumeClaim"}, {"batch/v1", "CronJob"}, {"v1", "Namespace"},
        {"v1", "ServiceAccount"}, {"networking.k8s.io/v1", "Ingress"},
        {"autoscaling/v2", "HorizontalPodAutoscaler"}, {"v1", "PersistentVolume"}};
    struct describe_more more = {
        .events = events, .related = events, .also = events, .lease = events};
    AUTO_BUF shown = {0};
    describe(&shown, object, &more, now);
    for (size_t i = 0; i < ARRAY_LEN(kinds) && cJSON_IsObject(object); i++) {
        AUTO_JSON *other = cJSON_Duplicate(object, true);
        json_set_str(other, "apiVersion", kinds[i][0]);
        json_set_str(other, "kind", kinds[i][1]);
        struct describe_relation r = describe_relations(other);
        describe_relation_done(&r);
        describe(&shown, other, &more, now);
    }
    check(&shown);
}

static void describe_secret(const cJSON *object)
{
    AUTO_JSON *secret = cJSON_Duplicate(object, true);
    AUTO_FREE char *own = json_to_str(object);
    AUTO_BUF shown = {0};
    if (strstr(own, "c2VjcmV0LWNhbmFyeQ") || strstr(own, "secret-canary"))
        return; // it may be shown from where the input has it
    json_set_str(secret, "kind", "Secret");
    json_set_str(secret, "apiVersion", "v1");
    json_set_str(json_object_at(secret, "data"), "fuzz", "c2VjcmV0LWNhbmFyeQ==");
    json_set_str(json_object_at(secret, "stringData"), "fuzz", "secret-canary");
    describe(&shown, secret, NULL, now);
    if (strstr(buf_cstr(&shown), "c2VjcmV0LWNhbmFyeQ") || strstr(buf_cstr(&shown), "secret-canary"))
        abort();
}

static void ask_state(const cJSON *object)
{
    struct state s = state_of(object);
    struct pod_row row;
    AUTO_BUF why = {0};
    if (strlen(s.text) >= sizeof s.text || (*s.text && !state_reached(object, s.text)))
        abort();
    state_reached(object, "Ready");
    pod_row(object, &row);
    object_sick(object, now, &why);
    check(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO_JSON *object = json_parse((const char *)data, n, NULL);
    if (!object)
        return 0;
    describe_as(object, NULL);
    describe_as(object, object);
    if (cJSON_IsObject(object))
        describe_secret(object);
    ask_state(object);
    show_table(table_from_server(object, "", "Pod", true, true, now));
    show_table(table_from_server(object, "", "Event", false, false, now));
    show_table(table_from_server(object, "", "Job", false, false, now));
    show_table(table_from_list(object, true));
    cJSON *pods = table_of_pods(false);
    cJSON_AddItemToArray(json_array_at(pods, "rows"), table_pod_row(object, now));
    struct used used;
    if (usage_read(object, &used) == 0)
        usage_show(pods, json_get(pods, "rows")->child, &used);
    show_table(pods);
    show_table(table_of_events(object));
    cJSON_Delete(events_sorted(cJSON_Duplicate(object, true)));
    return 0;
}
