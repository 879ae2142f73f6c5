// SPDX-License-Identifier: MIT
#include "base/data/digest.h"
#include "base/json/jsonpointer.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/manifest/manifest.h"
#include "script/api/k8s/k8s.h"

#include <string.h>

enum { NAME_STEM = 55 }; // with 8 digits a name fits into a label, 63 bytes

void k8s_mark(call *c, cJSON *metadata)
{
    AUTO_FREE char *run = manifest_label_value(call_run(c));
    cJSON *labels = json_object_at(metadata, "labels");
    if (*run) // a manifest may come from an object of another run
        json_set_str(labels, LABEL_RUN, run);
    json_set_str(labels, LABEL_ENTRY, call_mark(c));
    if (call_notebook(c))
        json_set_str(json_object_at(metadata, "annotations"), NOTE_NOTEBOOK, call_notebook(c));
    if (call_commit(c))
        json_set_str(json_object_at(metadata, "annotations"), NOTE_COMMIT, call_commit(c));
}

static void keep(const cJSON *has, const char *const names[2], cJSON *list)
{
    for (size_t i = 0; i < 2; i++) {
        cJSON_DeleteItemFromObjectCaseSensitive(list, names[i]);
        json_set_str(list, names[i], json_str(has, names[i]));
    }
}

void k8s_keep_marks(const cJSON *there, cJSON *metadata)
{
    const cJSON *notes = json_path(there, "metadata.annotations");
    keep(json_path(there, "metadata.labels"), (const char *const[]){LABEL_RUN, LABEL_ENTRY},
        json_object_at(metadata, "labels"));
    if (!json_get(metadata, "annotations") && !notes)
        return;
    cJSON *own = json_object_at(metadata, "annotations");
    keep(notes, (const char *const[]){NOTE_NOTEBOOK, NOTE_COMMIT}, own);
    if (!own->child)
        cJSON_DeleteItemFromObjectCaseSensitive(metadata, "annotations");
}

const char *k8s_name(call *c, cJSON *metadata)
{
    const char *stem = json_str(metadata, "generateName"), *mark = call_mark(c);
    if (!stem || !mark)
        return NULL;
    char hex[SHA256_HEX];
    sha256_hex(mark, strlen(mark), hex);
    AUTO_FREE char *name = str_fmt("%.*s%.8s", NAME_STEM, stem, hex);
    json_set_str(metadata, "name", name);
    return json_str(metadata, "name");
}

bool k8s_is_marked(call *c, const cJSON *object)
{
    const cJSON *labels = json_path(object, "metadata.labels");
    return str_eq(json_str(labels, LABEL_ENTRY), call_mark(c));
}

// Is the object this run's? One without a mark was made by an older firesteel.
static bool is_ours(call *c, const cJSON *object)
{
    AUTO_FREE char *run = manifest_label_value(call_run(c));
    const cJSON *labels = json_path(object, "metadata.labels");
    const char *mark = json_str(labels, LABEL_ENTRY);
    return str_eq(json_str(labels, LABEL_RUN), run) && (!mark || call_is_marked(c, mark));
}

// Finds it by its labels, if its name is unknown: the journal hides a secret in it, or is an older
// one.
static int find_marked(call *c, struct target *t, cJSON **there, err *e)
{
    AUTO_FREE char *run = manifest_label_value(call_run(c));
    AUTO_FREE char *labels = str_fmt(LABEL_RUN "=%s," LABEL_ENTRY "=%s", run, call_mark(c));
    AUTO_JSON *list = client_list(t->client, &t->patience, t->resource,
        t->resource->namespaced ? t->ns : NULL, &(struct list_query){.labels = labels}, e);
    if (!list)
        return -1;
    cJSON *items = (cJSON *)json_get(list, "items");
    *there = items && items->child ? cJSON_DetachItemFromArray(items, 0) : NULL;
    return 0;
}

static int find_named(struct target *t, const char *name, cJSON **there, err *e)
{
    err why = {0};
    *there = client_get(t->client, &t->patience, t->resource, t->ns, name, &why);
    return *there || why.code == ERR_NOT_FOUND ? 0 : err_set(e, why.code, "%s", why.text);
}

static void say(char **why, const char *text)
{
    if (why)
        *why = mem_strdup(text);
}

int k8s_look(call *c, struct target *t, const cJSON *recorded, cJSON **there, char **why, err *e)
{
    const char *name = json_str(recorded, "name"), *uid = json_str(recorded, "uid");
    *there = NULL;
    if (k8s_same_cluster(t, recorded, e) != 0)
        return -1;
    t->ns = json_str_or(recorded, "namespace", t->ns);
    bool known = name && !call_is_hidden(name);
    if ((known ? find_named(t, name, there, e) : find_marked(c, t, there, e)) != 0)
        return -1;
    if (!*there) {
        say(why, "was not there");
        return 0;
    }
    const char *now = json_path_str(*there, "metadata.uid");
    bool made = json_bool_or(recorded, "created", true); // we made it: it has our marks
    if ((uid && !str_eq(now, uid)) || (made && !is_ours(c, *there))) {
        say(why, uid && !str_eq(now, uid) ? "was not there; another one has its name now"
                 : uid                    ? "is not marked as this run's any more; left as it is"
                       : "the one with that name is not this run's; left as it is");
        cJSON_Delete(STEAL(*there));
        return 0;
    }
    t->name = json_path_str(*there, "metadata.name");
    t->uid = now;
    return 0;
}

// Fields that the server writes: they may differ although nobody has changed them.
static bool is_servers(const char *pointer)
{
    static const char *const fields[] = {"/status", "/metadata/managedFields",
        "/metadata/resourceVersion", "/metadata/generation", "/metadata/creationTimestamp",
        "/metadata/selfLink", LABEL_ENTRY_POINTER};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (str_eq(pointer, fields[i]))
            return true;
    return false;
}

static void differences(const char *pointer, const cJSON *a, const cJSON *b, cJSON *out);

// Controllers that write a whole object back write its empty fields, too (Argo's into a Workflow's
// spec).
static bool is_empty(const cJSON *value)
{
    bool list = cJSON_IsObject(value) || cJSON_IsArray(value);
    return list ? !value->child : cJSON_IsString(value) && !*value->valuestring;
}

// there: a is the object as it is.
static void compare_keys(
    const char *pointer, const cJSON *a, const cJSON *b, bool there, cJSON *out)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, a)
    {
        const cJSON *other = json_get(b, item->string);
        if (other && !there)
            continue; // compared from the other side
        if (!other && there && is_empty(item))
            continue;
        AUTO_BUF at = {0};
        buf_str(&at, pointer);
        json_pointer_add(&at, item->string);
        differences(buf_cstr(&at), item, other, out);
    }
}

static void compare_items(const char *pointer, const cJSON *a, const cJSON *b, cJSON *out)
{
    int i = 0;
    for (const cJSON *x = a->child, *y = b->child; x; x = x->next, y = y->next) {
        AUTO_FREE char *at = str_fmt("%s/%d", pointer, i++);
        differences(at, x, y, out);
    }
}

static void differences(const char *pointer, const cJSON *a, const cJSON *b, cJSON *out)
{
    if (is_servers(pointer) || json_equal(a, b))
        return;
    if (cJSON_IsObject(a) && cJSON_IsObject(b)) {
        compare_keys(pointer, a, b, true, out);
        compare_keys(pointer, b, a, false, out);
    } else if (cJSON_IsArray(a) && cJSON_IsArray(b) &&
               cJSON_GetArraySize(a) == cJSON_GetArraySize(b)) {
        compare_items(pointer, a, b, out);
    } else {
        cJSON_AddItemToArray(out, cJSON_CreateString(pointer));
    }
}

cJSON *k8s_differences(struct target *t, const cJSON *manifest, const cJSON *there, err *e)
{
    AUTO_JSON *wanted = cJSON_Duplicate(manifest, true);
    cJSON *m = json_object_at(wanted, "metadata");
    json_set_str(m, "name", t->name);
    cJSON_DeleteItemFromObjectCaseSensitive(m, "generateName");
    k8s_keep_marks(there, m);
    AUTO_JSON *would_be = client_apply(t->client, &t->patience, t->resource, wanted, true, true, e);
    if (!would_be) {
        err_wrap(e, "comparing it with its manifest");
        return NULL;
    }
    cJSON *fields = cJSON_CreateArray();
    differences("", there, would_be, fields);
    return fields;
}
