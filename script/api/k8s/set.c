// SPDX-License-Identifier: MIT
// What calls set in an object that is there: they keep the fields with digests of the values that
// the server left in them, and a verification and a look compare these with the object as it is
// now. The values themselves may be passwords, and are kept nowhere.
//
//   patch {spec: {paused: true}} ──> answer ──> result.set {"/spec/paused": "5b2c…"}
//
// A resumed run does a call again whose fields have moved. What a later call of the run has set
// itself does not count.
#include "base/json/jsonpointer.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/manifest/patched.h"
#include "script/api/k8s/k8s.h"

enum { SAID_MAX = 20 };

// The form in which a value is kept and compared; new.
static cJSON *kept(call *c, const cJSON *value)
{
    char hex[SHA256_HEX];
    if (!value)
        return cJSON_CreateNull();
    call_digest(c, value, hex);
    return cJSON_CreateString(hex);
}

// What a patch says of its object before it changes it; and of a Secret nothing that holds its
// data, with which kubectl fills an annotation, too.
static bool is_left_out(bool secret, const char *pointer)
{
    static const char *const hidden[] = {"/data", "/stringData",
        "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"};
    for (size_t i = 0; secret && i < ARRAY_LEN(hidden); i++)
        if (json_pointer_overlap(pointer, hidden[i]))
            return true;
    return str_eq(pointer, "/metadata/uid") || str_eq(pointer, "/metadata/resourceVersion");
}

void k8s_note_set(call *c, cJSON *result, const char *type, const cJSON *patch, const cJSON *made)
{
    bool secret = str_eq(json_str(made, "kind"), "Secret");
    cJSON *set = json_object_at(result, "set");
    AUTO_JSON *fields = patched_fields(type, patch, made);
    const cJSON *field;
    cJSON_ArrayForEach(field, fields)
    {
        const char *pointer = field->valuestring;
        if (!is_left_out(secret, pointer))
            json_set(set, pointer, kept(c, json_pointer_get(made, pointer)));
    }
}

cJSON *k8s_own_changes(call *c, const char *uid)
{
    AUTO_JSON *own = cJSON_CreateObject();
    return call_changed_later(c, uid, own) ? NULL : STEAL(own);
}

static bool is_own(const cJSON *own, const char *pointer)
{
    const cJSON *set;
    cJSON_ArrayForEach(set, own)
    {
        if (json_pointer_overlap(pointer, set->string))
            return true;
    }
    return false;
}

cJSON *k8s_moved_by_others(const cJSON *own, const cJSON *fields)
{
    AUTO_JSON *said = cJSON_CreateArray();
    const cJSON *field;
    int more = 0;
    cJSON_ArrayForEach(field, fields)
    {
        AUTO_BUF name = {0};
        if (is_own(own, field->valuestring))
            continue;
        if (cJSON_GetArraySize(said) == SAID_MAX) {
            more++;
            continue;
        }
        json_pointer_say(&name, field->valuestring);
        cJSON_AddItemToArray(said, cJSON_CreateString(buf_cstr(&name)));
    }
    AUTO_FREE char *rest = str_fmt("%d more", more);
    if (more)
        cJSON_AddItemToArray(said, cJSON_CreateString(rest));
    return said->child ? STEAL(said) : NULL;
}

char *k8s_say_moved(const char *kind, const char *name, const cJSON *said)
{
    AUTO_BUF text = {0};
    const cJSON *field;
    buf_fmt(&text, "%s %s has changed: ", kind, name);
    cJSON_ArrayForEach(field, said)
    {
        buf_fmt(&text, "%s%s", field == said->child ? "" : ", ", field->valuestring);
    }
    return mem_strdup(buf_cstr(&text));
}

// The fields that are not as the call left them, as k8s_moved_by_others says them; new. NULL: none.
// The ledger is asked only when something has moved.
static cJSON *moved(call *c, const cJSON *recorded, const cJSON *there)
{
    AUTO_JSON *fields = cJSON_CreateArray();
    const cJSON *then;
    cJSON_ArrayForEach(then, json_get(recorded, "set"))
    {
        AUTO_JSON *now = kept(c, json_pointer_get(there, then->string));
        if (!json_equal(now, then))
            cJSON_AddItemToArray(fields, cJSON_CreateString(then->string));
    }
    AUTO_JSON *own =
        fields->child ? k8s_own_changes(c, json_path_str(recorded, "object.uid")) : NULL;
    return own ? k8s_moved_by_others(own, fields) : NULL;
}

// Has the run itself removed the object since, or changed it without telling what?
static bool is_own_end(call *c, const cJSON *recorded)
{
    AUTO_JSON *own = k8s_own_changes(c, json_path_str(recorded, "object.uid"));
    return !own;
}

int k8s_verify_set(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    struct target t;
    err why = {0};
    if (!json_get(recorded, "set"))
        return VERDICT_NO;
    AUTO_JSON *there = k8s_same_object(c, &t, args, recorded, &why);
    if (why.code)
        return err_set(e, why.code, "%s", why.text);
    AUTO_JSON *said = there ? moved(c, recorded, there) : NULL;
    return said || (!there && !is_own_end(c, recorded)) ? VERDICT_NO : VERDICT_YES;
}

void k8s_look_set(call *c, const cJSON *args, const cJSON *recorded, struct glance *g, err *e)
{
    ERR_GUARD(e);
    struct target t;
    AUTO_JSON *there = k8s_same_object(c, &t, args, recorded, e);
    const cJSON *object = json_get(recorded, "object");
    const char *name = json_str_or(object, "name", ""), *kind = json_str_or(object, "kind", "");
    if (e->code)
        return;
    free(STEAL(g->why));
    AUTO_JSON *said = there ? moved(c, recorded, there) : NULL;
    if (said)
        g->why = k8s_say_moved(kind, name, said);
    else if (!there && !is_own_end(c, recorded))
        g->why = str_fmt("%s %s is gone", kind, name);
}
