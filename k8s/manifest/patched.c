// SPDX-License-Identifier: MIT
#include "k8s/manifest/patched.h"

#include "base/json/jsonpointer.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

struct patched {
    cJSON *fields;
    const cJSON *made;
    bool strategic;
};

static void add(struct patched *p, const char *pointer)
{
    cJSON_AddItemToArray(p->fields, cJSON_CreateString(pointer));
}

// The place of a strategic patch's item in the list of the answer: by the key that the API merges
// such items by. Mounts and ports have names, too. -1: it is not there.
static int place_of(const cJSON *item, const cJSON *list)
{
    static const char *const keys[] = {"mountPath", "devicePath", "containerPort", "port", "uid",
        "ip", "topologyKey", "type", "name"};
    const cJSON *key = NULL, *other;
    for (size_t k = 0; !key && k < ARRAY_LEN(keys); k++)
        key = json_get(item, keys[k]);
    int i = 0;
    cJSON_ArrayForEach(other, list)
    {
        if (key && json_equal(key, json_get(other, key->string)))
            return i;
        i++;
    }
    return -1;
}

// Is each of them in the list of the answer, and known there by its key?
static bool are_known(const cJSON *items, const cJSON *list)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, items)
    {
        if (json_get(item, "$patch") || place_of(item, list) < 0)
            return false;
    }
    return true;
}

static void add_members(struct patched *p, const char *pointer, const cJSON *patch);

static void add_items(struct patched *p, const char *pointer, const cJSON *items)
{
    const cJSON *list = json_pointer_get(p->made, pointer), *item;
    if (!items->child || !are_known(items, list)) {
        add(p, pointer);
        return;
    }
    cJSON_ArrayForEach(item, items)
    {
        AUTO_FREE char *at = str_fmt("%s/%d", pointer, place_of(item, list));
        add_members(p, at, item);
    }
}

// "$deleteFromPrimitiveList/finalizers" changes the list beside it; others only say its order.
static void add_directive(struct patched *p, const char *pointer, const char *name)
{
    static const char from_list[] = "$deleteFromPrimitiveList/";
    AUTO_BUF at = {0};
    buf_str(&at, pointer);
    if (!str_starts(name, from_list))
        return;
    json_pointer_add(&at, name + strlen(from_list));
    add(p, buf_cstr(&at));
}

static void add_member(struct patched *p, const char *pointer, const cJSON *member)
{
    AUTO_BUF at = {0};
    buf_str(&at, pointer);
    json_pointer_add(&at, member->string);
    if (cJSON_IsObject(member))
        add_members(p, buf_cstr(&at), member);
    else if (p->strategic && cJSON_IsArray(member))
        add_items(p, buf_cstr(&at), member);
    else
        add(p, buf_cstr(&at));
}

static void add_members(struct patched *p, const char *pointer, const cJSON *patch)
{
    const cJSON *member;
    if (p->strategic && (json_get(patch, "$patch") || json_get(patch, "$retainKeys"))) {
        add(p, pointer); // its other members go
        return;
    }
    cJSON_ArrayForEach(member, patch)
    {
        if (p->strategic && *member->string == '$')
            add_directive(p, pointer, member->string);
        else
            add_member(p, pointer, member);
    }
}

// An item that comes or goes moves those behind it: then the list is what was set.
static void add_place(struct patched *p, const char *pointer, bool replaced)
{
    char *last = NULL;
    const cJSON *parent = json_pointer_parent((cJSON *)p->made, pointer, &last);
    free(last);
    AUTO_FREE char *list =
        parent ? mem_strndup(pointer, (size_t)(strrchr(pointer, '/') - pointer)) : NULL;
    add(p, cJSON_IsArray(parent) && !replaced ? list : pointer);
}

static void add_operations(struct patched *p, const cJSON *operations)
{
    const cJSON *o;
    cJSON_ArrayForEach(o, operations)
    {
        const char *op = json_str_or(o, "op", "");
        if (str_eq(op, "test"))
            continue;
        add_place(p, json_str_or(o, "path", ""), str_eq(op, "replace"));
        if (str_eq(op, "move"))
            add_place(p, json_str_or(o, "from", ""), false);
    }
}

cJSON *patched_fields(const char *type, const cJSON *patch, const cJSON *made)
{
    struct patched p = {
        .fields = cJSON_CreateArray(), .made = made, .strategic = str_eq(type, "strategic")};
    if (cJSON_IsArray(patch))
        add_operations(&p, patch);
    else
        add_members(&p, "", patch);
    return p.fields;
}
