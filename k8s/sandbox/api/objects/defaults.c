// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/objects/defaults.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

static void text(cJSON *o, const char *key, const char *value)
{
    if (!json_get(o, key))
        json_set_str(o, key, value);
}

static void number(cJSON *o, const char *key, int64_t value)
{
    if (!json_get(o, key))
        json_set_int(o, key, value);
}

static void flag(cJSON *o, const char *key, bool value)
{
    if (!json_get(o, key))
        json_set_bool(o, key, value);
}

static cJSON *member(cJSON *o, const char *key)
{
    return (cJSON *)json_get(o, key);
}

// Always, if the image has no tag or the tag latest, and no digest.
static const char *pull_policy(const char *image)
{
    const char *slash = strrchr(image, '/'), *colon = strchr(slash ? slash : image, ':');
    if (strchr(image, '@'))
        return "IfNotPresent";
    return !colon || str_eq(colon, ":latest") ? "Always" : "IfNotPresent";
}

static void probe(cJSON *p)
{
    if (!p)
        return;
    number(p, "timeoutSeconds", 1);
    number(p, "periodSeconds", 10);
    number(p, "successThreshold", 1);
    number(p, "failureThreshold", 3);
    cJSON *http = member(p, "httpGet");
    if (http) {
        text(http, "path", "/");
        text(http, "scheme", "HTTP");
    }
}

// Resources with a limit but no request get a request of the same size.
static void resources(cJSON *c)
{
    cJSON *r = json_object_at(c, "resources");
    const cJSON *limits = json_get(r, "limits"), *limit;
    cJSON_ArrayForEach(limit, limits) if (!json_get(json_get(r, "requests"), limit->string))
        json_set(json_object_at(r, "requests"), limit->string, cJSON_Duplicate(limit, true));
}

static void container(cJSON *c)
{
    cJSON *item;
    text(c, "imagePullPolicy", pull_policy(json_str_or(c, "image", "")));
    text(c, "terminationMessagePath", "/dev/termination-log");
    text(c, "terminationMessagePolicy", "File");
    resources(c);
    probe(member(c, "livenessProbe"));
    probe(member(c, "readinessProbe"));
    probe(member(c, "startupProbe"));
    cJSON_ArrayForEach(item, json_get(c, "ports")) text(item, "protocol", "TCP");
    cJSON_ArrayForEach(item, json_get(c, "env"))
    {
        cJSON *ref = (cJSON *)json_path(item, "valueFrom.fieldRef");
        if (ref)
            text(ref, "apiVersion", "v1");
    }
}

static void volume(cJSON *v)
{
    static const char *const with_mode[] = {"configMap", "secret", "downwardAPI", "projected"};
    for (size_t i = 0; i < ARRAY_LEN(with_mode); i++)
        if (member(v, with_mode[i]))
            number(member(v, with_mode[i]), "defaultMode", 0644);
    if (cJSON_GetArraySize(v) == 1) // a name without a value
        json_set(v, "emptyDir", cJSON_CreateObject());
    if (member(v, "hostPath"))
        text(member(v, "hostPath"), "type", "");
}

static void pod_spec(cJSON *spec)
{
    cJSON *item;
    if (!cJSON_IsObject(spec))
        return;
    text(spec, "restartPolicy", "Always");
    text(spec, "dnsPolicy", "ClusterFirst");
    number(spec, "terminationGracePeriodSeconds", 30);
    text(spec, "schedulerName", "default-scheduler");
    json_object_at(spec, "securityContext");
    const char *account = json_str(spec, "serviceAccountName");
    if (account || json_get(spec, "serviceAccount")) {
        text(spec, "serviceAccountName", json_str_or(spec, "serviceAccount", "default"));
        text(spec, "serviceAccount", json_str(spec, "serviceAccountName"));
    }
    cJSON_ArrayForEach(item, json_get(spec, "containers")) container(item);
    cJSON_ArrayForEach(item, json_get(spec, "initContainers")) container(item);
    cJSON_ArrayForEach(item, json_get(spec, "volumes")) volume(item);
}

static bool has_all(const cJSON *r, const char *part)
{
    return json_get(json_get(r, part), "cpu") && json_get(json_get(r, part), "memory");
}

static const char *qos_class(const cJSON *spec)
{
    bool best_effort = true, guaranteed = true;
    const cJSON *c;
    cJSON_ArrayForEach(c, json_get(spec, "containers"))
    {
        const cJSON *r = json_get(c, "resources");
        bool some = cJSON_GetArraySize(json_get(r, "limits")) ||
                    cJSON_GetArraySize(json_get(r, "requests"));
        best_effort = best_effort && !some;
        guaranteed = guaranteed && has_all(r, "limits") &&
                     json_equal(json_get(r, "limits"), json_get(r, "requests"));
    }
    return best_effort ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

static void pod(cJSON *json, const cJSON *old)
{
    cJSON *spec = member(json, "spec");
    pod_spec(spec);
    if (old || !cJSON_IsObject(spec))
        return;
    text(spec, "serviceAccountName", "default");
    text(spec, "serviceAccount", json_str(spec, "serviceAccountName"));
    flag(spec, "enableServiceLinks", true);
    number(spec, "priority", 0);
    text(spec, "preemptionPolicy", "PreemptLowerPriority");
    cJSON *status = json_object_at(json, "status");
    text(status, "phase", "Pending");
    text(status, "qosClass", qos_class(spec));
}

static void own_selector(cJSON *json)
{
    cJSON *spec = member(json, "spec"),
          *meta = json_object_at(member(spec, "template"), "metadata");
    cJSON *labels = json_object_at(meta, "labels");
    const char *uid = object_uid(json), *name = object_name(json);
    static const char controller[] = "batch.kubernetes.io/controller-uid";
    json_set_str(labels, controller, uid);
    json_set_str(labels, "controller-uid", uid);
    text(labels, "batch.kubernetes.io/job-name", name);
    text(labels, "job-name", name);
    json_set_str(json_object_at(json_object_at(spec, "selector"), "matchLabels"), controller, uid);
}

static void job(cJSON *json, const cJSON *old)
{
    cJSON *spec = member(json, "spec"), *template = member(spec, "template");
    if (!cJSON_IsObject(spec))
        return;
    bool both_unset = !json_get(spec, "completions") && !json_get(spec, "parallelism");
    if (both_unset)
        json_set_int(spec, "completions", 1);
    number(spec, "parallelism", 1);
    number(spec, "backoffLimit", 6);
    text(spec, "completionMode", "NonIndexed");
    text(spec, "podReplacementPolicy", "TerminatingOrFailed");
    flag(spec, "suspend", false);
    flag(spec, "manualSelector", false);
    if (!cJSON_IsObject(template))
        return;
    pod_spec(member(template, "spec"));
    if (!old && !json_bool_or(spec, "manualSelector", false))
        own_selector(json);
    if (!json_bool_or(spec, "manualSelector", false))
        cJSON_DeleteItemFromObjectCaseSensitive(spec, "manualSelector");
}

static bool is_taken(const store *s, const char *address)
{
    AUTO_LIST all = store_list(s, KIND(SERVICES), NULL);
    for (size_t i = 0; i < all.n; i++)
        if (str_eq(json_path_str(all.items[i]->json, "spec.clusterIP"), address))
            return true;
    return false;
}

static char *free_address(const store *s)
{
    for (;;) {
        unsigned char r[2];
        random_bytes(r, sizeof r);
        char *address = str_fmt("10.96.%u.%u", r[0], r[1] % 254 + 1);
        if (!str_eq(address, "10.96.0.1") && !is_taken(s, address))
            return address;
        free(address);
    }
}

static void service(const store *s, cJSON *json, const cJSON *old)
{
    cJSON *spec = json_object_at(json, "spec"), *p;
    const char *before = json_path_str(old, "spec.clusterIP");
    text(spec, "type", "ClusterIP");
    text(spec, "sessionAffinity", "None");
    text(spec, "internalTrafficPolicy", "Cluster");
    text(spec, "ipFamilyPolicy", "SingleStack");
    if (!json_get(spec, "ipFamilies"))
        cJSON_AddItemToArray(json_array_at(spec, "ipFamilies"), cJSON_CreateString("IPv4"));
    if (!json_str(spec, "clusterIP") && !str_eq(json_str(spec, "type"), "ExternalName")) {
        AUTO_FREE char *address = before ? mem_strdup(before) : free_address(s);
        json_set_str(spec, "clusterIP", address);
    }
    const char *address = json_str(spec, "clusterIP");
    if (address && !json_get(spec, "clusterIPs"))
        cJSON_AddItemToArray(json_array_at(spec, "clusterIPs"), cJSON_CreateString(address));
    cJSON_ArrayForEach(p, json_get(spec, "ports"))
    {
        text(p, "protocol", "TCP");
        if (!json_get(p, "targetPort"))
            json_set_int(p, "targetPort", json_int_or(p, "port", 0));
    }
    if (!old)
        json_set(json_object_at(json, "status"), "loadBalancer", cJSON_CreateObject());
}

static void secret(cJSON *json)
{
    text(json, "type", "Opaque");
    const cJSON *v;
    cJSON_ArrayForEach(v, json_get(json, "stringData"))
    {
        AUTO_BUF b = {0};
        if (!cJSON_IsString(v))
            continue;
        base64_encode(&b, v->valuestring, strlen(v->valuestring));
        json_set_str(json_object_at(json, "data"), v->string, buf_cstr(&b));
    }
    cJSON_DeleteItemFromObjectCaseSensitive(json, "stringData");
}

static void namespace(cJSON *json, const cJSON *old)
{
    object_set_label(json, "kubernetes.io/metadata.name", object_name(json));
    cJSON *finalizers = json_array_at(json_object_at(json, "spec"), "finalizers");
    if (!cJSON_GetArraySize(finalizers))
        cJSON_AddItemToArray(finalizers, cJSON_CreateString("kubernetes"));
    if (!old)
        json_set_str(json_object_at(json, "status"), "phase", "Active");
}

// The size of a role, unless sparkConf sets it.
static void spark_role(cJSON *spec, const char *role)
{
    cJSON *r = member(spec, role);
    const cJSON *conf = json_get(spec, "sparkConf");
    AUTO_FREE char *cores = str_fmt("spark.%s.cores", role);
    AUTO_FREE char *memory = str_fmt("spark.%s.memory", role);
    if (!cJSON_IsObject(r))
        return;
    if (!json_get(conf, cores))
        number(r, "cores", 1);
    if (!json_get(conf, memory))
        text(r, "memory", "1g");
    if (str_eq(role, "executor") && !json_get(conf, "spark.executor.instances"))
        number(r, "instances", 1);
}

static void spark_spec(cJSON *spec)
{
    if (!cJSON_IsObject(spec))
        return;
    text(spec, "mode", "cluster");
    cJSON *restart = json_object_at(spec, "restartPolicy");
    text(restart, "type", "Never");
    if (!str_eq(json_str(restart, "type"), "Never")) {
        number(restart, "onFailureRetryInterval", 5);
        number(restart, "onSubmissionFailureRetryInterval", 5);
    }
    spark_role(spec, "driver");
    spark_role(spec, "executor");
}

static void scheduled(cJSON *spec)
{
    if (!cJSON_IsObject(spec))
        return;
    text(spec, "timeZone", "Local");
    number(spec, "successfulRunHistoryLimit", 1);
    number(spec, "failedRunHistoryLimit", 1);
    spark_spec(member(spec, "template"));
}

static void mpi_job(cJSON *spec)
{
    if (!cJSON_IsObject(spec))
        return;
    number(spec, "slotsPerWorker", 1);
    flag(spec, "runLauncherAsWorker", false);
    text(spec, "sshAuthMountPath", "/root/.ssh");
    text(spec, "launcherCreationPolicy", "AtStartup");
    text(spec, "mpiImplementation", "OpenMPI");
    cJSON *policy = json_object_at(spec, "runPolicy");
    text(policy, "cleanPodPolicy", "None");
    flag(policy, "suspend", false);
    cJSON *replica;
    cJSON_ArrayForEach(replica, json_get(spec, "mpiReplicaSpecs"))
    {
        bool launcher = str_eq(replica->string, "Launcher");
        text(replica, "restartPolicy", launcher ? "OnFailure" : "Never");
        number(replica, "replicas", launcher ? 1 : 0);
    }
}

void defaults_set(const store *s, const struct kind *k, cJSON *json, const cJSON *old)
{
    if (k == KIND(PODS))
        pod(json, old);
    else if (k == KIND(JOBS))
        job(json, old);
    else if (k == KIND(SERVICES))
        service(s, json, old);
    else if (k == KIND(SECRETS))
        secret(json);
    else if (k == KIND(NAMESPACES))
    namespace(json, old);
    else if (k == KIND(SPARKAPPLICATIONS)) spark_spec(member(json, "spec"));
    else if (k == KIND(SCHEDULEDSPARKAPPLICATIONS)) scheduled(member(json, "spec"));
    else if (k == KIND(MPIJOBS)) mpi_job(member(json, "spec"));
}
