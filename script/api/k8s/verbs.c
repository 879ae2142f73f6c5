// SPDX-License-Identifier: MIT
// The k8s bindings that change one thing of an object: labels, annotations, the number of replicas.
#include "base/mem.h"
#include "base/str.h"
#include "script/api/k8s/k8s.h"

#include <string.h>

enum { TRIES = 5 }; // somebody else may change the object between our look and our patch

// Without overwrite a value that somebody has set stays.
static int check_free(
    const struct target *t, const cJSON *has, const cJSON *set, const char *what, err *e)
{
    const cJSON *wanted;
    cJSON_ArrayForEach(wanted, set)
    {
        const char *old = json_str(has, wanted->string);
        if (old && !str_eq(old, wanted->valuestring))
            return err_set(e, ERR_EXISTS,
                "%s %s: the %s %s already has the value \"%s\"; overwrite = true changes it",
                t->resource->singular, t->name, what, wanted->string, str_short(old, 100).text);
    }
    return 0;
}

// What has to change: {key: new value, key: null}; new; NULL: nothing.
static cJSON *changes_of(const cJSON *has, const cJSON *set, const cJSON *remove)
{
    AUTO_JSON *changes = cJSON_CreateObject();
    const cJSON *item;
    cJSON_ArrayForEach(item, set)
    {
        if (!str_eq(json_str(has, item->string), item->valuestring))
            json_set_str(changes, item->string, item->valuestring);
    }
    cJSON_ArrayForEach(item, remove)
    {
        if (cJSON_IsString(item) && json_get(has, item->valuestring))
            cJSON_AddNullToObject(changes, item->valuestring);
    }
    return changes->child ? STEAL(changes) : NULL;
}

// The patch for exactly the object that was looked at; without overwrite also for exactly this
// version of it. NULL: nothing has to change.
static cJSON *map_patch(const cJSON *there, const cJSON *args, const char *map)
{
    cJSON *changes = changes_of(json_get(json_get(there, "metadata"), map), json_get(args, "set"),
        json_get(args, "remove"));
    if (!changes)
        return NULL;
    cJSON *patch = cJSON_CreateObject(), *m = json_object_at(patch, "metadata");
    json_set_str(m, "uid", json_path_str(there, "metadata.uid"));
    if (!json_bool_or(args, "overwrite", false))
        json_set_str(m, "resourceVersion", json_path_str(there, "metadata.resourceVersion"));
    json_set(m, map, changes);
    return patch;
}

// Returns the object as it is then; new.
static cJSON *change_once(
    call *c, struct target *t, const cJSON *args, const char *map, bool *changed, err *e)
{
    AUTO_JSON *there = k8s_object(c, t, e);
    const cJSON *has = json_get(json_get(there, "metadata"), map);
    const char *what = str_eq(map, "labels") ? "label" : "annotation";
    if (!there || (!json_bool_or(args, "overwrite", false) &&
                      check_free(t, has, json_get(args, "set"), what, e) != 0))
        return NULL;
    AUTO_JSON *patch = map_patch(there, args, map);
    *changed = patch != NULL;
    if (!patch)
        return STEAL(there);
    return client_patch(
        t->client, &t->patience, t->resource, t->ns, t->name, NULL, "merge", patch, e);
}

int k8s_changed(struct target *t, const cJSON *made, bool changed, cJSON **result, err *e)
{
    AUTO_JSON *ref = k8s_reference(t, made, e);
    if (!ref)
        return -1;
    *result = cJSON_CreateObject();
    json_set(*result, "object", STEAL(ref));
    json_set_bool(*result, "changed", changed);
    return 0;
}

// Also what was so already: the call says that it is to be so.
static void note_map(call *c, cJSON *result, const cJSON *args, const char *map, const cJSON *made)
{
    AUTO_JSON *patch = cJSON_CreateObject();
    cJSON *asked = json_object_at(json_object_at(patch, "metadata"), map);
    const cJSON *item;
    cJSON_ArrayForEach(item, json_get(args, "set")) json_set_bool(asked, item->string, true);
    cJSON_ArrayForEach(item, json_get(args, "remove"))
    {
        if (cJSON_IsString(item))
            json_set_bool(asked, item->valuestring, true);
    }
    k8s_note_set(c, result, "merge", patch, made);
}

// What a person has typed: "tier=gpu old-"; of annotations one, whose value may have spaces.
static int take_words(const char *words, bool several, cJSON *args, err *e)
{
    cJSON *set = json_object_at(args, "set"), *remove = json_array_at(args, "remove");
    while (*(words += strspn(words, " "))) {
        size_t n = several ? strcspn(words, " ") : strlen(words), key = strcspn(words, "=");
        AUTO_FREE char *word = str_trim(words, n);
        if (key > 0 && key < n) {
            AUTO_FREE char *name = mem_strndup(words, key);
            json_set_str(set, name, word + key + 1);
        } else if (strlen(word) > 1 && str_ends(word, "-")) {
            word[strlen(word) - 1] = '\0';
            cJSON_AddItemToArray(remove, cJSON_CreateString(word));
        } else {
            return err_set(e, ERR_USAGE, "\"%s\" is neither key=value nor key-", word);
        }
        words += n;
    }
    return 0;
}

static int typed_map(call *c, const cJSON *args, const char *map, cJSON **result, err *e);

static int change_map(call *c, const cJSON *args, const char *map, cJSON **result, err *e)
{
    struct target t;
    if (json_str(args, "words"))
        return typed_map(c, args, map, result, e);
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    for (int i = 1;; i++) {
        err why = {0};
        bool changed;
        AUTO_JSON *made = change_once(c, &t, args, map, &changed, &why);
        if (made && k8s_changed(&t, made, changed, result, e) == 0)
            note_map(c, *result, args, map, made);
        if (made)
            return *result ? 0 : -1;
        if (why.code != ERR_CONFLICT || i == TRIES)
            return err_set(e, why.code, "%s", why.text);
    }
}

static int typed_map(call *c, const cJSON *args, const char *map, cJSON **result, err *e)
{
    AUTO_JSON *copy = cJSON_Duplicate(args, true);
    AUTO_FREE char *words = mem_strdup(json_str(args, "words"));
    cJSON_DeleteItemFromObjectCaseSensitive(copy, "words");
    if (take_words(words, str_eq(map, "labels"), copy, e) != 0)
        return -1;
    return change_map(c, copy, map, result, e);
}

void k8s_say_changes(const cJSON *args, bool values, buf *out)
{
    const char *words = json_str(args, "words");
    AUTO_FREE const cJSON **set = json_sorted(json_get(args, "set"));
    const cJSON *item;
    if (words)
        buf_fmt(out, " (%s)", str_short(words, 100).text);
    for (const cJSON **s = set; *s; s++)
        buf_fmt(out, "%s%s%s%s", out->len ? ", " : " (", (*s)->string, values ? "=" : "",
            values && cJSON_IsString(*s) ? (*s)->valuestring : "");
    cJSON_ArrayForEach(item, json_get(args, "remove"))
    {
        buf_fmt(
            out, "%s%s-", out->len ? ", " : " (", cJSON_IsString(item) ? item->valuestring : "");
    }
    buf_str(out, out->len && !words ? ")" : "");
}

bool k8s_replicas(const cJSON *args, int64_t *replicas)
{
    const cJSON *given = json_get(args, "replicas");
    bool known = cJSON_IsString(given) ? str_to_int(given->valuestring, replicas)
                                       : json_int(given, replicas);
    return known && *replicas >= 0;
}

int k8s_label(call *c, const cJSON *args, cJSON **result, err *e)
{
    return change_map(c, args, "labels", result, e);
}

int k8s_annotate(call *c, const cJSON *args, cJSON **result, err *e)
{
    return change_map(c, args, "annotations", result, e);
}

cJSON *k8s_same_object(call *c, struct target *t, const cJSON *args, const cJSON *recorded, err *e)
{
    const cJSON *ref = json_get(recorded, "object");
    if (!ref || k8s_target(c, args, true, t, e) != 0 || k8s_same_cluster(t, ref, e) != 0)
        return NULL;
    err why = {0};
    AUTO_JSON *there = client_get_sub(t->client, &t->patience, t->resource, t->ns, t->name,
        json_str(recorded, "subresource"), &why);
    if (!there && why.code != ERR_NOT_FOUND)
        err_set(e, why.code, "%s", why.text);
    bool goes = json_path_str(there, "metadata.deletionTimestamp");
    bool same = str_eq(json_path_str(there, "metadata.uid"), json_str(ref, "uid"));
    return same && !goes ? STEAL(there) : NULL;
}

static bool add_scalable(void *arg, const struct resource *r)
{
    AUTO_FREE char *name = resource_name(r);
    char ***names = arg;
    if (r->scales && !str_eq((*names)[0] ? (*names)[strv_len(*names) - 1] : NULL, name))
        *names = strv_add(*names, name);
    return true;
}

static int cannot_scale(struct target *t, err *e)
{
    char **names = mem_array(1, sizeof *names);
    AUTO_BUF list = {0};
    if (client_resources(t->client, &t->patience, add_scalable, &names, NULL) == 0)
        for (size_t i = 0; names[i]; i++)
            buf_fmt(&list, "%s%s", i ? ", " : "; these have: ", names[i]);
    strv_free(names);
    return err_set(e, ERR_INVALID, "%s cannot be scaled: the kind has no subresource scale%s",
        t->resource->plural, buf_cstr(&list));
}

// The Scale of the target: {"spec": {"replicas"}, …}.
static cJSON *scale_of(struct target *t, err *e)
{
    if (!t->resource->scales) {
        cannot_scale(t, e);
        return NULL;
    }
    AUTO_JSON *scale =
        client_get_sub(t->client, &t->patience, t->resource, t->ns, t->name, "scale", e);
    if (scale && t->uid && !str_eq(json_path_str(scale, "metadata.uid"), t->uid)) {
        err_set(e, ERR_NOT_FOUND, "%s %s in namespace %s is gone; there is another one of its name",
            t->resource->singular, t->name, t->ns);
        return NULL;
    }
    return STEAL(scale);
}

static cJSON *replicas_patch(int64_t replicas)
{
    cJSON *patch = cJSON_CreateObject();
    json_set_int(json_object_at(patch, "spec"), "replicas", replicas);
    return patch;
}

static cJSON *scale_once(
    struct target *t, const cJSON *args, int64_t replicas, int64_t *before, err *e)
{
    AUTO_JSON *scale = scale_of(t, e);
    if (!scale)
        return NULL;
    *before = json_int_or(json_get(scale, "spec"), "replicas", 0);
    int64_t wanted = json_int_or(args, "current_replicas", *before);
    if (*before != wanted) {
        err_set(e, ERR_FAILED, "%s %s has %lld replicas, not %lld; it stays as it is",
            t->resource->singular, t->name, (long long)*before, (long long)wanted);
        return NULL;
    }
    AUTO_JSON *patch = replicas_patch(replicas);
    cJSON *m = json_object_at(patch, "metadata");
    json_set_str(m, "uid", json_path_str(scale, "metadata.uid"));
    if (json_get(args, "current_replicas"))
        json_set_str(m, "resourceVersion", json_path_str(scale, "metadata.resourceVersion"));
    return client_patch(
        t->client, &t->patience, t->resource, t->ns, t->name, "scale", "merge", patch, e);
}

int k8s_scale(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    int64_t before, replicas;
    if (!k8s_replicas(args, &replicas))
        return err_set(e, ERR_USAGE, "k8s.scale expects how many replicas there shall be");
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    for (int i = 1;; i++) {
        err why = {0};
        AUTO_JSON *made = scale_once(&t, args, replicas, &before, &why);
        if (made && k8s_changed(&t, made, before != replicas, result, e) == 0) {
            AUTO_JSON *patch = replicas_patch(replicas);
            k8s_note_set(c, *result, "merge", patch, made);
            json_set_str(*result, "subresource", "scale");
            json_set_int(*result, "replicas", replicas);
            json_set_int(*result, "before", before);
        }
        if (made)
            return *result ? 0 : -1;
        if (why.code != ERR_CONFLICT || i == TRIES)
            return err_set(e, why.code, "%s", why.text);
    }
}
