// SPDX-License-Identifier: MIT
#include "script/api/spark/k8s.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/manifest/manifest.h"

#include <string.h>

#define SELECTOR "spark-app-selector"

enum { STEM = 40 };
static const int64_t GONE_IN = 5 * CLOCK_SEC; // for executors, after their driver

static int target_pods(call *c, const char *ns, struct target *t, err *e)
{
    AUTO_JSON *about = cJSON_CreateObject();
    json_set_str(about, "apiVersion", "v1");
    json_set_str(about, "kind", "Pod");
    if (k8s_target(c, about, false, t, e) != 0)
        return -1;
    t->ns = ns ? ns : client_config(t->client)->namespace_;
    return 0;
}

// A selector of the pods that this call makes.
static char *labels_of(call *c)
{
    AUTO_FREE char *run = manifest_label_value(call_run(c));
    return str_fmt(LABEL_RUN "=%s," LABEL_ENTRY "=%s", run, call_mark(c));
}

// A pod's name may have small letters, digits and hyphens: "my_App" → "my-app-1a2b3c4d-driver".
static char *driver_name(call *c, const char *stem)
{
    char hex[SHA256_HEX];
    const char *mark = call_mark(c);
    AUTO_BUF name = {0};
    for (const char *s = stem; *s && name.len < STEM; s++) {
        bool upper = *s >= 'A' && *s <= 'Z';
        bool good = (*s >= 'a' && *s <= 'z') || (*s >= '0' && *s <= '9');
        if (upper || good || name.len)
            buf_char(&name, upper ? (char)(*s + 'a' - 'A') : good ? *s : '-');
    }
    sha256_hex(mark, strlen(mark), hex);
    return str_fmt("%s-%.8s-driver", name.len ? buf_cstr(&name) : "spark", hex);
}

// The address in "k8s://https://host:6443" as spark-submit reads it: https is the default.
static bool is_server(const char *url, const char *server)
{
    AUTO_FREE char *whole = strstr(url, "://") ? mem_strdup(url) : str_fmt("https://%s", url);
    size_t a = strlen(whole), b = strlen(server);
    while (a && whole[a - 1] == '/')
        a--;
    while (b && server[b - 1] == '/')
        b--;
    return a == b && memcmp(whole, server, a) == 0;
}

static int check_master(const struct spark_k8s *k, const char *master, err *e)
{
    const kubeconfig *config = client_config(k->pods.client);
    const char *url = str_starts(master, "k8s://") ? master + strlen("k8s://") : "";
    if (!*url || is_server(url, config->server))
        return 0;
    return err_set(e, ERR_USAGE,
        "spark.submit: the master %s is not the cluster of context %s, %s: choose its context "
        "(--context), or write master = \"k8s\", which is the chosen one",
        master, config->context ? config->context : "", config->server);
}

int spark_k8s_open(struct spark_k8s *k, call *c, const char *master, const cJSON *conf,
    const char *stem, bool has_driver, err *e)
{
    *k = (struct spark_k8s){.call = c, .has_driver = has_driver};
    if (target_pods(c, json_str(conf, "spark.kubernetes.namespace"), &k->pods, e) != 0 ||
        check_master(k, master, e) != 0)
        return -1;
    k->ns = mem_strdup(k->pods.ns);
    k->pods.ns = k->ns;
    k->labels = labels_of(c);
    k->driver_labels = str_fmt("%s,spark-role=driver", k->labels);
    k->server = mem_strdup(client_config(k->pods.client)->server);
    const char *given = json_str(conf, "spark.kubernetes.driver.pod.name");
    if (has_driver)
        k->driver = given ? mem_strdup(given) : driver_name(c, stem);
    return 0;
}

int spark_k8s_announce(struct spark_k8s *k, err *e)
{
    const cJSON *identity = client_identity(k->pods.client, &k->pods.patience, e);
    if (!identity)
        return -1;
    AUTO_JSON *made = cJSON_CreateObject();
    json_set_str(made, "kind", "Spark application");
    json_set_str(made, "name", k->driver);
    json_set_str(made, "namespace", k->ns);
    json_set(made, "cluster", cJSON_Duplicate(identity, true));
    k8s_meter_run(k->call, &k->pods, k->ns);
    return call_ledger_partial(k->call, made, e);
}

void spark_k8s_done(struct spark_k8s *k)
{
    spark_k8s_leave(k);
    free(k->ns);
    free(k->labels);
    free(k->driver_labels);
    free(k->server);
    free(k->driver);
    buf_done(&k->why);
}

char *spark_k8s_master(const struct spark_k8s *k)
{
    return str_fmt("k8s://%s", k->server);
}

static void set_if_missing(cJSON *conf, const char *name, const char *value)
{
    if (value && !json_get(conf, name))
        json_set_str(conf, name, value);
}

void spark_k8s_settings(const struct spark_k8s *k, cJSON *conf)
{
    static const char *const roles[] = {"driver", "executor"};
    AUTO_FREE char *run = manifest_label_value(call_run(k->call));
    const struct {
        const char *key, *value;
    } labels[] = {{"app.kubernetes.io/managed-by", "firesteel"}, {LABEL_RUN, run},
        {LABEL_ENTRY, call_mark(k->call)}};
    set_if_missing(conf, "spark.kubernetes.namespace", k->ns);
    set_if_missing(conf, "spark.kubernetes.context", client_config(k->pods.client)->context);
    if (k->has_driver)
        set_if_missing(conf, "spark.kubernetes.driver.pod.name", k->driver);
    for (size_t r = 0; r < ARRAY_LEN(roles); r++)
        for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
            AUTO_FREE char *name = str_fmt("spark.kubernetes.%s.label.%s", roles[r], labels[i].key);
            json_set_str(conf, name, labels[i].value); // by these they are found again
        }
}

// ---- the driver's log

static void on_line(void *arg, enum log_kind kind, const char *text, size_t n)
{
    struct spark_k8s *k = arg;
    k->line(k->arg, text, n);
}

static void on_done(void *arg, const err *e)
{
    struct spark_k8s *k = arg;
    k->tail = NULL;
    k->tail_error = *e;
    k->log_ended = true;
    if (k->waiting)
        loop_call_finish(STEAL(k->waiting));
}

static const struct tail_ops tail_callbacks = {.line = on_line, .done = on_done};

static void follow(loop_pending *pending, void *arg)
{
    struct spark_k8s *k = arg;
    err e = {0};
    k->tail = tail_open(k->pods.client,
        &(struct tail_spec){.ns = k->ns, .labels = k->driver_labels, .follow = true, .tail = -1},
        &tail_callbacks, k, &e);
    if (!k->tail)
        on_done(k, &e);
    loop_call_finish(pending);
}

static void cannot_cancel(loop_pending *pending, void *arg)
{
}

void spark_k8s_follow(struct spark_k8s *k)
{
    static const struct loop_call_ops ops = {.start = follow, .cancel = cannot_cancel};
    loop_call(call_loop(k->call), NULL, &ops, k, 0, NULL);
}

static void await(loop_pending *pending, void *arg)
{
    struct spark_k8s *k = arg;
    if (k->log_ended || !k->tail) {
        loop_call_finish(pending);
        return;
    }
    k->waiting = pending;
    tail_finish(k->tail);
}

static void give_up(loop_pending *pending, void *arg)
{
    struct spark_k8s *k = arg;
    tail_close(STEAL(k->tail));
    loop_call_finish(STEAL(k->waiting));
}

int spark_k8s_wait(struct spark_k8s *k, err *e)
{
    static const struct loop_call_ops ops = {.start = await, .cancel = give_up};
    return loop_call(call_loop(k->call), call_canceller(k->call), &ops, k, 0, e);
}

static void leave(loop_pending *pending, void *arg)
{
    struct spark_k8s *k = arg;
    tail_close(STEAL(k->tail));
    loop_call_finish(pending);
}

void spark_k8s_leave(struct spark_k8s *k)
{
    static const struct loop_call_ops ops = {.start = leave, .cancel = cannot_cancel};
    if (k->tail)
        loop_call(call_loop(k->call), NULL, &ops, k, 0, NULL);
}

// ---- its pods

static cJSON *ask_pods(struct spark_k8s *k, const struct patience *p)
{
    return k8s_items(
        &k->pods, p, "v1", "Pod", k->ns, &(struct list_query){.labels = k->labels}, NULL);
}

static bool is_driver(const cJSON *pod)
{
    const cJSON *labels = json_path(pod, "metadata.labels");
    return str_eq(json_str(labels, "spark-role"), "driver");
}

void spark_k8s_look(struct spark_k8s *k)
{
    struct patience quick = k8s_quick(&k->pods);
    AUTO_JSON *pods = ask_pods(k, &quick);
    cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        struct why why = {0};
        struct target t = k->pods;
        json_set_str(pod, "kind", "Pod"); // items of a list do not say it
        t.name = json_path_str(pod, "metadata.name");
        bool found = k8s_find_why(&t, pod, &why);
        bool is_new = found && !str_eq(buf_cstr(&why.what), buf_cstr(&k->why));
        if (is_new) {
            AUTO_BUF text = {0};
            k8s_say_why(&why, &text);
            call_output(k->call, "stderr", text.data, text.len);
            buf_clear(&k->why);
            buf_str(&k->why, buf_cstr(&why.what));
        }
        why_done(&why);
        if (found)
            return;
    }
}

cJSON *spark_k8s_driver(struct spark_k8s *k)
{
    AUTO_JSON *pods = ask_pods(k, &k->pods.patience);
    cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        if (is_driver(pod)) {
            json_set_str(pod, "kind", "Pod");
            return cJSON_DetachItemViaPointer(pods, pod);
        }
    }
    return NULL;
}

static int remove_one(struct target *t, const struct patience *p, const struct resource *r,
    const cJSON *object, err *e)
{
    err why = {0};
    if (client_delete(t->client, p, r, json_path_str(object, "metadata.namespace"),
            json_path_str(object, "metadata.name"),
            &(struct delete_options){
                .uid = json_path_str(object, "metadata.uid"), .grace_seconds = -1},
            &why) == 0 ||
        why.code == ERR_NOT_FOUND || why.code == ERR_CONFLICT)
        return 0;
    return err_set(e, why.code, "%s", why.text);
}

// A driver here makes configuration for its executors that no pod owns.
static void remove_settings(struct target *t, const struct patience *p, const cJSON *pod)
{
    const char *id = json_str(json_path(pod, "metadata.labels"), SELECTOR);
    const struct resource *r = client_resource_of(t->client, p, "v1", "ConfigMap", NULL);
    if (!id || !r)
        return;
    AUTO_FREE char *labels = str_fmt(SELECTOR "=%s", id);
    AUTO_JSON *maps = k8s_items(t, p, "v1", "ConfigMap", json_path_str(pod, "metadata.namespace"),
        &(struct list_query){.labels = labels}, NULL);
    const cJSON *map;
    cJSON_ArrayForEach(map, maps)
    {
        remove_one(t, p, r, map, NULL);
    }
}

// Drivers first: they own their executors, and would ask for others.
static int remove_pods(struct target *t, const struct patience *p, const cJSON *pods, err *e)
{
    const cJSON *pod, *any = pods ? pods->child : NULL;
    for (int executors = 0; executors < 2; executors++)
        cJSON_ArrayForEach(pod, pods)
        {
            if (is_driver(pod) != executors && remove_one(t, p, t->resource, pod, e) != 0)
                return -1;
        }
    if (any)
        remove_settings(t, p, any);
    return 0;
}

int spark_k8s_kill(struct spark_k8s *k, err *e)
{
    struct patience own = {.deadline = clock_mono() + 15 * CLOCK_SEC, .retry_ns = 5 * CLOCK_SEC};
    AUTO_JSON *list = client_list(k->pods.client, &own, k->pods.resource, k->ns,
        &(struct list_query){.labels = k->labels}, e);
    if (!list || remove_pods(&k->pods, &own, json_get(list, "items"), e) != 0)
        return -1;
    return cJSON_GetArraySize(json_get(list, "items"));
}

// Pods that are being deleted do not count: they end by themselves.
static bool has_pods(struct spark_k8s *k, const struct patience *p)
{
    err e = {0};
    AUTO_JSON *list = client_list(
        k->pods.client, p, k->pods.resource, k->ns, &(struct list_query){.labels = k->labels}, &e);
    const cJSON *pod;
    cJSON_ArrayForEach(pod, json_get(list, "items"))
    {
        if (!json_path(pod, "metadata.deletionTimestamp"))
            return true;
    }
    return !list;
}

bool spark_k8s_is_gone(struct spark_k8s *k)
{
    struct patience own = {.deadline = clock_mono() + GONE_IN, .retry_ns = CLOCK_SEC};
    while (has_pods(k, &own))
        if (clock_mono() >= own.deadline ||
            canceller_sleep(call_canceller(k->call), GONE_IN / 20, NULL) != 0)
            return false;
    return true;
}

int spark_k8s_find(call *c, const cJSON *recorded, struct remains *out, err *e)
{
    struct target t;
    if (!json_get(recorded, "cluster")) { // of another kind of cluster
        out->text = mem_strdup("ended with its spark-submit");
        return 0;
    }
    if (target_pods(c, json_str(recorded, "namespace"), &t, e) != 0 ||
        k8s_same_cluster(&t, recorded, e) != 0)
        return -1;
    AUTO_FREE char *labels = labels_of(c);
    AUTO_JSON *list = client_list(
        t.client, &t.patience, t.resource, t.ns, &(struct list_query){.labels = labels}, e);
    if (!list)
        return -1;
    cJSON *pods = cJSON_DetachItemFromObjectCaseSensitive(list, "items");
    int n = cJSON_GetArraySize(pods);
    if (n == 0) {
        cJSON_Delete(pods);
        out->text = mem_strdup("was not there");
        return 0;
    }
    out->found = cJSON_CreateObject();
    cJSON *refs = json_array_at(out->found, "pods"), *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        cJSON *ref = cJSON_CreateObject(), *m = json_object_at(ref, "metadata");
        static const char *const fields[] = {"name", "namespace", "uid", "labels"};
        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
            json_set(m, fields[i],
                cJSON_Duplicate(json_get(json_get(pod, "metadata"), fields[i]), true));
        cJSON_AddItemToArray(refs, ref);
    }
    out->text = str_fmt("%d %s of the Spark application %s in namespace %s", n,
        n == 1 ? "pod" : "pods", json_str_or(recorded, "name", ""), t.ns);
    cJSON_Delete(pods);
    return 0;
}

int spark_k8s_undo(call *c, const cJSON *found, err *e)
{
    struct target t;
    if (target_pods(c, NULL, &t, e) != 0)
        return -1;
    return remove_pods(&t, &t.patience, json_get(found, "pods"), e);
}
