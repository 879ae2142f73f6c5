// SPDX-License-Identifier: MIT
#include "k8s/sandbox/spark/sparkpod.h"

#include "base/data/quantity.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/store/object.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool spark_is_launcher(const cJSON *app)
{
    return str_eq(json_path_str(app, "spec.mainApplicationFile"), SPARK_LAUNCHER);
}

int64_t spark_executors(const cJSON *app)
{
    return json_int_or(json_path(app, "spec.executor"), "instances", 1);
}

char *spark_driver_name(const cJSON *app)
{
    const char *name = json_path_str(app, "spec.driver.podName");
    if (!name) // the key has dots, so no path can name it
        name = json_str(json_path(app, "spec.sparkConf"), "spark.kubernetes.driver.pod.name");
    return name ? mem_strdup(name) : str_fmt("%s-driver", object_name(app));
}

// As org.apache.spark.deploy.k8s.KubernetesConf.getResourceNamePrefix
static char *spark_executor_name(const cJSON *app, const char *name_hash, int64_t id)
{
    const char *name =
        json_str_or(json_path(app, "spec.sparkConf"), "spark.app.name", object_name(app));
    AUTO_BUF prefix = {0};
    for (; *name; name++) {
        char c = isalnum((unsigned char)*name) ? (char)tolower((unsigned char)*name) : '-';
        if (c != '-' || (prefix.len && prefix.data[prefix.len - 1] != '-'))
            buf_char(&prefix, c);
    }
    return str_fmt("%s-%s-exec-%lld", buf_cstr(&prefix), name_hash, (long long)id);
}

static void add_env(cJSON *env, const char *name, const char *value)
{
    cJSON *entry = cJSON_CreateObject();
    json_set_str(entry, "name", name);
    json_set_str(entry, "value", value);
    cJSON_AddItemToArray(env, entry);
}

static void add_env_from(
    cJSON *env, const char *name, const char *kind, const char *object, const char *key)
{
    cJSON *entry = cJSON_CreateObject();
    json_set_str(entry, "name", name);
    cJSON *ref = json_object_at(json_object_at(entry, "valueFrom"), kind);
    json_set_str(ref, "name", object);
    json_set_str(ref, "key", key);
    cJSON_AddItemToArray(env, entry);
}

static void add_env_int(cJSON *env, const char *name, int64_t value)
{
    AUTO_FREE char *text = str_fmt("%lld", (long long)value);
    add_env(env, name, text);
}

static void add_all(cJSON *list, const cJSON *items)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, items) cJSON_AddItemToArray(list, cJSON_Duplicate(item, true));
}

// Adds the variables of the application's author: envVars, envSecretKeyRefs, env.
static void add_user_env(cJSON *env, const cJSON *role)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, json_get(role, "envVars"))
        add_env(env, entry->string, entry->valuestring);
    cJSON_ArrayForEach(entry, json_get(role, "envSecretKeyRefs")) add_env_from(env, entry->string,
        "secretKeyRef", json_str_or(entry, "name", ""), json_str_or(entry, "key", ""));
    add_all(env, json_get(role, "env"));
}

// Memory with its overhead, in MiB: as in BasicDriverFeatureStep and BasicExecutorFeatureStep.
static int memory_mib(const cJSON *app, const cJSON *role, int64_t *mib, err *e)
{
    int64_t bytes, overhead;
    if (quantity_parse_jvm(json_str_or(role, "memory", "1g"), &bytes, e))
        return err_wrap(e, "memory");
    const char *fixed = json_str(role, "memoryOverhead");
    const char *factor = json_path_str(app, "spec.memoryOverheadFactor");
    const char *type = json_path_str(app, "spec.type");
    bool jvm = str_eq(type, "Java") || str_eq(type, "Scala");
    if (fixed) {
        if (quantity_parse_jvm(fixed, &overhead, e))
            return err_wrap(e, "memoryOverhead");
    } else {
        overhead = (int64_t)((double)bytes * (factor ? strtod(factor, NULL) : jvm ? 0.1 : 0.4));
        if (overhead < INT64_C(384) << 20)
            overhead = INT64_C(384) << 20;
    }
    *mib = (bytes >> 20) + (overhead >> 20);
    return 0;
}

static int set_resources(const cJSON *app, const cJSON *role, cJSON *container, err *e)
{
    int64_t mib = 0;
    if (memory_mib(app, role, &mib, e))
        return -1;
    cJSON *resources = json_object_at(container, "resources");
    cJSON *limits = json_object_at(resources, "limits");
    cJSON *requests = json_object_at(resources, "requests");
    AUTO_FREE char *memory = str_fmt("%lldMi", (long long)mib);
    AUTO_FREE char *cores = str_fmt("%lld", (long long)json_int_or(role, "cores", 1));
    json_set_str(limits, "cpu", json_str(role, "coreLimit"));
    json_set_str(limits, "memory", json_str_or(role, "memoryLimit", memory));
    json_set_str(requests, "cpu", json_str_or(role, "coreRequest", cores));
    json_set_str(requests, "memory", memory);
    const char *gpu = json_path_str(role, "gpu.name");
    int64_t quantity = json_int_or(json_get(role, "gpu"), "quantity", 0);
    if (gpu && *gpu && quantity > 0) { // otherwise skipped silently, as the operator does
        AUTO_FREE char *count = str_fmt("%lld", (long long)quantity);
        json_set_str(limits, gpu, count);
        json_set_str(requests, gpu, count);
    }
    return 0;
}

// spec.driver.configMaps and .secrets: adds a volume and a mount for each.
static void mount_objects(
    cJSON *spec, cJSON *container, const cJSON *list, const char *kind, const char *name_key)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, list)
    {
        const char *name = json_str_or(entry, "name", "");
        AUTO_FREE char *volume = str_fmt("%s-%s", name, str_eq(kind, "secret") ? "volume" : "vol");
        cJSON *v = cJSON_CreateObject(), *m = cJSON_CreateObject();
        json_set_str(v, "name", volume);
        json_set_str(json_object_at(v, kind), name_key, name);
        json_set_str(m, "name", volume);
        json_set_str(m, "mountPath", json_str_or(entry, "path", "/mnt"));
        cJSON_AddItemToArray(json_array_at(spec, "volumes"), v);
        cJSON_AddItemToArray(json_array_at(container, "volumeMounts"), m);
    }
}

static void copy_fields(cJSON *to, const cJSON *from, const char *const *names)
{
    for (; *names; names++)
        if (json_get(from, *names))
            json_set(to, *names, cJSON_Duplicate(json_get(from, *names), true));
}

static void set_metadata(cJSON *pod, const cJSON *app, const cJSON *role, const char *role_name,
    const struct spark_launch *l)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, json_get(role, "labels"))
        object_set_label(pod, entry->string, entry->valuestring);
    cJSON_ArrayForEach(entry, json_get(role, "annotations"))
        object_set_annotation(pod, entry->string, entry->valuestring);
    object_set_label(pod, "spark-role", role_name);
    object_set_label(pod, "spark-app-selector", l->app_selector);
    object_set_label(pod, "spark-app-name", object_name(app));
    object_set_label(pod, "spark-version", json_path_str(app, "spec.sparkVersion"));
    object_set_label(pod, "sparkoperator.k8s.io/app-name", object_name(app));
    object_set_label(pod, "sparkoperator.k8s.io/launched-by-spark-operator", "true");
    object_set_label(pod, "sparkoperator.k8s.io/mutated-by-spark-operator", "true");
    object_set_label(pod, "sparkoperator.k8s.io/submission-id", l->submission_id);
    object_set_annotation(
        pod, SPARK_MODE, spark_is_launcher(app) ? SPARK_MODE_PROCESSES : SPARK_MODE_SUBMIT);
}

// The common part of driver and executor.
static cJSON *new_pod(const cJSON *app, const char *name, const char *role_name, const cJSON *owner,
    const struct spark_launch *l, err *e)
{
    AUTO_FREE char *path = str_fmt("spec.%s", role_name);
    AUTO_FREE char *container_name = str_fmt("spark-kubernetes-%s", role_name);
    const cJSON *role = json_path(app, path), *spec_of_app = json_get(app, "spec");
    AUTO_JSON *pod = cJSON_CreateObject();
    json_set_str(pod, "apiVersion", "v1");
    json_set_str(pod, "kind", "Pod");
    cJSON *metadata = json_object_at(pod, "metadata");
    json_set_str(metadata, "name", name);
    json_set_str(metadata, "namespace", object_namespace(app));
    set_metadata(pod, app, role, role_name, l);
    object_set_controller(pod, owner);

    cJSON *spec = json_object_at(pod, "spec"), *container = cJSON_CreateObject();
    json_set_str(container, "name", container_name);
    json_set_str(
        container, "image", json_str_or(role, "image", json_str_or(spec_of_app, "image", "")));
    json_set_str(
        container, "imagePullPolicy", json_str_or(spec_of_app, "imagePullPolicy", "IfNotPresent"));
    json_set_str(container, "terminationMessagePath", "/dev/termination-log");
    json_set_str(container, "terminationMessagePolicy", "File");
    copy_fields(container, role,
        (const char *const[]){"envFrom", "volumeMounts", "securityContext", "lifecycle", NULL});
    cJSON *containers = json_array_at(spec, "containers");
    cJSON_AddItemToArray(containers, container);
    add_all(containers, json_get(role, "sidecars"));
    copy_fields(spec, spec_of_app, (const char *const[]){"volumes", "nodeSelector", NULL});
    copy_fields(spec, role,
        (const char *const[]){"initContainers", "nodeSelector", "tolerations", "affinity",
            "hostAliases", "hostNetwork", "dnsConfig", "shareProcessNamespace",
            "terminationGracePeriodSeconds", "priorityClassName", NULL});
    json_set_str(spec, "restartPolicy", "Never");
    json_set_str(spec, "serviceAccountName", json_str_or(role, "serviceAccount", "default"));
    mount_objects(spec, container, json_get(role, "configMaps"), "configMap", "name");
    mount_objects(spec, container, json_get(role, "secrets"), "secret", "secretName");
    if (set_resources(app, role, container, e))
        return NULL;

    cJSON *env = json_array_at(container, "env");
    add_env(env, "SPARK_APPLICATION_ID", l->app_selector);
    add_env(env, "SPARK_USER", "root");
    return STEAL(pod);
}

static cJSON *first_container(cJSON *pod)
{
    return cJSON_GetArrayItem(
        cJSON_GetObjectItemCaseSensitive(json_object_at(pod, "spec"), "containers"), 0);
}

static void add_word(cJSON *list, const char *word)
{
    cJSON_AddItemToArray(list, cJSON_CreateString(word));
}

static void add_option(cJSON *list, const char *option, const char *value)
{
    if (!value)
        return;
    add_word(list, option);
    add_word(list, value);
}

// For spark-submit --master local[*]: the whole application runs in the driver pod.
static void set_submit(cJSON *container, const cJSON *app, const struct spark_launch *l)
{
    const cJSON *spec = json_get(app, "spec"), *entry;
    cJSON *command = json_array_at(container, "command"), *args = json_array_at(container, "args");
    add_word(command, l->spark_submit);
    add_option(args, "--master", "local[*]");
    add_option(args, "--name", object_name(app));
    add_option(args, "--class", json_str(spec, "mainClass"));
    add_option(args, "--driver-memory", json_path_str(spec, "driver.memory"));
    cJSON_ArrayForEach(entry, json_get(spec, "sparkConf"))
    {
        AUTO_FREE char *conf = str_fmt("%s=%s", entry->string, entry->valuestring);
        add_option(args, "--conf", conf);
    }
    cJSON_ArrayForEach(entry, json_get(spec, "hadoopConf"))
    {
        AUTO_FREE char *conf = str_fmt("spark.hadoop.%s=%s", entry->string, entry->valuestring);
        add_option(args, "--conf", conf);
    }
    const char *main = json_str_or(spec, "mainApplicationFile", "");
    add_word(args, str_starts(main, "local://") ? main + strlen("local://") : main);
    add_all(args, json_get(spec, "arguments"));
}

cJSON *spark_driver_pod(const cJSON *app, const struct spark_launch *l, err *e)
{
    AUTO_FREE char *name = spark_driver_name(app);
    AUTO_JSON *pod = new_pod(app, name, "driver", app, l, e);
    if (!pod)
        return NULL;
    cJSON *container = first_container(pod), *env = json_array_at(container, "env");
    add_env_from(env, "SPARK_DRIVER_BIND_ADDRESS", "fieldRef", NULL, NULL);
    json_set_str(json_object_at(json_object_at(cJSON_GetArrayItem(env, cJSON_GetArraySize(env) - 1),
                                    "valueFrom"),
                     "fieldRef"),
        "fieldPath", "status.podIP");
    if (spark_is_launcher(app)) {
        add_word(json_array_at(container, "command"), l->worker);
        add_all(json_array_at(container, "args"), json_path(app, "spec.arguments"));
        add_env_int(env, "FIRESTEEL_EXECUTORS", spark_executors(app));
        add_env_int(env, "FIRESTEEL_EXECUTOR_CORES",
            json_int_or(json_path(app, "spec.executor"), "cores", 1));
        add_env(env, "FIRESTEEL_DRIVER_BIND", "127.0.0.1");
        add_env_int(env, "FIRESTEEL_DRIVER_PORT", l->port);
        add_env(env, "FIRESTEEL_EVENTS", "stdout");
        add_env_from(env, "FIRESTEEL_SECRET", "secretKeyRef", l->secret, "secret");
    } else {
        add_env(env, "SPARK_LOCAL_IP", "127.0.0.1"); // otherwise it would listen on the network
        set_submit(container, app, l);
    }
    add_user_env(env, json_path(app, "spec.driver"));
    return STEAL(pod);
}

cJSON *spark_executor_pod(
    const cJSON *app, const cJSON *driver, const struct spark_launch *l, int64_t id, err *e)
{
    AUTO_FREE char *name = spark_executor_name(app, l->name_hash, id);
    AUTO_JSON *pod = new_pod(app, name, "executor", driver, l, e);
    if (!pod)
        return NULL;
    AUTO_FREE char *number = str_fmt("%lld", (long long)id);
    AUTO_FREE char *address = str_fmt("127.0.0.1:%u", (unsigned)l->port);
    object_set_label(pod, "spark-exec-id", number);
    object_set_label(pod, "spark-exec-resourceprofile-id", "0");
    cJSON *container = first_container(pod), *env = json_array_at(container, "env");
    add_word(json_array_at(container, "command"), l->worker);
    add_option(json_array_at(container, "args"), "--executor", address);
    add_env(env, "SPARK_EXECUTOR_ID", number);
    add_env_int(
        env, "SPARK_EXECUTOR_CORES", json_int_or(json_path(app, "spec.executor"), "cores", 1));
    add_env_from(env, "FIRESTEEL_SECRET", "secretKeyRef", l->secret, "secret");
    add_user_env(env, json_path(app, "spec.executor"));
    return STEAL(pod);
}
