// SPDX-License-Identifier: MIT
// Small changes of one object, each first shown as the server would make it: suspend and resume,
// cordon and uncordon, images of containers.
//
//   object ──> become ──> what it is to be ──> merge patch with uid and version ──> dry run: diff
//                                                         └──────────────────────> the change
#include "base/mem.h"
#include "base/str.h"
#include "script/api/bindings.h"
#include "script/api/desk/desk.h"

#include <string.h>

enum { NAME_MOST = 40 }; // of a CronJob in the name of its Job
enum { TRIES = 5 };      // somebody else may change the object between our look and our patch

int desk_check(call *c, const cJSON *args, desk_become *become, cJSON **result, err *e)
{
    struct target t;
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    AUTO_JSON *object = k8s_object(c, &t, e);
    AUTO_JSON *edited = object ? become(c, &t, args, object, e) : NULL;
    return edited ? k8s_propose(&t, object, edited, result, e) : -1;
}

static int change_once(
    call *c, struct target *t, const cJSON *args, desk_become *become, cJSON **result, err *e)
{
    AUTO_JSON *object = k8s_object(c, t, e);
    AUTO_JSON *edited = object ? become(c, t, args, object, e) : NULL;
    if (!edited)
        return -1;
    AUTO_JSON *patch = k8s_edit_patch(object, edited);
    return patch ? k8s_put_edit(c, t, patch, result, e) : k8s_changed(t, object, false, result, e);
}

// Do both change the same, whatever the version of the object?
static bool is_same_change(const cJSON *a, const cJSON *b)
{
    AUTO_JSON *x = cJSON_Duplicate(a, true), *y = cJSON_Duplicate(b, true);
    cJSON_DeleteItemFromObjectCaseSensitive((cJSON *)json_get(x, "metadata"), "resourceVersion");
    cJSON_DeleteItemFromObjectCaseSensitive((cJSON *)json_get(y, "metadata"), "resourceVersion");
    return cJSON_Compare(x, y, true);
}

// What a person has seen and said yes to. Meanwhile the object has a newer version each time that
// its controller writes its status, so a conflict is one only if other things would change now.
static int change_as_shown(
    call *c, struct target *t, const cJSON *args, desk_become *become, cJSON **result, err *e)
{
    const cJSON *shown = json_get(args, "patch");
    err why = {0};
    if (k8s_put_edit(c, t, shown, result, &why) == 0)
        return 0;
    AUTO_JSON *object = why.code == ERR_CONFLICT ? k8s_object(c, t, NULL) : NULL;
    AUTO_JSON *edited = object ? become(c, t, args, object, NULL) : NULL;
    AUTO_JSON *patch = edited ? k8s_edit_patch(object, edited) : NULL;
    if (patch && is_same_change(shown, patch))
        return k8s_put_edit(c, t, patch, result, e);
    return err_set(e, why.code, "%s", why.text);
}

int desk_change(call *c, const cJSON *args, desk_become *become, cJSON **result, err *e)
{
    struct target t;
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    bool as_shown = json_get(args, "patch") != NULL;
    for (int i = 1;; i++) {
        err why = {0};
        if ((as_shown ? change_as_shown : change_once)(c, &t, args, become, result, &why) == 0)
            return 0;
        if (why.code != ERR_CONFLICT || i == TRIES)
            return err_set(e, why.code, "%s", why.text);
    }
}

cJSON *desk_about(const struct target *t, const cJSON *object)
{
    cJSON *about = k8s_about(t->resource);
    json_set_str(about, "name", json_path_str(object, "metadata.name"));
    json_set_str(about, "uid", json_path_str(object, "metadata.uid"));
    json_set_str(about, "context", t->context);
    return about;
}

// What can be suspended, and the field that does it.
static const struct {
    const char *group, *kind, *within;
} suspends[] = {
    {"batch", "CronJob", NULL},
    {"batch", "Job", NULL},
    {"jobset.x-k8s.io", "JobSet", NULL},
    {"sparkoperator.k8s.io", "ScheduledSparkApplication", NULL},
    {"argoproj.io", "CronWorkflow", NULL},
    {"argoproj.io", "Workflow", NULL},
    {"kubeflow.org", "MPIJob", "runPolicy"},
};

static cJSON *become_suspended(
    call *c, struct target *t, const cJSON *args, const cJSON *object, err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(suspends); i++) {
        if (!str_eq(suspends[i].kind, t->resource->kind) ||
            !str_eq(suspends[i].group, t->resource->group))
            continue;
        cJSON *edited = cJSON_Duplicate(object, true), *spec = json_object_at(edited, "spec");
        if (suspends[i].within)
            spec = json_object_at(spec, suspends[i].within);
        bool on = json_bool_or(args, "on", true);
        if (on != json_bool_or(spec, "suspend", false))
            json_set_bool(spec, "suspend", on);
        return edited;
    }
    err_set(e, ERR_USAGE, "%s are not suspended: cronjobs, jobs and schedules are",
        t->resource->plural);
    return NULL;
}

static cJSON *become_cordoned(
    call *c, struct target *t, const cJSON *args, const cJSON *object, err *e)
{
    if (!str_eq(t->resource->kind, "Node") || *t->resource->group) {
        err_set(e, ERR_USAGE, "%s are not cordoned: nodes are", t->resource->plural);
        return NULL;
    }
    cJSON *edited = cJSON_Duplicate(object, true), *spec = json_object_at(edited, "spec");
    if (json_bool_or(args, "on", true))
        json_set_bool(spec, "unschedulable", true);
    else
        cJSON_DeleteItemFromObjectCaseSensitive(spec, "unschedulable");
    return edited;
}

cJSON *desk_pod_spec(cJSON *object)
{
    static const char *const paths[] = {
        "spec.jobTemplate.spec.template.spec", "spec.template.spec", "spec"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        const cJSON *spec = json_path(object, paths[i]);
        if (cJSON_IsArray(json_get(spec, "containers")))
            return (cJSON *)spec;
    }
    return NULL;
}

void desk_add_images(const cJSON *pod_spec, buf *out)
{
    const cJSON *container;
    cJSON_ArrayForEach(container, json_get(pod_spec, "containers"))
    {
        buf_fmt(out, "%s%s", out->len ? ", " : "", json_str_or(container, "image", ""));
    }
}

static int no_container(
    const struct target *t, const cJSON *spec, const char *name, size_t n, err *e)
{
    AUTO_BUF has = {0};
    const cJSON *container;
    cJSON_ArrayForEach(container, json_get(spec, "containers"))
    {
        buf_fmt(&has, "%s%s=%s", has.len ? ", " : "", json_str_or(container, "name", ""),
            json_str_or(container, "image", ""));
    }
    return err_set(e, ERR_USAGE, "%s %s has no container %.*s; it has %s", t->resource->singular,
        t->name, (int)n, name, buf_cstr(&has));
}

// Sets it in the containers of this name ("*": all); returns in how many.
static size_t set_in(cJSON *containers, const char *name, size_t n, const char *image)
{
    size_t found = 0;
    cJSON *container;
    cJSON_ArrayForEach(container, containers)
    {
        const char *own = json_str_or(container, "name", "");
        bool all = n == 1 && *name == '*';
        if (!all && (strlen(own) != n || memcmp(own, name, n) != 0))
            continue;
        json_set_str(container, "image", image);
        found++;
    }
    return found;
}

// "app=nginx:2"; "nginx:2" where there is one container.
static int set_image(const struct target *t, cJSON *spec, const char *word, err *e)
{
    const char *equal = strchr(word, '=');
    bool only = cJSON_GetArraySize(json_get(spec, "containers")) == 1;
    const char *name = equal ? word : only ? "*" : "", *image = equal ? equal + 1 : word;
    size_t n = equal ? (size_t)(equal - word) : strlen(name);
    if (!*image)
        return err_set(e, ERR_USAGE, "\"%s\" names no image: container=image is expected", word);
    if (!n)
        return err_set(e, ERR_USAGE, "%s %s has several containers: container=image is expected",
            t->resource->singular, t->name);
    size_t found = set_in((cJSON *)json_get(spec, "containers"), name, n, image) +
                   set_in((cJSON *)json_path(spec, "initContainers"), name, n, image);
    return found ? 0 : no_container(t, spec, name, n, e);
}

static cJSON *become_other_images(
    call *c, struct target *t, const cJSON *args, const cJSON *object, err *e)
{
    AUTO_JSON *edited = cJSON_Duplicate(object, true);
    AUTO_FREE char *typed =
        str_trim(json_str_or(args, "images", ""), strlen(json_str_or(args, "images", "")));
    cJSON *spec = desk_pod_spec(edited);
    if (!spec) {
        err_set(e, ERR_USAGE, "%s have no containers", t->resource->plural);
        return NULL;
    }
    if (!*typed) {
        no_container(t, spec, "of no name", strlen("of no name"), e);
        return NULL;
    }
    char **words = strv_split(typed, ' ');
    int done = 0;
    for (size_t i = 0; words[i] && done == 0; i++)
        if (*words[i])
            done = set_image(t, spec, words[i], e);
    strv_free(words);
    return done == 0 ? STEAL(edited) : NULL;
}

#define CHANGE(name, become)                                                                       \
    static int name(call *c, const cJSON *args, cJSON **result, err *e)                            \
    {                                                                                              \
        return desk_change(c, args, become, result, e);                                            \
    }                                                                                              \
    static int check_##name(call *c, const cJSON *args, cJSON **result, err *e)                    \
    {                                                                                              \
        return desk_check(c, args, become, result, e);                                             \
    }
CHANGE(suspend, become_suspended)
CHANGE(cordon, become_cordoned)
CHANGE(images, become_other_images)

static void about_suspend(call *c, const cJSON *args, struct about *about)
{
    k8s_about_call(c, args, json_bool_or(args, "on", true) ? "suspend" : "resume", "", about);
}

static void about_cordon(call *c, const cJSON *args, struct about *about)
{
    k8s_about_call(c, args, json_bool_or(args, "on", true) ? "cordon" : "uncordon", "", about);
}

static void about_images(call *c, const cJSON *args, struct about *about)
{
    AUTO_FREE char *to = str_fmt(" to %s", str_short(json_str_or(args, "images", ""), 100).text);
    k8s_about_call(c, args, "set the image of", to, about);
}

// What a CronJob would start at its time: {"object": the Job}, for k8s.create. kubectl create job
// --from makes the same.
static int trigger(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    if (!str_eq(t.resource->kind, "CronJob"))
        return err_set(
            e, ERR_USAGE, "%s have no time at which they start: cronjobs do", t.resource->plural);
    AUTO_JSON *cron = k8s_object(c, &t, e);
    if (!cron)
        return -1;
    cJSON *job = cJSON_Duplicate(json_path(cron, "spec.jobTemplate"), true);
    cJSON *m = json_object_at(job, "metadata"), *owner = cJSON_CreateObject();
    AUTO_FREE char *begin = mem_strndup(t.name, strnlen(t.name, NAME_MOST)),
                   *name = str_fmt("%s-manual-", begin);
    json_set_str(job, "apiVersion", "batch/v1");
    json_set_str(job, "kind", "Job");
    json_set_str(m, "generateName", name);
    json_set_str(m, "namespace", json_path_str(cron, "metadata.namespace"));
    json_set_str(json_object_at(m, "annotations"), "cronjob.kubernetes.io/instantiate", "manual");
    json_set_str(owner, "apiVersion", t.resource->api_version);
    json_set_str(owner, "kind", "CronJob");
    json_set_str(owner, "name", t.name);
    json_set_str(owner, "uid", json_path_str(cron, "metadata.uid"));
    cJSON_AddItemToArray(json_array_at(m, "ownerReferences"), owner);
    *result = cJSON_CreateObject();
    json_set(*result, "object", job);
    return 0;
}

const struct binding desk_change_bindings[] = {
    {.name = "k8s.suspend",
        .effect = EFFECT_CLUSTER,
        .start = suspend,
        .verify = k8s_verify_set,
        .look = k8s_look_set,
        .describe = about_suspend},
    {.name = "k8s.cordon",
        .effect = EFFECT_CLUSTER,
        .start = cordon,
        .verify = k8s_verify_set,
        .look = k8s_look_set,
        .describe = about_cordon},
    {.name = "k8s.set_image",
        .effect = EFFECT_CLUSTER,
        .start = images,
        .verify = k8s_verify_set,
        .look = k8s_look_set,
        .describe = about_images},
    {.name = "k8s.suspend_check", .effect = EFFECT_PURE, .start = check_suspend},
    {.name = "k8s.cordon_check", .effect = EFFECT_PURE, .start = check_cordon},
    {.name = "k8s.set_image_check", .effect = EFFECT_PURE, .start = check_images},
    {.name = "k8s.trigger_job", .effect = EFFECT_PURE, .start = trigger},
    {0},
};
