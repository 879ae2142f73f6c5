// SPDX-License-Identifier: MIT
// Revisions of what keeps pods: the list of them, one as a text, and the way back to one, as
// kubectl rollout history and undo have them. A Deployment's are its ReplicaSets, those of a
// StatefulSet or DaemonSet are ControllerRevisions.
#include "base/clock.h"
#include "base/json/tabletext.h"
#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/api/bindings.h"
#include "script/api/desk/desk.h"

#include <stdlib.h>
#include <string.h>

#define REVISION "deployment.kubernetes.io/revision"
#define CAUSE    "kubernetes.io/change-cause"
#define HASH     "pod-template-hash"

struct revision {
    int64_t number;
    const cJSON *object; // a ReplicaSet or a ControllerRevision
};
struct revisions {
    cJSON *items;
    struct revision *all; // the newest first
    size_t n;
    int64_t now; // the one that the object has
};

static void revisions_done(struct revisions *r)
{
    cJSON_Delete(r->items);
    free(r->all);
}

static bool is_owned(const cJSON *object, const char *uid)
{
    const cJSON *owner;
    cJSON_ArrayForEach(owner, json_path(object, "metadata.ownerReferences"))
    {
        if (str_eq(json_str(owner, "uid"), uid))
            return true;
    }
    return false;
}

static int64_t number_of(const cJSON *object, bool of_deployment)
{
    int64_t number = 0;
    if (!of_deployment)
        return json_int_or(object, "revision", 0);
    str_to_int(json_str_or(json_path(object, "metadata.annotations"), REVISION, ""), &number);
    return number;
}

static int newest_first(const void *a, const void *b)
{
    const struct revision *x = a, *y = b;
    return (x->number < y->number) - (x->number > y->number);
}

static int revisions_of(struct target *t, const cJSON *object, struct revisions *out, err *e)
{
    bool deployment = str_eq(t->resource->kind, "Deployment");
    const char *kind = deployment ? "ReplicaSet" : "ControllerRevision",
               *uid = json_path_str(object, "metadata.uid"),
               *latest = json_path_str(object, "status.updateRevision");
    *out = (struct revisions){0};
    if (!k8s_restarts(t->resource))
        return err_set(e, ERR_USAGE,
            "%s have no revisions: deployments, statefulsets and daemonsets have",
            t->resource->plural);
    out->items = k8s_items(t, &t->patience, "apps/v1", kind, t->ns, &(struct list_query){0}, e);
    if (!out->items)
        return -1;
    out->all = mem_array((size_t)cJSON_GetArraySize(out->items) + 1, sizeof *out->all);
    const cJSON *item;
    cJSON_ArrayForEach(item, out->items)
    {
        int64_t number = number_of(item, deployment);
        if (!is_owned(item, uid) || !number)
            continue;
        out->all[out->n++] = (struct revision){number, item};
        if (str_eq(json_path_str(item, "metadata.name"), latest))
            out->now = number;
    }
    qsort(out->all, out->n, sizeof *out->all, newest_first);
    if (deployment)
        out->now = number_of(object, true);
    else if (!out->now && out->n)
        out->now = out->all[0].number;
    return 0;
}

// The template of pods; new.
static cJSON *template_of(const cJSON *revision)
{
    const cJSON *own = json_path(revision, "spec.template");
    cJSON *template = cJSON_Duplicate(own ? own : json_path(revision, "data.spec.template"), true);
    cJSON_DeleteItemFromObjectCaseSensitive(template, "$patch");
    cJSON_DeleteItemFromObjectCaseSensitive((cJSON *)json_path(template, "metadata.labels"), HASH);
    return template;
}

// The one of this number, 0: the one before the present one; NULL: the reason.
static const cJSON *choose(
    const struct target *t, const struct revisions *r, int64_t number, err *e)
{
    for (size_t i = 0; i < r->n; i++)
        if (number ? r->all[i].number == number : r->all[i].number != r->now)
            return r->all[i].object;
    if (number)
        err_set(e, ERR_NOT_FOUND, "%s %s has no revision %lld", t->resource->singular, t->name,
            (long long)number);
    else
        err_set(e, ERR_NOT_FOUND, "%s %s has no revision but its present one",
            t->resource->singular, t->name);
    return NULL;
}

// "revision" is a number, also as a person types it.
static int64_t wanted(const cJSON *args)
{
    int64_t number = 0;
    const char *typed = json_str(args, "revision");
    if (typed)
        str_to_int(typed, &number);
    return typed ? number : json_int_or(args, "revision", 0);
}

static cJSON *become_earlier(
    call *c, struct target *t, const cJSON *args, const cJSON *object, err *e)
{
    struct revisions all;
    cJSON *edited = NULL;
    if (cJSON_IsTrue(json_path(object, "spec.paused"))) {
        err_set(e, ERR_INVALID, "%s %s is paused: nothing is undone until it goes on",
            t->resource->singular, t->name);
        return NULL;
    }
    const cJSON *earlier =
        revisions_of(t, object, &all, e) == 0 ? choose(t, &all, wanted(args), e) : NULL;
    if (earlier) {
        const char *cause = json_str(json_path(earlier, "metadata.annotations"), CAUSE);
        edited = cJSON_Duplicate(object, true);
        json_set(json_object_at(edited, "spec"), "template", template_of(earlier));
        cJSON *notes = (cJSON *)json_path(edited, "metadata.annotations");
        cJSON_DeleteItemFromObjectCaseSensitive(notes, CAUSE);
        json_set_str(notes, CAUSE, cause);
    }
    revisions_done(&all);
    return edited;
}

static int undo(call *c, const cJSON *args, cJSON **result, err *e)
{
    return desk_change(c, args, become_earlier, result, e);
}

static int check_undo(call *c, const cJSON *args, cJSON **result, err *e)
{
    return desk_check(c, args, become_earlier, result, e);
}

static void about_undo(call *c, const cJSON *args, struct about *about)
{
    int64_t number = wanted(args);
    AUTO_FREE char *to = number ? str_fmt(" to revision %lld", (long long)number)
                                : mem_strdup(" to the revision before");
    k8s_about_call(c, args, "roll back", to, about);
}

static void add_row(
    cJSON *rows, const struct target *t, const cJSON *object, const struct revision *r, bool now)
{
    AUTO_JSON *template = template_of(r->object);
    AUTO_BUF images = {0};
    AUTO_FREE char *uid = str_fmt("revision-%lld", (long long)r->number),
                   *number = str_fmt("%lld", (long long)r->number);
    const char *name = json_path_str(r->object, "metadata.name");
    cJSON *row = cJSON_CreateObject(), *cells = json_array_at(row, "cells"),
          *about = desk_about(t, object);
    desk_add_images(json_get(template, "spec"), &images);
    json_set_int(about, "revision", r->number);
    json_set_str(row, "uid", uid);
    json_set_str(row, "name", name);
    json_set_str(row, "namespace", t->ns);
    json_set(row, "about", about);
    cJSON_AddItemToArray(cells, cJSON_CreateString(number));
    cJSON_AddItemToArray(cells, cJSON_CreateString(now ? "*" : ""));
    cJSON_AddItemToArray(
        cells, tabletext_age(NULL, json_path_str(r->object, "metadata.creationTimestamp"), NULL));
    cJSON_AddItemToArray(cells, cJSON_CreateString(buf_cstr(&images)));
    cJSON_AddItemToArray(cells,
        cJSON_CreateString(json_str_or(json_path(r->object, "metadata.annotations"), CAUSE, "")));
    cJSON_AddItemToArray(cells, cJSON_CreateString(name ? name : ""));
    cJSON_AddItemToArray(rows, row);
}

// A table of the revisions, the newest first.
static int history(call *c, const cJSON *args, cJSON **result, err *e)
{
    static const char *const columns[] = {
        "REVISION", "NOW", "AGE", "IMAGES", "CHANGE-CAUSE", "NAME"};
    static const char *const actions[] = {"revision", "undo"};
    struct target t;
    struct revisions all = {0};
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    AUTO_JSON *object = k8s_object(c, &t, e);
    if (!object || revisions_of(&t, object, &all, e) != 0) {
        revisions_done(&all);
        return -1;
    }
    cJSON *table = cJSON_CreateObject(), *rows = json_array_at(table, "rows");
    AUTO_FREE char *title = str_fmt("revisions of %s %s", t.resource->singular, t.name);
    for (size_t i = 0; i < all.n; i++)
        add_row(rows, &t, object, &all.all[i], all.all[i].number == all.now);
    revisions_done(&all);
    json_set(table, "columns", cJSON_CreateStringArray(columns, ARRAY_LEN(columns)));
    json_set(table, "actions", cJSON_CreateStringArray(actions, ARRAY_LEN(actions)));
    json_set(table, "about", desk_about(&t, object));
    json_set_str(table, "title", title);
    return k8s_show_table(c, table, result);
}

// The template of pods that a revision has, as YAML.
static int revision(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    struct revisions all = {0};
    AUTO_BUF text = {0};
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    AUTO_JSON *object = k8s_object(c, &t, e);
    int done = object ? revisions_of(&t, object, &all, e) : -1;
    const cJSON *chosen = done == 0 ? choose(&t, &all, wanted(args), e) : NULL;
    AUTO_JSON *template = chosen ? template_of(chosen) : NULL;
    if (template)
        yaml_print(&text, template);
    revisions_done(&all);
    *result = template ? k8s_text(&text) : NULL;
    return template ? 0 : -1;
}

const struct binding desk_rollout_bindings[] = {
    {.name = "k8s.rollout_undo",
        .effect = EFFECT_CLUSTER,
        .start = undo,
        .verify = k8s_verify_set,
        .look = k8s_look_set,
        .describe = about_undo},
    {.name = "k8s.rollout_undo_check", .effect = EFFECT_PURE, .start = check_undo},
    {.name = "k8s.rollout_history", .effect = EFFECT_PURE, .start = history},
    {.name = "k8s.rollout_revision", .effect = EFFECT_PURE, .start = revision},
    {0},
};
