// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/objects/managed.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/objects/fieldset.h"
#include "k8s/sandbox/api/objects/status.h"
#include "k8s/sandbox/store/object.h"

#include <string.h>

// The object without the fields that the server manages, and without the part that the subresource
// does not write.
static cJSON *own_part(const cJSON *o, const char *subresource)
{
    static const char *const system_fields[] = {"name", "namespace", "uid", "resourceVersion",
        "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
        "managedFields", "selfLink", "generateName"};
    bool status = str_eq(subresource, "status");
    cJSON *part = cJSON_CreateObject();
    const cJSON *v;
    cJSON_ArrayForEach(v, o)
    {
        bool type = str_eq(v->string, "apiVersion") || str_eq(v->string, "kind");
        if (!type && str_eq(v->string, "status") == status)
            json_set(part, v->string, cJSON_Duplicate(v, true));
    }
    cJSON *meta = (cJSON *)json_get(part, "metadata");
    for (size_t i = 0; meta && i < ARRAY_LEN(system_fields); i++)
        cJSON_DeleteItemFromObjectCaseSensitive(meta, system_fields[i]);
    if (meta && !meta->child)
        cJSON_DeleteItemFromObjectCaseSensitive(part, "metadata");
    return part;
}

static cJSON *changed(
    const struct kind *k, const cJSON *old, const cJSON *o, const char *subresource)
{
    AUTO_JSON *before = old ? own_part(old, subresource) : NULL;
    AUTO_JSON *after = own_part(o, subresource);
    return fieldset_changed(schema_of(k), before, after);
}

static bool is_entry(const cJSON *entry, struct managed_writer w, const char *operation)
{
    return str_eq(json_str(entry, "manager"), w.manager) &&
           str_eq(json_str(entry, "operation"), operation) &&
           str_eq(json_str_or(entry, "subresource", ""), w.subresource);
}

static cJSON *find_entry(const cJSON *list, struct managed_writer w, const char *operation)
{
    cJSON *entry;
    cJSON_ArrayForEach(entry, list) if (is_entry(entry, w, operation)) return entry;
    return NULL;
}

static const cJSON *fields_of(const cJSON *entry)
{
    return json_get(entry, "fieldsV1");
}

// Sets an entry's fields (taken); an entry without fields is removed.
static void set_fields(cJSON *list, cJSON *entry, cJSON *fields)
{
    if (fieldset_is_empty(fields)) {
        cJSON_Delete(fields);
        cJSON_Delete(cJSON_DetachItemViaPointer(list, entry));
        return;
    }
    json_set(entry, "fieldsV1", fields);
}

static cJSON *add_entry(
    const struct kind *k, cJSON *list, struct managed_writer w, const char *operation)
{
    AUTO_FREE char *api = kind_api_version(k);
    cJSON *entry = find_entry(list, w, operation);
    if (!entry) {
        entry = cJSON_CreateObject();
        json_set_str(entry, "manager", w.manager);
        json_set_str(entry, "operation", operation);
        cJSON_AddItemToArray(list, entry);
    }
    json_set_str(entry, "apiVersion", api);
    object_set_time(entry, "time", w.now);
    json_set_str(entry, "fieldsType", "FieldsV1");
    if (*w.subresource)
        json_set_str(entry, "subresource", w.subresource);
    return entry;
}

// Removes the fields from every other entry.
static void take_from_others(cJSON *list, const cJSON *mine, const cJSON *fields)
{
    for (cJSON *entry = list->child, *next; entry; entry = next) {
        next = entry->next;
        if (entry != mine)
            set_fields(list, entry, fieldset_minus(fields_of(entry), fields));
    }
}

// Removes fields from entries that the object no longer has.
static void drop_missing(const struct kind *k, cJSON *list, const cJSON *json)
{
    AUTO_JSON *all = changed(k, NULL, json, "");
    AUTO_JSON *status = changed(k, NULL, json, "status");
    for (cJSON *entry = list->child, *next; entry; entry = next) {
        next = entry->next;
        bool of_status = str_eq(json_str(entry, "subresource"), "status");
        set_fields(list, entry, fieldset_common(fields_of(entry), of_status ? status : all));
    }
}

static cJSON *start_list(const cJSON *old, cJSON *json)
{
    const cJSON *was = json_path(old, "metadata.managedFields");
    cJSON *meta = json_object_at(json, "metadata");
    cJSON *list = cJSON_IsArray(was) ? cJSON_Duplicate(was, true) : cJSON_CreateArray();
    for (cJSON *entry = list->child, *next; entry; entry = next) {
        next = entry->next;
        if (!fieldset_is_valid(fields_of(entry)))
            cJSON_Delete(cJSON_DetachItemViaPointer(list, entry));
    }
    json_set(meta, "managedFields", list);
    return list;
}

void managed_update(const struct kind *k, const cJSON *old, cJSON *json, struct managed_writer w)
{
    AUTO_JSON *set = changed(k, old, json, w.subresource);
    cJSON *list = start_list(old, json);
    if (!fieldset_is_empty(set)) {
        cJSON *entry = add_entry(k, list, w, "Update");
        json_set(entry, "fieldsV1", fieldset_union(fields_of(entry), set));
        take_from_others(list, entry, set);
    }
    if (old)
        drop_missing(k, list, json);
}

struct conflict_list {
    cJSON **causes;
    const char *manager, *api; // api: "" for what was applied
};

static void add_conflict(void *arg, const char *path)
{
    struct conflict_list *c = arg;
    causes_add(c->causes, "FieldManagerConflict", path, "conflict with \"%s\"%s%s", c->manager,
        *c->api ? " using " : "", c->api);
}

static void find_conflicts(
    const cJSON *list, struct managed_writer w, const cJSON *changes, cJSON **causes)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, list)
    {
        if (is_entry(entry, w, "Apply"))
            continue;
        AUTO_JSON *common = fieldset_common(changes, fields_of(entry));
        bool applied = str_eq(json_str(entry, "operation"), "Apply");
        struct conflict_list c = {causes, json_str_or(entry, "manager", ""),
            applied ? "" : json_str_or(entry, "apiVersion", "")};
        fieldset_each(common, add_conflict, &c);
    }
}

// The fields that this manager applied before and does not now, and that nobody else owns.
static cJSON *given_up(const cJSON *list, struct managed_writer w, const cJSON *now)
{
    const cJSON *entry;
    cJSON *set = fieldset_minus(fields_of(find_entry(list, w, "Apply")), now);
    cJSON_ArrayForEach(entry, list)
    {
        if (is_entry(entry, w, "Apply"))
            continue;
        cJSON *less = fieldset_minus(set, fields_of(entry));
        cJSON_Delete(set);
        set = less;
    }
    return set;
}

cJSON *managed_apply(const struct kind *k, const cJSON *old, const cJSON *config,
    struct managed_writer w, bool force, cJSON **conflicts)
{
    const cJSON *before = json_path(old, "metadata.managedFields");
    AUTO_JSON *part = own_part(config, w.subresource);
    AUTO_JSON *all = fieldset_changed(schema_of(k), NULL, part);
    AUTO_JSON *base = old ? own_part(old, w.subresource) : NULL;
    AUTO_JSON *changes = fieldset_changed(schema_of(k), base, part);
    *conflicts = NULL;
    if (!force)
        find_conflicts(before, w, changes, conflicts);
    if (*conflicts)
        return NULL;
    cJSON *json = cJSON_Duplicate(old ? old : config, true);
    if (old) {
        AUTO_JSON *gone = given_up(before, w, all);
        fieldset_merge(schema_of(k), json, part);
        fieldset_remove(schema_of(k), json, gone);
        const char *version = json_path_str(config, "metadata.resourceVersion");
        if (version)
            json_set_str(json_object_at(json, "metadata"), "resourceVersion", version);
    }
    cJSON *list = start_list(old, json);
    cJSON *was = find_entry(list, w, "Apply");
    bool same = was && !changes && all && json_equal(fields_of(was), all);
    if (!same && all) {
        cJSON *entry = add_entry(k, list, w, "Apply");
        json_set(entry, "fieldsV1", cJSON_Duplicate(all, true));
        if (changes)
            take_from_others(list, entry, changes);
    }
    return json;
}

char *managed_conflict_text(const cJSON *conflicts)
{
    int n = cJSON_GetArraySize(conflicts);
    buf b = {0};
    const cJSON *c;
    const char *last = NULL;
    buf_fmt(&b, "Apply failed with %d conflict%s: ", n, n == 1 ? "" : "s");
    if (n == 1) {
        c = conflicts->child;
        buf_fmt(&b, "%s: %s", json_str(c, "message"), json_str(c, "field"));
        return buf_take(&b);
    }
    cJSON_ArrayForEach(c, conflicts)
    {
        const char *message = json_str_or(c, "message", "");
        if (!str_eq(last, message)) // "conflict with …" becomes "conflicts with …"
            buf_fmt(&b, "%sconflicts%s:", last ? "\n" : "", message + strlen("conflict"));
        buf_fmt(&b, "\n- %s", json_str_or(c, "field", ""));
        last = message;
    }
    return buf_take(&b);
}
