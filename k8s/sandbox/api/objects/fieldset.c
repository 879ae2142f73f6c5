// SPDX-License-Identifier: MIT
// As in https://github.com/kubernetes-sigs/structured-merge-diff, as far as our kinds need it.
#include "k8s/sandbox/api/objects/fieldset.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

// How a value is divided into fields: an object or a map by name, a list by key or by value,
// anything else not at all.
static bool is_keyed(const struct schema_field *f, const cJSON *v)
{
    return f && f->keys && cJSON_IsArray(v);
}

static const struct schema *inside(const struct schema_field *f)
{
    return f && f->shape != SHAPE_MAP ? f->type : NULL;
}

// The name of a list item as a member: `k:{"name":"a"}` or `v:"a"`.
static char *item_name(const struct schema_field *f, const cJSON *item)
{
    AUTO_JSON *key = *f->keys ? cJSON_CreateObject() : cJSON_Duplicate(item, true);
    const cJSON *value = *f->keys ? json_get(item, f->keys) : NULL;
    if (value)
        json_set(key, f->keys, cJSON_Duplicate(value, true));
    AUTO_FREE char *text = json_to_str(key);
    return str_fmt("%c:%s", *f->keys ? 'k' : 'v', text);
}

static cJSON *find_item(const struct schema_field *f, const cJSON *list, const char *wanted)
{
    cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        AUTO_FREE char *name = item_name(f, item);
        if (str_eq(name, wanted))
            return item;
    }
    return NULL;
}

static cJSON *changed_value(const struct schema_field *f, const cJSON *base, const cJSON *v);

static cJSON *changed_items(const struct schema_field *f, const cJSON *base, const cJSON *list)
{
    cJSON *set = cJSON_CreateObject();
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        AUTO_FREE char *name = item_name(f, item);
        const cJSON *old = find_item(f, base, name);
        cJSON *inner = NULL;
        if (cJSON_IsObject(item) && *f->keys)
            inner = fieldset_changed(f->type, old, item);
        if (!old) {
            inner = inner ? inner : cJSON_CreateObject();
            if (*f->keys)
                json_set(inner, ".", cJSON_CreateObject());
        }
        if (inner)
            json_set(set, name, inner);
    }
    return set;
}

// An empty object or list is itself a member, as are the fields inside it that others own.
static cJSON *changed_empty(const cJSON *base, const cJSON *v)
{
    if (base && cJSON_IsArray(base) == cJSON_IsArray(v))
        return NULL;
    cJSON *set = cJSON_CreateObject();
    json_set(set, ".", cJSON_CreateObject());
    return set;
}

static cJSON *changed_value(const struct schema_field *f, const cJSON *base, const cJSON *v)
{
    cJSON *set = NULL;
    bool divides = cJSON_IsObject(v) || is_keyed(f, v);
    if (!divides)
        return base && json_equal(base, v) ? NULL : cJSON_CreateObject();
    if (!v->child)
        return changed_empty(base, v);
    if (cJSON_IsObject(v))
        return fieldset_changed(inside(f), cJSON_IsObject(base) ? base : NULL, v);
    set = changed_items(f, base, v);
    if (set->child)
        return set;
    cJSON_Delete(set);
    return NULL;
}

cJSON *fieldset_changed(const struct schema *s, const cJSON *base, const cJSON *o)
{
    cJSON *set = cJSON_CreateObject();
    const cJSON *v;
    cJSON_ArrayForEach(v, o)
    {
        cJSON *inner = changed_value(schema_field(s, v->string), json_get(base, v->string), v);
        AUTO_FREE char *name = str_fmt("f:%s", v->string);
        if (inner)
            json_set(set, name, inner);
    }
    if (set->child)
        return set;
    cJSON_Delete(set);
    return NULL;
}

bool fieldset_is_valid(const cJSON *set)
{
    const cJSON *v;
    bool valid = !set || cJSON_IsObject(set);
    cJSON_ArrayForEach(v, set) valid = valid && fieldset_is_valid(v);
    return valid;
}

bool fieldset_is_empty(const cJSON *set)
{
    return !set || !set->child;
}

cJSON *fieldset_union(const cJSON *a, const cJSON *b)
{
    cJSON *set = a ? cJSON_Duplicate(a, true) : cJSON_CreateObject();
    const cJSON *v;
    cJSON_ArrayForEach(v, b) json_set(set, v->string, fieldset_union(json_get(set, v->string), v));
    return set;
}

// The members of a that b has, too (`both`), or that b does not have (not `both`).
static cJSON *filter(const cJSON *a, const cJSON *b, bool both)
{
    cJSON *set = cJSON_CreateObject();
    const cJSON *v;
    cJSON_ArrayForEach(v, a)
    {
        const cJSON *other = json_get(b, v->string);
        bool leaf = !v->child || (other && !other->child);
        if (leaf ? !!other == both : (other || !both)) {
            cJSON *inner = leaf ? cJSON_Duplicate(v, true) : filter(v, other, both);
            if (leaf || inner->child)
                json_set(set, v->string, inner);
            else
                cJSON_Delete(inner);
        }
    }
    return set;
}

cJSON *fieldset_minus(const cJSON *a, const cJSON *b)
{
    return filter(a, b, false);
}

cJSON *fieldset_common(const cJSON *a, const cJSON *b)
{
    return filter(a, b, true);
}

// `k:{"name":"a"}` → `[name="a"]`
static void add_path(buf *path, const char *member)
{
    if (member[0] == '.')
        return;
    if (member[0] == 'f') {
        buf_fmt(path, ".%s", member + 2);
        return;
    }
    AUTO_JSON *key = json_parse(member + 2, strlen(member + 2), NULL);
    const cJSON *first = member[0] == 'k' && key ? key->child : NULL;
    AUTO_FREE char *text = first ? json_to_str(first) : NULL;
    if (first)
        buf_fmt(path, "[%s=%s]", first->string, text);
    else
        buf_fmt(path, "[=%s]", member + 2);
}

static void each(const cJSON *set, buf *path, void (*fn)(void *arg, const char *path), void *arg)
{
    const cJSON *v;
    cJSON_ArrayForEach(v, set)
    {
        size_t n = path->len;
        add_path(path, v->string);
        if (v->child)
            each(v, path, fn, arg);
        else
            fn(arg, buf_cstr(path));
        path->len = n;
        path->data[n] = 0;
    }
}

void fieldset_each(const cJSON *set, void (*fn)(void *arg, const char *path), void *arg)
{
    AUTO_BUF path = {0};
    buf_reserve(&path, 1);
    path.data[0] = 0;
    each(set, &path, fn, arg);
}

static void remove_from_list(const struct schema_field *f, cJSON *list, const cJSON *set)
{
    const cJSON *v;
    cJSON_ArrayForEach(v, set)
    {
        cJSON *item = find_item(f, list, v->string);
        if (!item)
            continue;
        if (!v->child || json_get(v, "."))
            cJSON_Delete(cJSON_DetachItemViaPointer(list, item));
        else
            fieldset_remove(f->type, item, v);
    }
}

void fieldset_remove(const struct schema *s, cJSON *o, const cJSON *set)
{
    const cJSON *v;
    cJSON_ArrayForEach(v, set)
    {
        if (v->string[0] != 'f')
            continue;
        const char *name = v->string + 2;
        const struct schema_field *f = schema_field(s, name);
        cJSON *value = (cJSON *)json_get(o, name);
        if (!value)
            continue;
        if (v->child && is_keyed(f, value))
            remove_from_list(f, value, v);
        else if (v->child && cJSON_IsObject(value))
            fieldset_remove(inside(f), value, v);
        // A container that has lost its last member is removed, too.
        bool container = cJSON_IsObject(value) || cJSON_IsArray(value);
        if (!v->child || (container && !value->child))
            cJSON_DeleteItemFromObjectCaseSensitive(o, name);
    }
}

static void merge_list(const struct schema_field *f, cJSON *list, const cJSON *config)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, config)
    {
        AUTO_FREE char *name = item_name(f, item);
        cJSON *old = find_item(f, list, name);
        if (!old)
            cJSON_AddItemToArray(list, cJSON_Duplicate(item, true));
        else if (*f->keys)
            fieldset_merge(f->type, old, item);
    }
}

void fieldset_merge(const struct schema *s, cJSON *o, const cJSON *config)
{
    const cJSON *v;
    cJSON_ArrayForEach(v, config)
    {
        const struct schema_field *f = schema_field(s, v->string);
        cJSON *old = (cJSON *)json_get(o, v->string);
        if (cJSON_IsObject(v) && cJSON_IsObject(old))
            fieldset_merge(inside(f), old, v);
        else if (is_keyed(f, v) && cJSON_IsArray(old))
            merge_list(f, old, v);
        else
            json_set(o, v->string, cJSON_Duplicate(v, true));
    }
}
