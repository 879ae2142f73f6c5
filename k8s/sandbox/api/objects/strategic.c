// SPDX-License-Identifier: MIT
// Strategic merge patch, as k8s.io/apimachinery/pkg/util/strategicpatch applies it: JSON merge, but
// lists that have a merge key are merged item by item, and directives control the rest.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/objects/patch.h"
#include "k8s/sandbox/api/objects/schema.h"

#include <string.h>

#define SET_ORDER   "$setElementOrder/"
#define DELETE_FROM "$deleteFromPrimitiveList/"

static int merge_object(const struct schema *s, cJSON *target, const cJSON *patch, err *e);

static const char *directive(const cJSON *patch)
{
    return json_str(patch, "$patch");
}

// A copy without directives, for members that the original does not have.
static cJSON *plain(const cJSON *patch)
{
    cJSON *copy = cJSON_Duplicate(patch, false);
    const cJSON *p;
    cJSON_ArrayForEach(p, patch)
    {
        if (cJSON_IsArray(patch) && str_eq(directive(p), "delete"))
            continue;
        if (p->string && p->string[0] == '$')
            continue;
        if (cJSON_IsObject(patch) && cJSON_IsNull(p))
            continue;
        cJSON *item = cJSON_IsObject(p) || cJSON_IsArray(p) ? plain(p) : cJSON_Duplicate(p, true);
        if (p->string)
            json_set(copy, p->string, item);
        else
            cJSON_AddItemToArray(copy, item);
    }
    return copy;
}

// The item of a list that `like` names: by the merge key, or for scalars by value.
static cJSON *find_item(const cJSON *list, const char *key, const cJSON *like)
{
    cJSON *item;
    const cJSON *wanted = *key ? json_get(like, key) : like;
    cJSON_ArrayForEach(item,
        list) if (wanted && json_equal(*key ? json_get(item, key) : item, wanted)) return item;
    return NULL;
}

static int merge_item(const struct schema_field *f, cJSON *list, const cJSON *p, err *e)
{
    cJSON *old = find_item(list, f->keys, p);
    if (*f->keys && !json_get(p, f->keys))
        return err_set(
            e, ERR_USAGE, "map: %s does not contain declared merge key: %s", f->name, f->keys);
    if (str_eq(directive(p), "delete")) {
        cJSON_Delete(old ? cJSON_DetachItemViaPointer(list, old) : NULL);
        return 0;
    }
    if (old)
        return *f->keys ? merge_object(f->type, old, p, e) : 0;
    cJSON_AddItemToArray(list, *f->keys ? plain(p) : cJSON_Duplicate(p, true));
    return 0;
}

static int merge_list(const struct schema_field *f, cJSON *list, const cJSON *patch, err *e)
{
    const cJSON *p;
    cJSON_ArrayForEach(p, patch) if (str_eq(directive(p), "replace"))
    {
        while (list->child)
            cJSON_DeleteItemFromArray(list, 0);
        break;
    }
    cJSON_ArrayForEach(p, patch)
    {
        if (str_eq(directive(p), "replace") && cJSON_GetArraySize(p) == 1)
            continue; // only the directive
        if (merge_item(f, list, p, e) != 0)
            return -1;
    }
    return 0;
}

static int position(const cJSON *list, const cJSON *item)
{
    int i = 0;
    const cJSON *at;
    cJSON_ArrayForEach(at, list)
    {
        if (at == item)
            return i;
        i++;
    }
    return -1;
}

static void move_copy(cJSON *to, const cJSON *item)
{
    cJSON_AddItemToArray(to, cJSON_Duplicate(item, true));
}

// $setElementOrder: puts the named items in that order. Each other item stays in front of the item
// that it preceded before. Items from `old_n` on are new and preceded nothing.
static void reorder(const struct schema_field *f, cJSON *list, const cJSON *order, int old_n)
{
    cJSON *was = cJSON_Duplicate(list, true);
    const cJSON *o, *other = was->child;
    int next = 0; // the index of `other`
    while (list->child)
        cJSON_DeleteItemFromArray(list, 0);
    cJSON_ArrayForEach(o, order)
    {
        cJSON *found = find_item(was, f->keys, o);
        int at = found ? position(was, found) : -1;
        for (; next < at && at < old_n; next++, other = other->next)
            if (!find_item(order, f->keys, other))
                move_copy(list, other);
        if (found)
            move_copy(list, found);
    }
    for (; other; other = other->next)
        if (!find_item(order, f->keys, other))
            move_copy(list, other);
    cJSON_Delete(was);
}

static void delete_values(cJSON *list, const cJSON *values)
{
    const cJSON *v;
    cJSON_ArrayForEach(v, values)
    {
        cJSON *item = find_item(list, "", v);
        cJSON_Delete(item ? cJSON_DetachItemViaPointer(list, item) : NULL);
    }
}

static int merge_field(const struct schema_field *f, cJSON *target, const cJSON *p, err *e)
{
    cJSON *old = (cJSON *)json_get(target, p->string);
    if (cJSON_IsNull(p)) {
        cJSON_DeleteItemFromObjectCaseSensitive(target, p->string);
        return 0;
    }
    if (cJSON_IsObject(p) && cJSON_IsObject(old))
        return merge_object(f && f->shape == SHAPE_ONE ? f->type : NULL, old, p, e);
    if (cJSON_IsArray(p) && cJSON_IsArray(old) && f && f->keys)
        return merge_list(f, old, p, e);
    if (cJSON_IsArray(p) && f && f->keys) {
        json_set(target, p->string, cJSON_CreateArray());
        return merge_list(f, (cJSON *)json_get(target, p->string), p, e);
    }
    json_set(target, p->string,
        cJSON_IsObject(p) || cJSON_IsArray(p) ? plain(p) : cJSON_Duplicate(p, true));
    return 0;
}

static void retain_keys(cJSON *target, const cJSON *keys)
{
    for (cJSON *item = target->child, *next; keys && item; item = next) {
        next = item->next;
        cJSON name = {.type = cJSON_String, .valuestring = item->string};
        if (!find_item(keys, "", &name))
            cJSON_Delete(cJSON_DetachItemViaPointer(target, item));
    }
}

// sizes: the lengths of the lists before the merge.
static void apply_list_directives(
    const struct schema *s, cJSON *target, const cJSON *sizes, const cJSON *patch)
{
    const cJSON *p;
    cJSON_ArrayForEach(p, patch)
    {
        const char *name = strchr(p->string, '/');
        const struct schema_field *f = name ? schema_field(s, name + 1) : NULL;
        cJSON *list = name ? (cJSON *)json_get(target, name + 1) : NULL;
        if (!cJSON_IsArray(list))
            continue;
        if (str_starts(p->string, DELETE_FROM))
            delete_values(list, p);
        else if (str_starts(p->string, SET_ORDER) && f && f->keys)
            reorder(f, list, p, (int)json_int_or(sizes, name + 1, 0));
    }
}

static cJSON *list_sizes(const cJSON *o)
{
    cJSON *sizes = cJSON_CreateObject();
    const cJSON *v;
    cJSON_ArrayForEach(v, o) if (cJSON_IsArray(v))
        json_set_int(sizes, v->string, cJSON_GetArraySize(v));
    return sizes;
}

static int merge_object(const struct schema *s, cJSON *target, const cJSON *patch, err *e)
{
    const char *what = directive(patch);
    if (str_eq(what, "replace") || str_eq(what, "delete"))
        while (target->child)
            cJSON_Delete(cJSON_DetachItemViaPointer(target, target->child));
    if (str_eq(what, "delete"))
        return 0;
    if (what && !str_eq(what, "replace") && !str_eq(what, "merge"))
        return err_set(e, ERR_USAGE, "unknown patch type: %s", what);
    retain_keys(target, json_get(patch, "$retainKeys"));
    AUTO_JSON *sizes = list_sizes(target);
    const cJSON *p;
    cJSON_ArrayForEach(p, patch) if (p->string[0] != '$' && merge_field(schema_field(s, p->string),
                                                                target, p, e) != 0) return -1;
    apply_list_directives(s, target, sizes, patch);
    return 0;
}

cJSON *patch_strategic(const struct kind *k, const cJSON *object, const cJSON *patch, err *e)
{
    if (!cJSON_IsObject(patch)) {
        err_set(e, ERR_USAGE, "error decoding patch: not an object");
        return NULL;
    }
    cJSON *result = cJSON_Duplicate(object, true);
    if (merge_object(schema_of(k), result, patch, e) == 0)
        return result;
    cJSON_Delete(result);
    return NULL;
}
