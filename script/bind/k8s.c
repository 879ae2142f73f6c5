// SPDX-License-Identifier: MIT
// The bindings of the Lua module k8s that change a cluster, and the table of all of them.
#include "script/bind/k8s.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/wait.h"
#include "k8s/manifest/manifest.h"
#include "script/bind/bindings.h"

#include <string.h>

// "create SparkApplication mnist in namespace default of context kind".
static void sentence(call *c, const char *verb, const char *kind, const char *name, const char *ns,
    struct about *about)
{
    client *k = bind_client(c, NULL);
    const kubeconfig *config = k ? client_config(k) : NULL;
    if (!ns && config)
        ns = config->namespace_;
    about->object = str_fmt("%s %s", kind ? kind : "an object", name ? name : "");
    about->what = str_fmt("%s %s%s%s%s%s", verb, about->object, ns ? " in namespace " : "",
        ns ? ns : "", config ? " of context " : "", config ? config->context : "");
    about->namespace_ = mem_strdup(ns);
    about->context = mem_strdup(config ? config->context : NULL);
}

static void about_object(call *c, const cJSON *args, const char *verb, struct about *about)
{
    const cJSON *o = json_get(args, "object");
    const char *name = json_path_str(o, "metadata.name");
    sentence(c, verb, json_str(o, "kind"), name ? name : json_path_str(o, "metadata.generateName"),
        json_path_str(o, "metadata.namespace"), about);
}

static void about_reference(call *c, const cJSON *args, const char *verb, struct about *about)
{
    sentence(c, verb, json_str(args, "kind"), json_str(args, "name"), json_str(args, "namespace"),
        about);
}

// What the object of a create or apply leads to: its kind, and a copy with our labels.
static int prepare(
    call *c, const cJSON *args, bool with_pods, struct target *t, cJSON **object, err *e)
{
    const cJSON *given = json_get(args, "object");
    AUTO_JSON *about = cJSON_CreateObject();
    json_set_str(about, "apiVersion", json_str(given, "apiVersion"));
    json_set_str(about, "kind", json_str(given, "kind"));
    if (k8s_target(c, about, false, t, e) != 0)
        return -1;
    const char *ns = json_path_str(given, "metadata.namespace");
    t->ns = ns ? ns : client_config(t->client)->namespace_;
    t->name = json_path_str(given, "metadata.name");
    *object = cJSON_Duplicate(given, 1);
    manifest_label(*object, call_run(c), with_pods);
    if (t->resource->namespaced)
        json_set_str(json_object_at(*object, "metadata"), "namespace", t->ns);
    return 0;
}

// What is about to be made, without a uid yet: should the answer to the request be lost, undo looks
// whether it is there and this run's.
static int announce(call *c, struct target *t, const cJSON *object, err *e)
{
    AUTO_JSON *intended = k8s_reference(t, object, e);
    if (!intended)
        return -1;
    if (t->name)
        call_ledger_partial(c, intended);
    return 0;
}

// The server has said no, for certain: nothing of it is left anywhere.
static void take_back(call *c, const err *e)
{
    if (e->code == ERR_UNAVAILABLE || e->code == ERR_TIMEOUT || e->code == ERR_CANCELLED)
        return;
    AUTO_JSON *nothing = cJSON_CreateNull();
    call_ledger_partial(c, nothing);
}

static int create(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    AUTO_JSON *object = NULL;
    if (prepare(c, args, true, &t, &object, e) != 0 || announce(c, &t, object, e) != 0)
        return -1;
    err why = {0};
    AUTO_JSON *made = client_create(t.client, &t.patience, t.resource, object, false, &why);
    if (!made) {
        take_back(c, &why);
        return err_set(e, why.code, "%s", why.text);
    }
    *result = k8s_reference(&t, made, e);
    return *result ? 0 : -1;
}

static int apply(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    AUTO_JSON *object = NULL;
    if (prepare(c, args, false, &t, &object, e) != 0 || !client_identity(t.client, &t.patience, e))
        return -1;
    err why = {0};
    AUTO_JSON *before =
        t.name ? client_get(t.client, &t.patience, t.resource, t.ns, t.name, &why) : NULL;
    AUTO_JSON *made = client_apply(
        t.client, &t.patience, t.resource, object, json_bool_or(args, "force", false), false, e);
    if (!made)
        return -1;
    *result = k8s_reference(&t, made, e);
    if (!*result)
        return -1;
    json_set_bool(*result, "created", !before && why.code == ERR_NOT_FOUND);
    return 0;
}

static bool is_ours(call *c, const cJSON *object)
{
    AUTO_FREE char *run = manifest_label_value(call_run(c));
    const cJSON *labels = json_get(json_get(object, "metadata"), "labels");
    return str_eq(json_str(labels, LABEL_RUN), run);
}

// There, and the same one? Without a record: there, and labelled as this run's?
static int verify_object(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    struct target t;
    AUTO_JSON *object = NULL;
    if (prepare(c, args, false, &t, &object, e) != 0 ||
        (recorded && k8s_same_cluster(&t, recorded, e) != 0))
        return -1;
    const char *name = recorded ? json_str(recorded, "name") : t.name;
    if (!name)
        return 0; // generateName, and no record of what it became
    err why = {0};
    AUTO_JSON *there = client_get(t.client, &t.patience, t.resource, t.ns, name, &why);
    if (!there)
        return why.code == ERR_NOT_FOUND ? 0 : err_set(e, why.code, "%s", why.text);
    if (recorded)
        return str_eq(json_path_str(there, "metadata.uid"), json_str(recorded, "uid")) &&
               !json_path_str(there, "metadata.deletionTimestamp");
    if (!is_ours(c, there))
        return 0;
    *result = k8s_reference(&t, there, e);
    return *result ? 1 : -1;
}

static int remove_object(struct target *t, const char *propagation, int grace, err *e)
{
    err why = {0};
    if (client_delete(t->client, &t->patience, t->resource, t->ns, t->name,
            &(struct delete_options){
                .uid = t->uid, .propagation = propagation, .grace_seconds = grace},
            &why) == 0 ||
        why.code == ERR_NOT_FOUND)
        return 0;
    return err_set(e, why.code, "%s", why.text);
}

static int undo_create(call *c, const cJSON *recorded, err *e)
{
    struct target t;
    err why = {0};
    AUTO_JSON *there = NULL;
    if (k8s_target(c, recorded, true, &t, e) != 0 || k8s_same_cluster(&t, recorded, e) != 0)
        return -1;
    if (!t.uid) { // an intent whose outcome nobody heard
        there = client_get(t.client, &t.patience, t.resource, t.ns, t.name, &why);
        if (!there && why.code != ERR_NOT_FOUND)
            return err_set(e, why.code, "%s", why.text);
        if (!there || !is_ours(c, there))
            return 0;
        t.uid = json_path_str(there, "metadata.uid");
    }
    if (remove_object(&t, NULL, -1, &why) == 0 || why.code == ERR_CONFLICT)
        return 0; // CONFLICT: another one has the name by now; ours is gone
    return err_set(e, why.code, "%s", why.text);
}

// What was there before the apply stays: we did not make it.
static int undo_apply(call *c, const cJSON *recorded, err *e)
{
    return json_bool_or(recorded, "created", false) ? undo_create(c, recorded, e) : 0;
}

static int patch(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    AUTO_JSON *made =
        client_patch(t.client, &t.patience, t.resource, t.ns, t.name, json_str(args, "subresource"),
            json_str_or(args, "type", "merge"), json_get(args, "patch"), e);
    if (!made)
        return -1;
    AUTO_JSON *ref = k8s_reference(&t, made, e);
    if (!ref)
        return -1;
    *result = cJSON_CreateObject(); // not at the top: the patch did not make it
    json_set(*result, "object", STEAL(ref));
    return 0;
}

static int gone(void *arg, const cJSON *object, err *e)
{
    return !object;
}

static int delete (call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    if (k8s_target(c, args, true, &t, e) != 0 ||
        (json_get(args, "cluster") && k8s_same_cluster(&t, args, e) != 0))
        return -1;
    AUTO_JSON *there = client_get(t.client, &t.patience, t.resource, t.ns, t.name, e);
    if (!there)
        return -1;
    AUTO_JSON *ref = k8s_reference(&t, there, e);
    if (!ref)
        return -1;
    if (!t.uid)
        t.uid = json_str(ref, "uid");
    int grace = (int)json_int_or(args, "grace", -1);
    if (remove_object(&t, json_str(args, "propagation"), grace, e) != 0)
        return -1;
    call_ledger_gone(c, t.uid);
    *result = cJSON_CreateObject();
    if (json_bool_or(args, "wait", true)) {
        struct wait_spec spec = {.resource = t.resource,
            .ns = t.resource->namespaced ? t.ns : NULL,
            .name = t.name,
            .uid = t.uid,
            .judge = gone};
        if (k8s_deadline(c, args, &t.patience, e) != 0 ||
            wait_for(t.client, &t.patience, &spec, NULL, e) != 0) {
            cJSON_Delete(STEAL(*result));
            return -1;
        }
    }
    json_set(*result, "deleted", STEAL(ref));
    return 0;
}

static int verify_delete(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    struct target t;
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    const cJSON *ref = json_get(recorded, "deleted");
    if (ref && k8s_same_cluster(&t, ref, e) != 0)
        return -1;
    const char *uid = ref ? json_str(ref, "uid") : t.uid;
    err why = {0};
    AUTO_JSON *there = client_get(t.client, &t.patience, t.resource, t.ns, t.name, &why);
    if (there)
        return uid && !str_eq(json_path_str(there, "metadata.uid"), uid);
    return why.code == ERR_NOT_FOUND ? 1 : err_set(e, why.code, "%s", why.text);
}

static void about_create(call *c, const cJSON *args, struct about *about)
{
    about_object(c, args, "create", about);
}

static void about_apply(call *c, const cJSON *args, struct about *about)
{
    about_object(c, args, "apply", about);
}

static void about_patch(call *c, const cJSON *args, struct about *about)
{
    about_reference(c, args, "patch", about);
}

static void about_delete(call *c, const cJSON *args, struct about *about)
{
    about_reference(c, args, "delete", about);
}

const struct binding k8s_bindings[] = {
    {.name = "k8s.manifest", .effect = EFFECT_PURE, .start = k8s_manifest},
    {.name = "k8s.check", .effect = EFFECT_PURE, .start = k8s_check},
    {.name = "k8s.create",
        .effect = EFFECT_CLUSTER,
        .start = create,
        .verify = verify_object,
        .undo = undo_create,
        .describe = about_create},
    {.name = "k8s.apply",
        .effect = EFFECT_CLUSTER,
        .start = apply,
        .verify = verify_object,
        .undo = undo_apply,
        .describe = about_apply},
    {.name = "k8s.patch", .effect = EFFECT_CLUSTER, .start = patch, .describe = about_patch},
    {.name = "k8s.delete",
        .effect = EFFECT_DESTRUCTIVE,
        .start = delete,
        .verify = verify_delete,
        .describe = about_delete},
    {.name = "k8s.get", .effect = EFFECT_PURE, .start = k8s_get},
    {.name = "k8s.list", .effect = EFFECT_PURE, .start = k8s_list},
    {.name = "k8s.state", .effect = EFFECT_PURE, .start = k8s_state},
    {.name = "k8s.events", .effect = EFFECT_PURE, .start = k8s_events},
    {.name = "k8s.describe", .effect = EFFECT_PURE, .start = k8s_describe},
    {.name = "k8s.can_i", .effect = EFFECT_PURE, .start = k8s_can_i},
    {.name = "k8s.version", .effect = EFFECT_PURE, .start = k8s_version},
    {.name = "k8s.kinds", .effect = EFFECT_PURE, .start = k8s_kinds},
    {.name = "k8s.yaml", .effect = EFFECT_PURE, .start = k8s_yaml},
    {.name = "k8s.wait", .effect = EFFECT_PURE, .start = k8s_wait},
    {.name = "k8s.reach", .effect = EFFECT_PURE, .start = k8s_reach},
    {.name = "k8s.logs", .effect = EFFECT_PURE, .start = k8s_logs},
    {.name = "k8s.watch", .effect = EFFECT_PURE, .start = k8s_watch},
    {0},
};

// What is done to rows of objects, by a key.
const struct display_action k8s_actions[] = {
    {"describe", "k8s.describe", NULL},
    {"yaml", "k8s.yaml", NULL},
    {"logs", "k8s.logs", "{\"follow\":true,\"all_containers\":true,\"own\":true}"},
    {"delete", "k8s.delete", "{\"wait\":false}"},
    {0},
};
