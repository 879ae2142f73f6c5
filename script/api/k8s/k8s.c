// SPDX-License-Identifier: MIT
// The bindings of the Lua module k8s that change a cluster, and the table of all of them.
#include "script/api/k8s/k8s.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/watch/wait.h"
#include "k8s/manifest/manifest.h"
#include "k8s/manifest/restricted.h"
#include "script/api/bindings.h"

#include <string.h>

// Without asking the server; of a kind that was not looked for yet only the usual ones are known.
static bool is_cluster_wide(client *k, const char *version, const char *kind)
{
    static const char *const wide[] = {"ClusterRole", "ClusterRoleBinding",
        "CustomResourceDefinition", "Namespace", "Node", "PersistentVolume", "PriorityClass",
        "StorageClass"};
    const struct resource *known = version && kind ? client_known(k, version, kind) : NULL;
    if (known)
        return !known->namespaced;
    for (size_t i = 0; i < ARRAY_LEN(wide); i++)
        if (str_eq(kind, wide[i]))
            return true;
    return false;
}

// "create SparkApplication mnist in namespace default of context kind".
static void sentence(call *c, const char *context, const char *verb, const cJSON *type,
    const char *name, const char *ns, const char *more, struct about *about)
{
    client *k = bind_client_of(c, context, NULL);
    const kubeconfig *config = k ? client_config(k) : NULL;
    const char *kind = json_str(type, "kind");
    if (k && is_cluster_wide(k, json_str(type, "apiVersion"), kind))
        ns = NULL;
    else if (!ns && config)
        ns = config->namespace_;
    about->object = str_fmt("%s %s", kind ? kind : "an object", name ? name : "");
    about->what = str_fmt("%s %s%s%s%s%s%s", verb, about->object, more, ns ? " in namespace " : "",
        ns ? ns : "", config ? " of context " : "", config ? config->context : "");
    about->namespace_ = mem_strdup(ns);
    about->context = mem_strdup(config ? config->context : NULL);
}

static void about_object(call *c, const cJSON *args, const char *verb, struct about *about)
{
    const cJSON *o = json_get(args, "object");
    const char *name = json_path_str(o, "metadata.name");
    sentence(c, json_str(args, "context"), verb, o,
        name ? name : json_path_str(o, "metadata.generateName"),
        json_path_str(o, "metadata.namespace"), "", about);
}

void k8s_about_call(
    call *c, const cJSON *args, const char *verb, const char *more, struct about *about)
{
    sentence(c, json_str(args, "context"), verb, args, json_str(args, "name"),
        json_str(args, "namespace"), more, about);
}

// Prepares the object of a create or apply: finds its kind, and makes a copy with our labels.
static int prepare(
    call *c, const cJSON *args, bool with_pods, struct target *t, cJSON **object, err *e)
{
    const cJSON *given = json_get(args, "object");
    AUTO_JSON *about = cJSON_CreateObject();
    json_set_str(about, "apiVersion", json_str(given, "apiVersion"));
    json_set_str(about, "kind", json_str(given, "kind"));
    json_set_str(about, "context", json_str(args, "context"));
    if (k8s_target(c, about, false, t, e) != 0)
        return -1;
    t->context = t->context ? json_str(args, "context") : NULL; // `about` goes
    const char *ns = json_path_str(given, "metadata.namespace");
    t->ns = ns ? ns : client_config(t->client)->namespace_;
    *object = cJSON_Duplicate(given, 1);
    manifest_label(*object, call_run(c), with_pods);
    cJSON *m = json_object_at(*object, "metadata");
    k8s_mark(c, m);
    if (t->resource->namespaced)
        json_set_str(m, "namespace", t->ns);
    if (json_bool_or(args, "ours", false) && k8s_is_restricted(t, t->ns))
        manifest_restrict(*object);
    t->name = json_str(m, "name");
    return 0;
}

// Announces what will be requested, still without a uid: if the answer is lost, the object is
// looked for.
static int announce(call *c, struct target *t, const cJSON *object, int created, err *e)
{
    AUTO_JSON *intended = k8s_reference(t, object, e);
    if (!intended)
        return -1;
    if (created >= 0)
        json_set_bool(intended, "created", created);
    return call_ledger_partial(c, intended, e);
}

// Was certainly nothing made? The server asks webhooks before it stores anything.
static bool is_certain(const err *why)
{
    static const err_code certain[] = {ERR_INVALID, ERR_UNAUTHORIZED, ERR_FORBIDDEN, ERR_NOT_FOUND,
        ERR_CONFLICT, ERR_EXISTS, ERR_GONE};
    for (size_t i = 0; i < ARRAY_LEN(certain); i++)
        if (why->code == certain[i])
            return true;
    return strstr(why->text, "failed calling webhook") != NULL;
}

// The announcement is taken back when nothing was made.
static int refused(call *c, const err *why, err *e)
{
    if (is_certain(why)) {
        AUTO_JSON *nothing = cJSON_CreateNull();
        call_ledger_partial(c, nothing, NULL);
    }
    // The words of Go's decoder, for what Lua cannot tell apart.
    bool list =
        strstr(why->text, "cannot unmarshal object into Go") && strstr(why->text, "of type []");
    return err_set(e, why->code, "%s%s", why->text,
        list ? ": an empty list is firesteel.array{}, as {} is an object" : "");
}

// The request may have been sent twice, or an earlier kernel ended while it was under way. Then the
// object exists, and it is the very one we want.
static cJSON *made_already(call *c, struct target *t, const err *why)
{
    cJSON *there = why->code == ERR_EXISTS
                       ? client_get(t->client, &t->patience, t->resource, t->ns, t->name, NULL)
                       : NULL;
    if (there && k8s_is_marked(c, there) && !json_path_str(there, "metadata.deletionTimestamp"))
        return there;
    cJSON_Delete(there);
    return NULL;
}

static int create(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    AUTO_JSON *object = NULL;
    if (prepare(c, args, true, &t, &object, e) != 0)
        return -1;
    if (!t.name)
        t.name = k8s_name(c, json_object_at(object, "metadata"));
    if (announce(c, &t, object, -1, e) != 0)
        return -1;
    err why = {0};
    AUTO_JSON *made = client_create(t.client, &t.patience, t.resource, object, false, &why);
    if (!made)
        made = made_already(c, &t, &why);
    if (!made)
        return refused(c, &why, e);
    k8s_meter(c, &t, made);
    *result = k8s_reference(&t, made, e);
    return *result ? 0 : -1;
}

static int apply(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    AUTO_JSON *object = NULL;
    if (prepare(c, args, false, &t, &object, e) != 0 || !client_identity(t.client, &t.patience, e))
        return -1;
    if (!t.name)
        return err_set(e, ERR_USAGE,
            "k8s.apply: a %s needs metadata.name; k8s.create takes generateName", t.resource->kind);
    err why = {0};
    AUTO_JSON *before = client_get(t.client, &t.patience, t.resource, t.ns, t.name, &why);
    if (!before && why.code != ERR_NOT_FOUND)
        return err_set(e, why.code, "%s", why.text);
    if (before) // its marks tell whose it is
        k8s_keep_marks(before, json_object_at(object, "metadata"));
    if (announce(c, &t, object, !before, e) != 0)
        return -1;
    AUTO_JSON *made = client_apply(
        t.client, &t.patience, t.resource, object, json_bool_or(args, "force", false), false, &why);
    if (!made)
        return refused(c, &why, e);
    k8s_meter(c, &t, made);
    *result = k8s_reference(&t, made, e);
    if (!*result)
        return -1;
    json_set_bool(*result, "created", !before);
    return 0;
}

static int compare(call *c, struct target *t, const cJSON *manifest, const cJSON *there, err *e)
{
    AUTO_JSON *own = k8s_own_changes(c, json_path_str(there, "metadata.uid"));
    AUTO_JSON *fields = own ? k8s_differences(t, manifest, there, e) : NULL;
    if (own && !fields)
        return -1;
    AUTO_JSON *said = own ? k8s_moved_by_others(own, fields) : NULL;
    return said ? call_drift(c, said, e) : 0;
}

// Does the object exist, is it the same one, and is it as the manifest says?
static int verify_object(
    call *c, const cJSON *args, bool with_pods, const cJSON *recorded, cJSON **result, err *e)
{
    struct target t;
    AUTO_JSON *object = NULL;
    if (prepare(c, args, with_pods, &t, &object, e) != 0)
        return -1;
    AUTO_JSON *there = NULL;
    if (k8s_look(c, &t, recorded, &there, NULL, e) != 0)
        return -1;
    if (!there || json_path_str(there, "metadata.deletionTimestamp"))
        return VERDICT_NO;
    if (compare(c, &t, object, there, e) != 0)
        return -1;
    *result = k8s_reference(&t, there, e);
    if (*result && json_get(recorded, "created"))
        json_set_bool(*result, "created", json_bool_or(recorded, "created", false));
    return *result ? VERDICT_YES : -1;
}

static int verify_create(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    return verify_object(c, args, true, recorded, result, e);
}

static int verify_apply(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    return verify_object(c, args, false, recorded, result, e);
}

// Appends the values that the keys of a manifest's map have in the object.
static void add_map(buf *out, const char *map, const cJSON *manifest, const cJSON *there)
{
    const cJSON *has = json_get(json_get(there, "metadata"), map), *asked;
    cJSON_ArrayForEach(asked, json_get(json_get(manifest, "metadata"), map))
        buf_fmt(out, " %s=%s", asked->string, json_str_or(has, asked->string, ""));
}

// What of an object a manifest may differ from: its spec is known by the generation, or by the
// version where its kind has none; labels and annotations change neither.
static char *state_of(const cJSON *manifest, const cJSON *there)
{
    int64_t generation;
    AUTO_BUF text = {0};
    buf_str(&text, json_path_str(there, "metadata.uid"));
    if (json_int(json_path(there, "metadata.generation"), &generation))
        buf_fmt(&text, " generation %lld", (long long)generation);
    else
        buf_fmt(&text, " version %s", json_path_str(there, "metadata.resourceVersion"));
    add_map(&text, "labels", manifest, there);
    add_map(&text, "annotations", manifest, there);
    return buf_take(&text);
}

// A request for each object; a second one, which compares, when it may have changed. *why
// gets what was found, *seen what it was found of.
static int look_closely(call *c, const cJSON *args, bool with_pods, const cJSON *recorded,
    const char *before, char **seen, char **why, err *e)
{
    ERR_GUARD(e);
    struct target t;
    AUTO_JSON *object = NULL, *there = NULL, *fields = NULL;
    if (prepare(c, args, with_pods, &t, &object, e) != 0 ||
        k8s_look(c, &t, recorded, &there, NULL, e) != 0)
        return -1;
    const char *name = json_str_or(recorded, "name", "");
    if (!there || json_path_str(there, "metadata.deletionTimestamp")) {
        *why = str_fmt("%s %s is gone", t.resource->kind, name);
        return 1;
    }
    *seen = state_of(object, there);
    if (str_eq(*seen, before))
        return 0;
    AUTO_JSON *own = k8s_own_changes(c, t.uid);
    if (!own)
        return 1;
    fields = k8s_differences(&t, object, there, e);
    AUTO_JSON *said = k8s_moved_by_others(own, fields);
    if (said)
        *why = k8s_say_moved(t.resource->kind, name, said);
    // who must not patch is not asked again until it changes
    return fields || e->code == ERR_FORBIDDEN || e->code == ERR_INVALID ? 1 : -1;
}

static void look_at_object(
    call *c, const cJSON *args, bool with_pods, const cJSON *recorded, struct glance *g, err *e)
{
    AUTO_FREE char *seen = NULL, *why = NULL;
    if (look_closely(c, args, with_pods, recorded, g->seen, &seen, &why, e) <= 0)
        return;
    free(g->seen);
    free(g->why);
    g->seen = STEAL(seen);
    g->why = STEAL(why);
}

static void look_created(
    call *c, const cJSON *args, const cJSON *recorded, struct glance *g, err *e)
{
    look_at_object(c, args, true, recorded, g, e);
}

static void look_applied(
    call *c, const cJSON *args, const cJSON *recorded, struct glance *g, err *e)
{
    look_at_object(c, args, false, recorded, g, e);
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

// An object that existed before the apply stays: we did not make it.
static int find_object(call *c, const cJSON *recorded, struct remains *out, err *e)
{
    struct target t;
    AUTO_JSON *there = NULL;
    if (!json_bool_or(recorded, "created", true)) {
        out->text = mem_strdup("applied to an object that was there before; left as it is");
        return 0;
    }
    err why = {0};
    if (k8s_target(c, recorded, false, &t, &why) != 0) {
        // Objects go with the definition of their kind; but is this the cluster?
        bool no_kind = t.client && why.code == ERR_NOT_FOUND; // not: there is no such context
        if (!no_kind || k8s_same_cluster(&t, recorded, e) != 0)
            return no_kind ? -1 : err_set(e, why.code, "%s", why.text);
        out->text = mem_strdup("was not there: the server does not know its kind any more");
        return 0;
    }
    if (k8s_look(c, &t, recorded, &there, &out->text, e) != 0)
        return -1;
    if (!there)
        return 0;
    out->found = k8s_reference(&t, there, e);
    out->text = str_fmt("%s %s%s%s", t.resource->kind, json_path_str(there, "metadata.name"),
        t.resource->namespaced ? " in namespace " : "", t.resource->namespaced ? t.ns : "");
    return out->found ? 0 : -1;
}

static int undo_object(call *c, const cJSON *found, err *e)
{
    struct target t;
    err why = {0};
    if (k8s_target(c, found, true, &t, e) != 0)
        return -1;
    if (remove_object(&t, NULL, -1, &why) == 0 || why.code == ERR_CONFLICT)
        return 0; // CONFLICT: a new object has the name; ours is gone
    return err_set(e, why.code, "%s", why.text);
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
    *result = cJSON_CreateObject(); // not at the top level: the patch did not make the object
    json_set(*result, "object", STEAL(ref));
    if (str_eq(json_str(args, "subresource"), "scale")) // it has fields of its own
        json_set_str(*result, "subresource", "scale");
    k8s_note_set(c, *result, json_str_or(args, "type", "merge"), json_get(args, "patch"), made);
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
    AUTO_JSON *intended = cJSON_CreateObject();
    json_set(intended, "deleted", cJSON_Duplicate(ref, true));
    if (call_ledger_partial(c, intended, e) != 0)
        return -1;
    int grace = (int)json_int_or(args, "grace", -1);
    err why = {0};
    if (remove_object(&t, json_str(args, "propagation"), grace, &why) != 0)
        return refused(c, &why, e);
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

// The object that was deleted is gone; if an object has its name now, it is a new one.
static int verify_delete(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    struct target t;
    const cJSON *ref = json_get(recorded, "deleted");
    if (k8s_target(c, args, true, &t, e) != 0 || (ref && k8s_same_cluster(&t, ref, e) != 0))
        return -1;
    const char *uid = ref ? json_str(ref, "uid") : t.uid;
    err why = {0};
    AUTO_JSON *there = client_get(t.client, &t.patience, t.resource, t.ns, t.name, &why);
    if (!there && why.code != ERR_NOT_FOUND)
        return err_set(e, why.code, "%s", why.text);
    if (there && (!uid || str_eq(json_path_str(there, "metadata.uid"), uid)))
        return VERDICT_NO;
    call_ledger_gone(c, uid ? uid : "");
    *result = cJSON_Duplicate(recorded, true);
    return VERDICT_YES;
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
    k8s_about_call(c, args, "patch", "", about);
}

static void about_delete(call *c, const cJSON *args, struct about *about)
{
    k8s_about_call(c, args, "delete", "", about);
}

static void about_label(call *c, const cJSON *args, struct about *about)
{
    AUTO_BUF more = {0};
    k8s_say_changes(args, true, &more);
    k8s_about_call(c, args, "label", buf_cstr(&more), about);
}

static void about_annotate(call *c, const cJSON *args, struct about *about)
{
    AUTO_BUF more = {0};
    k8s_say_changes(args, false, &more);
    k8s_about_call(c, args, "annotate", buf_cstr(&more), about);
}

static void about_scale(call *c, const cJSON *args, struct about *about)
{
    int64_t replicas = 0;
    k8s_replicas(args, &replicas);
    AUTO_FREE char *to = str_fmt(" to %lld replicas", (long long)replicas);
    k8s_about_call(c, args, "scale", to, about);
}

static void about_restart(call *c, const cJSON *args, struct about *about)
{
    k8s_about_call(c, args, "restart", "", about);
}

static void about_edit(call *c, const cJSON *args, struct about *about)
{
    k8s_about_call(c, args, "edit", "", about);
}

const struct binding k8s_bindings[] = {
    {.name = "k8s.manifest", .effect = EFFECT_PURE, .start = k8s_manifest},
    {.name = "k8s.check", .effect = EFFECT_PURE, .start = k8s_check},
    {.name = "k8s.create",
        .effect = EFFECT_CLUSTER,
        .announces = true,
        .start = create,
        .verify = verify_create,
        .look = look_created,
        .find = find_object,
        .undo = undo_object,
        .describe = about_create},
    {.name = "k8s.apply",
        .effect = EFFECT_CLUSTER,
        .announces = true,
        .start = apply,
        .verify = verify_apply,
        .look = look_applied,
        .find = find_object,
        .undo = undo_object,
        .describe = about_apply},
    {.name = "k8s.patch",
        .effect = EFFECT_CLUSTER,
        .start = patch,
        .verify = k8s_verify_set,
        .look = k8s_look_set,
        .describe = about_patch},
    {.name = "k8s.label",
        .effect = EFFECT_CLUSTER,
        .start = k8s_label,
        .verify = k8s_verify_set,
        .look = k8s_look_set,
        .describe = about_label},
    {.name = "k8s.annotate",
        .effect = EFFECT_CLUSTER,
        .start = k8s_annotate,
        .verify = k8s_verify_set,
        .look = k8s_look_set,
        .describe = about_annotate},
    {.name = "k8s.scale",
        .effect = EFFECT_CLUSTER,
        .start = k8s_scale,
        .verify = k8s_verify_set,
        .look = k8s_look_set,
        .describe = about_scale},
    {.name = "k8s.restart",
        .effect = EFFECT_CLUSTER,
        .start = k8s_restart,
        .verify = k8s_verify_restart,
        .describe = about_restart},
    {.name = "k8s.edit_text", .effect = EFFECT_PURE, .start = k8s_edit_text},
    {.name = "k8s.edit_check", .effect = EFFECT_PURE, .start = k8s_edit_check},
    {.name = "k8s.edit", .effect = EFFECT_CLUSTER, .start = k8s_edit, .describe = about_edit},
    {.name = "k8s.delete",
        .effect = EFFECT_DESTRUCTIVE,
        .announces = true,
        .start = delete,
        .verify = verify_delete,
        .describe = about_delete},
    {.name = "k8s.get", .effect = EFFECT_PURE, .start = k8s_get},
    {.name = "k8s.list", .effect = EFFECT_PURE, .start = k8s_list},
    {.name = "k8s.page", .effect = EFFECT_PURE, .start = k8s_page},
    {.name = "k8s.show", .effect = EFFECT_PURE, .start = k8s_show},
    {.name = "k8s.state", .effect = EFFECT_PURE, .start = k8s_state},
    {.name = "k8s.why", .effect = EFFECT_PURE, .start = k8s_why},
    {.name = "k8s.preflight", .effect = EFFECT_PURE, .start = k8s_preflight},
    {.name = "k8s.events", .effect = EFFECT_PURE, .start = k8s_events},
    {.name = "k8s.describe", .effect = EFFECT_PURE, .start = k8s_describe},
    {.name = "k8s.can_i", .effect = EFFECT_PURE, .start = k8s_can_i},
    {.name = "k8s.diff", .effect = EFFECT_PURE, .start = k8s_diff},
    {.name = "k8s.explain", .effect = EFFECT_PURE, .start = k8s_explain_kind},
    {.name = "k8s.service", .effect = EFFECT_PURE, .start = k8s_service},
    {.name = "k8s.whoami", .effect = EFFECT_PURE, .start = k8s_whoami},
    {.name = "k8s.choose_container", .effect = EFFECT_PURE, .start = k8s_choose_container},
    {.name = "k8s.contexts", .effect = EFFECT_PURE, .start = k8s_contexts},
    {.name = "k8s.version", .effect = EFFECT_PURE, .start = k8s_version},
    {.name = "k8s.kinds", .effect = EFFECT_PURE, .start = k8s_kinds},
    {.name = "k8s.known", .effect = EFFECT_PURE, .start = k8s_known},
    {.name = "k8s.yaml", .effect = EFFECT_PURE, .start = k8s_yaml},
    {.name = "k8s.wait", .effect = EFFECT_PURE, .start = k8s_wait},
    {.name = "k8s.reach", .effect = EFFECT_PURE, .start = k8s_reach},
    {.name = "k8s.logs", .effect = EFFECT_PURE, .start = k8s_logs},
    {.name = "k8s.tree", .effect = EFFECT_PURE, .start = k8s_tree},
    {.name = "k8s.watch", .effect = EFFECT_PURE, .start = k8s_watch},
    {0},
};

// The actions on rows of objects, each with a key.
const struct display_action k8s_actions[] = {
    {"describe", "k8s.describe", NULL},
    {"why", "k8s.why"},
    {"yaml", "k8s.yaml", NULL},
    {"logs", "k8s.logs", "{\"follow\":true,\"all_containers\":true,\"own\":true}",
        .together = true},
    {"delete", "k8s.delete", "{\"wait\":false}", .several = true},
    {"scale", "k8s.scale", NULL, "replicas", .several = true},
    {"label", "k8s.label", "{\"overwrite\":true}", "words", .several = true},
    {"annotate", "k8s.annotate", "{\"overwrite\":true}", "words", .several = true},
    {"tree", "k8s.tree"},
    {"restart", "k8s.restart", .several = true},
    {"shell", "k8s.shell", .first = "k8s.choose_container", .told = true},
    {"edit-text", "k8s.edit_text", NULL, "words"},
    {"edit", "k8s.edit", NULL, "words", .first = "k8s.edit_check"},
    {"explain", "k8s.explain", NULL, "field"},
    {"suspend", "k8s.suspend", "{\"on\":true}", .several = true, .first = "k8s.suspend_check"},
    {"resume", "k8s.suspend", "{\"on\":false}", .several = true, .first = "k8s.suspend_check"},
    {"cordon", "k8s.cordon", "{\"on\":true}", .several = true, .first = "k8s.cordon_check"},
    {"uncordon", "k8s.cordon", "{\"on\":false}", .several = true, .first = "k8s.cordon_check"},
    {"drain", "k8s.drain", NULL, "words", .first = "k8s.drain_check", .told = true, .silent = true},
    {"set-image", "k8s.set_image", NULL, "images", .several = true, .first = "k8s.set_image_check"},
    {"trigger", "k8s.create", .first = "k8s.trigger_job", .told = true},
    {"history", "k8s.rollout_history"},
    {"revision", "k8s.rollout_revision"},
    {"undo", "k8s.rollout_undo", NULL, "revision", .first = "k8s.rollout_undo_check",
        .silent = true},
    {"inside", "k8s.inside"},
    {"decode", "k8s.decode", .asks = true},
    {"who", "k8s.who_can", NULL, "verb"},
    {"command", "k8s.command", .first = "k8s.command_check", .told = true},
    {"forward", "k8s.port_forward", NULL, "ports", .first = "k8s.forward_check", .told = true,
        .silent = true},
    {"forwards", "k8s.forwards_table", .alone = true},
    {"stop-forward", "k8s.forwards"},
    {"table", "k8s.watch", .alone = true},
    {"contexts", "k8s.contexts", .alone = true},
    {"nodes", "k8s.nodes", .alone = true},
    {"kinds", "k8s.kinds", .alone = true},
    {0},
};
