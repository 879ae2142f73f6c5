// SPDX-License-Identifier: MIT
// What calls set in an object that is there: they keep the fields with digests of the values that
// the server left in them, and a verification and a look compare these with the object as it is
// now. The values themselves may be passwords, and are kept nowhere.
//
//   patch {spec: {paused: true}} ──> answer ──> result.set {"/spec/paused": "5b2c…"}
//
// A resumed run does a call again whose fields have moved. What a later call of the run has set
// itself does not count.
#include "base/jsonpointer.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/bind/k8s.h"

#include <string.h>

enum { FIELDS_MAX = 20 };

// The form in which a value is kept and compared; new.
static cJSON *kept(call *c, const cJSON *value)
{
    char hex[SHA256_HEX];
    if (!value)
        return cJSON_CreateNull();
    call_digest(c, value, hex);
    return cJSON_CreateString(hex);
}

struct notes {
    call *call;
    cJSON *set;
    const cJSON *made;
    bool strategic, secret;
};

// What a patch says of its object before it changes it; and of a Secret nothing that holds its
// data, with which kubectl fills an annotation, too.
static bool is_left_out(const struct notes *n, const char *pointer)
{
    static const char *const hidden[] = {"/data", "/stringData",
        "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"};
    for (size_t i = 0; n->secret && i < ARRAY_LEN(hidden); i++)
        if (json_pointer_overlap(pointer, hidden[i]))
            return true;
    return str_eq(pointer, "/metadata/uid") || str_eq(pointer, "/metadata/resourceVersion");
}

static void note_value(struct notes *n, const char *pointer)
{
    if (!is_left_out(n, pointer))
        json_set(n->set, pointer, kept(n->call, json_pointer_get(n->made, pointer)));
}

// The place of a strategic patch's item in the list of the answer: by the key that the API merges
// such items by. -1: it is not there.
static int place_of(const cJSON *item, const cJSON *list)
{
    static const char *const keys[] = {"name", "containerPort", "port", "mountPath", "devicePath",
        "ip", "type", "topologyKey", "key", "uid"};
    size_t k = 0;
    while (k < ARRAY_LEN(keys) && !json_get(item, keys[k]))
        k++;
    if (k == ARRAY_LEN(keys))
        return -1;
    const cJSON *other;
    int i = 0;
    cJSON_ArrayForEach(other, list)
    {
        if (json_equal(json_get(item, keys[k]), json_get(other, keys[k])))
            return i;
        i++;
    }
    return -1;
}

static void note_members(struct notes *n, const char *pointer, const cJSON *patch);

static void note_items(struct notes *n, const char *pointer, const cJSON *patch)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, patch)
    {
        int i = place_of(item, json_pointer_get(n->made, pointer));
        AUTO_FREE char *at = str_fmt("%s/%d", pointer, i);
        if (i >= 0)
            note_members(n, at, item);
    }
}

static void note_members(struct notes *n, const char *pointer, const cJSON *patch)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, patch)
    {
        AUTO_BUF at = {0};
        buf_str(&at, pointer);
        json_pointer_add(&at, member->string);
        if (n->strategic && *member->string == '$')
            continue; // how lists are merged
        if (cJSON_IsObject(member))
            note_members(n, buf_cstr(&at), member);
        else if (n->strategic && cJSON_IsArray(member) && cJSON_IsObject(member->child))
            note_items(n, buf_cstr(&at), member);
        else
            note_value(n, buf_cstr(&at));
    }
}

// An item that comes or goes moves those behind it: then the list is what was set.
static void note_place(struct notes *n, const char *pointer, bool replaced)
{
    char *last = NULL;
    const cJSON *parent = json_pointer_parent((cJSON *)n->made, pointer, &last);
    free(last);
    AUTO_FREE char *list =
        parent ? mem_strndup(pointer, (size_t)(strrchr(pointer, '/') - pointer)) : NULL;
    note_value(n, cJSON_IsArray(parent) && !replaced ? list : pointer);
}

static void note_operations(struct notes *n, const cJSON *operations)
{
    const cJSON *o;
    cJSON_ArrayForEach(o, operations)
    {
        const char *op = json_str_or(o, "op", "");
        if (str_eq(op, "test"))
            continue;
        note_place(n, json_str_or(o, "path", ""), str_eq(op, "replace"));
        if (str_eq(op, "move"))
            note_place(n, json_str_or(o, "from", ""), false);
    }
}

void k8s_note_set(call *c, cJSON *result, const char *type, const cJSON *patch, const cJSON *made)
{
    struct notes n = {.call = c,
        .set = json_object_at(result, "set"),
        .made = made,
        .strategic = str_eq(type, "strategic"),
        .secret = str_eq(json_str(made, "kind"), "Secret")};
    if (cJSON_IsArray(patch))
        note_operations(&n, patch);
    else
        note_members(&n, "", patch);
}

// Does one place lie in the other?
static bool overlap(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    const char *longer = n < m ? b : a;
    return strncmp(a, b, n < m ? n : m) == 0 && (n == m || strchr(".[", longer[n < m ? n : m]));
}

cJSON *k8s_own_changes(call *c, const char *uid)
{
    AUTO_JSON *own = cJSON_CreateObject();
    return call_changed_later(c, uid, own) ? NULL : STEAL(own);
}

bool k8s_moved_by_others(const cJSON *own, cJSON *fields)
{
    const cJSON *set;
    cJSON_ArrayForEach(set, own)
    {
        AUTO_BUF place = {0};
        json_pointer_say(&place, set->string);
        for (cJSON *field = fields->child, *next; field; field = next) {
            next = field->next;
            if (overlap(field->valuestring, buf_cstr(&place)))
                cJSON_Delete(cJSON_DetachItemViaPointer(fields, field));
        }
    }
    return fields->child != NULL;
}

char *k8s_say_moved(const char *kind, const char *name, const cJSON *fields)
{
    AUTO_BUF text = {0};
    const cJSON *field;
    buf_fmt(&text, "%s %s has changed: ", kind, name);
    cJSON_ArrayForEach(field, fields)
    {
        buf_fmt(
            &text, "%s%s", field->prev && field != fields->child ? ", " : "", field->valuestring);
    }
    return mem_strdup(buf_cstr(&text));
}

// The fields that are not as the call left them: an array of texts, new.
static cJSON *moved(call *c, const cJSON *set, const cJSON *there)
{
    cJSON *fields = cJSON_CreateArray();
    const cJSON *then;
    cJSON_ArrayForEach(then, set)
    {
        AUTO_JSON *now = kept(c, json_pointer_get(there, then->string));
        if (json_equal(now, then) || cJSON_GetArraySize(fields) == FIELDS_MAX)
            continue;
        AUTO_BUF name = {0};
        json_pointer_say(&name, then->string);
        cJSON_AddItemToArray(fields, cJSON_CreateString(buf_cstr(&name)));
    }
    return fields;
}

// The object in which fields were set, or the part of it that the call named; new. NULL with
// ERR_NONE: it is gone.
static cJSON *find(call *c, struct target *t, const cJSON *args, const cJSON *recorded, err *e)
{
    const char *part = json_str(recorded, "subresource");
    cJSON *there = k8s_same_object(c, t, args, recorded, e);
    if (!there || !part)
        return there;
    cJSON_Delete(there);
    return client_get_sub(t->client, &t->patience, t->resource, t->ns, t->name, part, e);
}

int k8s_verify_set(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    struct target t;
    err why = {0};
    const cJSON *set = json_get(recorded, "set");
    if (!set)
        return VERDICT_NO;
    AUTO_JSON *there = find(c, &t, args, recorded, &why);
    if (why.code)
        return err_set(e, why.code, "%s", why.text);
    if (!there)
        return VERDICT_NO;
    AUTO_JSON *own = k8s_own_changes(c, json_path_str(recorded, "object.uid"));
    AUTO_JSON *fields = moved(c, set, there);
    return own && k8s_moved_by_others(own, fields) ? VERDICT_NO : VERDICT_YES;
}

void k8s_look_set(call *c, const cJSON *args, const cJSON *recorded, struct glance *g, err *e)
{
    struct target t;
    AUTO_JSON *there = find(c, &t, args, recorded, e);
    const cJSON *object = json_get(recorded, "object");
    const char *name = json_str_or(object, "name", ""), *kind = json_str_or(object, "kind", "");
    if (e->code)
        return;
    free(STEAL(g->why));
    AUTO_JSON *own = k8s_own_changes(c, json_str(object, "uid"));
    AUTO_JSON *fields = moved(c, json_get(recorded, "set"), there);
    if (!there && own)
        g->why = str_fmt("%s %s is gone", kind, name);
    else if (own && k8s_moved_by_others(own, fields))
        g->why = k8s_say_moved(kind, name, fields);
}
