// SPDX-License-Identifier: MIT
// The bindings that a person needs to change an object as a text, as kubectl edit does, and the
// restart of what keeps pods. Editing has three steps, each a call:
//
//   k8s.edit_text ──> YAML ──> the person's editor ──> k8s.edit_check ──> diff, patch ──> k8s.edit
//        ▲                                                  │ refused, or changed meanwhile
//        └──────────────── what was typed ──────────────────┘
//
// The patch has what the person changed, with uid and version of the object that was looked at.
#include "base/clock.h"
#include "base/data/linediff.h"
#include "base/json/jsonmerge.h"
#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/api/k8s/k8s.h"

#include <string.h>

#define RESTARTED "kubectl.kubernetes.io/restartedAt"

// What is typed comes back: a text in which something is hidden would be written so.
static int check_open(
    call *c, const struct target *t, const cJSON *object, const char *text, err *e)
{
    if (!str_eq(json_str(object, "kind"), "Secret") && !call_is_secret(c, text) &&
        !call_is_hidden(text))
        return 0;
    return err_set(e, ERR_REFUSED,
        "%s %s has values that are never shown here, so it cannot be edited here; kubectl edit "
        "does",
        t->resource->singular, t->name);
}

static void drop_managed(cJSON *object)
{
    cJSON_DeleteItemFromObjectCaseSensitive((cJSON *)json_get(object, "metadata"), "managedFields");
}

// The one object of the text.
static cJSON *parse_edited(const char *words, err *e)
{
    AUTO_JSON *documents = yaml_parse(words, strlen(words), e);
    if (!documents)
        return NULL;
    if (cJSON_GetArraySize(documents) == 1 && cJSON_IsObject(documents->child))
        return cJSON_DetachItemFromArray(documents, 0);
    err_set(e, ERR_INVALID, "it must be one object, and is %d documents",
        cJSON_GetArraySize(documents));
    return NULL;
}

// The changes of the person, without what the server counts.
static cJSON *changes_of(const cJSON *base, const cJSON *edited)
{
    cJSON *patch = json_merge_between(base, edited);
    cJSON_DeleteItemFromObjectCaseSensitive(
        (cJSON *)json_get(patch, "metadata"), "resourceVersion");
    return patch;
}

// {…, "base", "words"}: the text of the newest state; with the last two, what was typed over the
// state `base` is put on top of it. The result is {"text", "base", "name"}.
int k8s_edit_text(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    const char *words = json_str(args, "words");
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    AUTO_JSON *object = k8s_object(c, &t, e);
    AUTO_JSON *edited = object && words ? parse_edited(words, e) : NULL;
    if (!object || (words && !edited))
        return -1;
    drop_managed(object);
    AUTO_JSON *patch = edited ? changes_of(json_get(args, "base"), edited) : NULL;
    AUTO_JSON *shown = patch ? json_merge(object, patch) : cJSON_Duplicate(object, true);
    AUTO_BUF text = {0};
    yaml_print(&text, shown);
    if (check_open(c, &t, object, buf_cstr(&text), e) != 0)
        return -1;
    *result = cJSON_CreateObject();
    json_set_str(*result, "text", buf_cstr(&text));
    json_set(*result, "base", STEAL(object));
    AUTO_FREE char *name = str_fmt("%s-%s", t.resource->singular, t.name);
    json_set_str(*result, "name", name);
    return 0;
}

// An object stays the one it is.
static int check_same(const cJSON *base, const cJSON *edited, err *e)
{
    static const char *const fixed[] = {
        "apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid"};
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        const char *was = json_path_str(base, fixed[i]), *is = json_path_str(edited, fixed[i]);
        if (!str_eq(was, is))
            return err_set(e, ERR_INVALID, "%s cannot be changed: it was %s and is %s", fixed[i],
                was ? was : "nothing", is ? is : "nothing");
    }
    return 0;
}

static void print_shown(const cJSON *object, buf *out)
{
    AUTO_JSON *copy = cJSON_Duplicate(object, true);
    cJSON *m = (cJSON *)json_get(copy, "metadata");
    drop_managed(copy);
    cJSON_DeleteItemFromObjectCaseSensitive(m, "resourceVersion");
    cJSON_DeleteItemFromObjectCaseSensitive(m, "generation");
    yaml_print(out, copy);
}

cJSON *k8s_edit_patch(const cJSON *base, const cJSON *edited)
{
    cJSON *patch = changes_of(base, edited);
    if (!patch)
        return NULL;
    cJSON *m = json_object_at(patch, "metadata");
    json_set_str(m, "uid", json_path_str(base, "metadata.uid"));
    json_set_str(m, "resourceVersion", json_path_str(base, "metadata.resourceVersion"));
    return patch;
}

int k8s_propose(struct target *t, const cJSON *base, const cJSON *edited, cJSON **result, err *e)
{
    AUTO_JSON *patch = k8s_edit_patch(base, edited), *found = cJSON_CreateObject();
    if (!patch) {
        json_set_str(found, "nothing", "nothing was changed");
        *result = STEAL(found);
        return 0;
    }
    AUTO_JSON *made =
        client_edit(t->client, &t->patience, t->resource, t->ns, t->name, patch, true, e);
    if (!made)
        return -1;
    AUTO_BUF old = {0}, new_ = {0}, diff = {0};
    print_shown(base, &old);
    print_shown(made, &new_);
    if (!linediff(&diff, t->name, "edited", buf_cstr(&old), buf_cstr(&new_)))
        json_set_str(found, "nothing", "the server would change nothing by that");
    json_set_str(found, "diff", buf_cstr(&diff));
    json_set(found, "patch", STEAL(patch));
    *result = STEAL(found);
    return 0;
}

int k8s_put_edit(call *c, struct target *t, const cJSON *patch, cJSON **result, err *e)
{
    AUTO_JSON *made =
        client_edit(t->client, &t->patience, t->resource, t->ns, t->name, patch, false, e);
    if (!made || k8s_changed(t, made, true, result, e) != 0)
        return -1;
    k8s_note_set(c, *result, "merge", patch, made);
    return 0;
}

// {…, "base", "words"}: would the server take it? The result is {"patch", "diff"}, or {"nothing"}.
int k8s_edit_check(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    const cJSON *base = json_get(args, "base");
    if (!base || !json_str(args, "words"))
        return err_set(e, ERR_USAGE, "an edit needs the object that was edited, and the text");
    AUTO_JSON *edited = parse_edited(json_str(args, "words"), e);
    if (!edited || check_same(base, edited, e) != 0 || k8s_target(c, args, true, &t, e) != 0)
        return -1;
    return k8s_propose(&t, base, edited, result, e);
}

// {…, "patch"}, as k8s.edit_check has made it.
int k8s_edit(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    if (!json_get(args, "patch"))
        return err_set(e, ERR_USAGE, "k8s.edit is what an editor does: e on a row of a table");
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    return k8s_put_edit(c, &t, json_get(args, "patch"), result, e);
}

static bool restarts(const struct resource *r)
{
    return str_eq(r->group, "apps") &&
           (str_eq(r->kind, "Deployment") || str_eq(r->kind, "StatefulSet") ||
               str_eq(r->kind, "DaemonSet"));
}

bool k8s_restarts(const struct resource *r)
{
    return r && restarts(r);
}

// As kubectl rollout restart: a time in the template, so its pods are made anew by its own rules.
int k8s_restart(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    if (!restarts(t.resource))
        return err_set(e, ERR_USAGE,
            "%s are not restarted: deployments, statefulsets and daemonsets are",
            t.resource->plural);
    AUTO_JSON *there = k8s_object(c, &t, e);
    if (!there)
        return -1;
    if (cJSON_IsTrue(json_path(there, "spec.paused")))
        return err_set(e, ERR_INVALID, "%s %s is paused: nothing restarts until it goes on",
            t.resource->singular, t.name);
    AUTO_BUF now = {0};
    AUTO_JSON *patch = cJSON_CreateObject();
    clock_rfc3339(&now, clock_wall(), CLOCK_SECONDS);
    json_set_str(json_object_at(patch, "metadata"), "uid", json_path_str(there, "metadata.uid"));
    cJSON *template = json_object_at(json_object_at(patch, "spec"), "template");
    json_set_str(json_object_at(json_object_at(template, "metadata"), "annotations"), RESTARTED,
        buf_cstr(&now));
    AUTO_JSON *made =
        client_patch(t.client, &t.patience, t.resource, t.ns, t.name, NULL, "merge", patch, e);
    if (!made || k8s_changed(&t, made, true, result, e) != 0)
        return -1;
    k8s_note_set(c, *result, "merge", patch, made);
    json_set_str(*result, "restarted", buf_cstr(&now));
    return 0;
}

// It was restarted then, or again since.
int k8s_verify_restart(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    struct target t;
    err why = {0};
    AUTO_JSON *there = k8s_same_object(c, &t, args, recorded, &why);
    if (why.code)
        return err_set(e, why.code, "%s", why.text);
    bool later = there && call_changed_later(c, json_path_str(there, "metadata.uid"), NULL);
    const cJSON *annotations = json_path(there, "spec.template.metadata.annotations");
    const char *at = json_str_or(annotations, RESTARTED, "");
    return there && (later || strcmp(at, json_str_or(recorded, "restarted", "~")) >= 0)
               ? VERDICT_YES
               : VERDICT_NO;
}
