// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/store/store_private.h"

#include <stdio.h>
#include <string.h>

static void collect(store *s);

const snapshot *store_remove(store *s, const snapshot *old, cJSON *json)
{
    snapshot_ref(old);
    snapshot *last = snapshot_new(old->kind, json, ++s->version);
    struct shelf *sh = store_shelf(s, old->kind);
    shelf_take_out(sh, shelf_slot(sh, old->ns, old->name));
    store_record(s, STORE_DELETED, last, old);
    snapshot_unref(old);
    s->removed = mem_resize(s->removed, s->removed_n + 1, sizeof *s->removed);
    s->removed[s->removed_n++] = snapshot_ref(last);
    collect(s);
    store_keep(s, last);
    snapshot_unref(last);
    return s->result;
}

// the same without the check for objects in a namespace
static bool store_is_finished(const cJSON *json)
{
    const cJSON *meta = json_get(json, "metadata");
    return object_is_deleting(json) && cJSON_GetArraySize(json_get(meta, "finalizers")) == 0 &&
           json_int_or(meta, "deletionGracePeriodSeconds", 0) == 0;
}

static bool namespace_is_empty(const store *s, const char *ns)
{
    for (size_t i = 0; i < s->shelf_n; i++) {
        const struct shelf *sh = s->shelves[i];
        size_t at = shelf_find(sh, ns, "");
        if ((sh->kind->flags & KIND_NAMESPACED) && at < sh->n && str_eq(sh->items[at]->ns, ns))
            return false;
    }
    return true;
}

bool store_may_go(const store *s, const struct kind *k, const cJSON *json)
{
    return store_is_finished(json) &&
           (k != KIND(NAMESPACES) || namespace_is_empty(s, object_name(json)));
}

static int64_t grace_of(const snapshot *old, const struct store_delete *how)
{
    if (old->kind != KIND(PODS) || !json_path_str(old->json, "spec.nodeName"))
        return 0;
    const char *phase = json_path_str(old->json, "status.phase");
    if (str_eq(phase, "Succeeded") || str_eq(phase, "Failed"))
        return 0;
    if (how->grace >= 0)
        return how->grace;
    return json_int_or(json_get(old->json, "spec"), "terminationGracePeriodSeconds", 30);
}

static void mark_deleting(store *s, cJSON *json, const struct kind *k, int64_t grace)
{
    cJSON *meta = json_object_at(json, "metadata");
    object_set_time(
        meta, "deletionTimestamp", clock_add(store_now(s), clock_of_seconds((double)grace)));
    json_set_int(meta, "deletionGracePeriodSeconds", grace);
    if (k->flags & KIND_HAS_GENERATION)
        store_bump_generation(json);
    if (k == KIND(NAMESPACES))
        json_set_str(json_object_at(json, "status"), "phase", "Terminating");
}

static void delete_dependents(store *s, const char *uid, enum store_propagation propagation);
static void orphan_dependents(store *s, const char *uid);

static void delete_contents(store *s, const char *ns)
{
    struct store_delete how = {.grace = -1};
    for (size_t i = 0; i < s->shelf_n; i++) {
        if (!(s->shelves[i]->kind->flags & KIND_NAMESPACED))
            continue;
        AUTO_LIST l = store_list(s, s->shelves[i]->kind, ns);
        for (size_t j = 0; j < l.n; j++)
            store_delete(s, l.items[j]->kind, ns, l.items[j]->name, &how, NULL, NULL);
    }
}

static bool has_blocking_dependents(const store *s, const char *uid)
{
    AUTO_LIST l = store_all_owned(s, uid);
    for (size_t i = 0; i < l.n; i++) {
        const cJSON *ref;
        cJSON_ArrayForEach(
            ref, json_path(l.items[i]->json,
                     "metadata.ownerReferences")) if (str_eq(json_str(ref, "uid"), uid) &&
                                                      json_bool_or(ref, "blockOwnerDeletion",
                                                          false)) return true;
    }
    return false;
}

static int check_delete(const snapshot *old, const struct store_delete *how, err *e)
{
    if (how->uid && !str_eq(how->uid, old->uid)) {
        AUTO_FREE char *why = str_fmt(
            "the UID in the precondition (%s) does not match the UID in record (%s). The object "
            "might have been deleted and then recreated",
            how->uid, old->uid);
        return store_conflict(e, old->kind, old->name, why);
    }
    char version[24];
    snprintf(version, sizeof version, "%lld", (long long)old->version);
    if (!how->version || str_eq(how->version, version))
        return 0;
    AUTO_FREE char *why = str_fmt(
        "the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record "
        "(%s). The object might have been modified",
        how->version, version);
    return store_conflict(e, old->kind, old->name, why);
}

// A second delete of an object that is being deleted can only shorten the grace. At grace 0 only
// finalizers delay its removal, and another delete does not change that.
static bool changes_nothing(const store *s, const snapshot *old, int64_t grace)
{
    if (!object_is_deleting(old->json))
        return false;
    int64_t left = json_int_or(json_get(old->json, "metadata"), "deletionGracePeriodSeconds", 0);
    if (left > grace)
        return false;
    return left ? !store_is_finished(old->json) : !store_may_go(s, old->kind, old->json);
}

static const snapshot *begin_delete(
    store *s, const snapshot *old, const struct store_delete *how, bool *gone)
{
    int64_t grace = grace_of(old, how);
    *gone = false;
    if (changes_nothing(s, old, grace))
        return store_keep(s, old);
    cJSON *json = cJSON_Duplicate(old->json, true);
    if (how->propagation == STORE_FOREGROUND && has_blocking_dependents(s, old->uid))
        object_add_finalizer(json, "foregroundDeletion");
    mark_deleting(s, json, old->kind, grace);
    snapshot_ref(old);
    const snapshot *now;
    if (store_may_go(s, old->kind, json)) {
        *gone = true;
        if (how->propagation == STORE_ORPHAN)
            orphan_dependents(s, old->uid);
        now = store_remove(s, old, json);
    } else {
        now = store_replace(s, old, json);
    }
    now = snapshot_ref(now);
    if (!*gone && how->propagation == STORE_FOREGROUND)
        delete_dependents(s, old->uid, STORE_FOREGROUND);
    if (!*gone && old->kind == KIND(NAMESPACES))
        delete_contents(s, old->name);
    store_keep(s, now);
    snapshot_unref(now);
    snapshot_unref(old);
    return s->result;
}

const snapshot *store_delete(store *s, const struct kind *k, const char *ns, const char *name,
    const struct store_delete *how, bool *gone, err *e)
{
    static const struct store_delete usual = {.grace = -1};
    bool ignored;
    how = how ? how : &usual;
    gone = gone ? gone : &ignored;
    *gone = false;
    const snapshot *old = store_get(s, k, ns, name);
    if (!old) {
        store_fail(e, ERR_NOT_FOUND, k, name, "not found");
        return NULL;
    }
    if (check_delete(old, how, e) != 0)
        return NULL;
    if (how->dry_run) {
        *gone = grace_of(old, how) == 0;
        return store_keep(s, old);
    }
    return begin_delete(s, old, how, gone);
}

static const snapshot *owner_of(const store *s, const snapshot *dependent, const cJSON *ref)
{
    const char *api = json_str_or(ref, "apiVersion", ""), *slash = strchr(api, '/');
    size_t group = slash ? (size_t)(slash - api) : 0;
    for (size_t i = 0; i < s->shelf_n; i++) {
        const struct kind *k = s->shelves[i]->kind;
        if (strlen(k->group) != group || memcmp(k->group, api, group) != 0 ||
            !str_eq(k->kind, json_str(ref, "kind")))
            continue;
        const char *ns = k->flags & KIND_NAMESPACED ? dependent->ns : "";
        const snapshot *owner = store_get(s, k, ns, json_str_or(ref, "name", ""));
        if (owner && str_eq(owner->uid, json_str(ref, "uid")))
            return owner;
    }
    return NULL;
}

static bool has_living_owner(const store *s, const snapshot *dependent)
{
    const cJSON *ref;
    cJSON_ArrayForEach(
        ref, json_path(dependent->json, "metadata.ownerReferences")) if (owner_of(s, dependent,
                                                                             ref)) return true;
    return false;
}

static void drop_owner(store *s, const snapshot *dependent, const char *uid)
{
    const snapshot *now = store_get(s, dependent->kind, dependent->ns, dependent->name);
    if (!now)
        return;
    cJSON *json = cJSON_Duplicate(now->json, true), *meta = json_object_at(json, "metadata");
    cJSON *refs = json_array_at(meta, "ownerReferences");
    for (int i = cJSON_GetArraySize(refs) - 1; i >= 0; i--)
        if (str_eq(json_str(cJSON_GetArrayItem(refs, i), "uid"), uid))
            cJSON_DeleteItemFromArray(refs, i);
    if (cJSON_GetArraySize(refs) == 0)
        cJSON_DeleteItemFromObjectCaseSensitive(meta, "ownerReferences");
    store_update(s, now->kind, json, STORE_ALL, false, NULL);
}

static void orphan_dependents(store *s, const char *uid)
{
    AUTO_LIST l = store_all_owned(s, uid);
    for (size_t i = 0; i < l.n; i++)
        drop_owner(s, l.items[i], uid);
}

static void delete_dependents(store *s, const char *uid, enum store_propagation propagation)
{
    struct store_delete how = {.grace = -1, .propagation = propagation};
    AUTO_LIST l = store_all_owned(s, uid);
    for (size_t i = 0; i < l.n; i++) {
        const snapshot *d = l.items[i];
        if (propagation == STORE_BACKGROUND && has_living_owner(s, d))
            drop_owner(s, d, uid);
        else
            store_delete(s, d->kind, d->ns, d->name, &how, NULL, NULL);
    }
}

// An owner in foreground deletion goes with its last blocking dependent.
static void release_owners(store *s, const snapshot *removed)
{
    const cJSON *ref;
    cJSON_ArrayForEach(ref, json_path(removed->json, "metadata.ownerReferences"))
    {
        const snapshot *owner = owner_of(s, removed, ref);
        if (!owner || !object_has_finalizer(owner->json, "foregroundDeletion") ||
            has_blocking_dependents(s, owner->uid))
            continue;
        cJSON *json = cJSON_Duplicate(owner->json, true);
        object_remove_finalizer(json, "foregroundDeletion");
        store_update(s, owner->kind, json, STORE_ALL, false, NULL);
    }
}

static void release_namespace(store *s, const snapshot *removed)
{
    const snapshot *home = *removed->ns ? store_get(s, KIND(NAMESPACES), "", removed->ns) : NULL;
    if (home && store_may_go(s, home->kind, home->json))
        store_remove(s, home, cJSON_Duplicate(home->json, true));
}

// Removals append to s->removed while we work through it, so the depth of owners costs no stack.
static void collect(store *s)
{
    if (s->collecting)
        return;
    s->collecting = true;
    for (size_t i = 0; i < s->removed_n; i++) {
        const snapshot *gone = s->removed[i];
        delete_dependents(s, gone->uid, STORE_BACKGROUND);
        release_owners(s, gone);
        release_namespace(s, gone);
    }
    for (size_t i = 0; i < s->removed_n; i++)
        snapshot_unref(s->removed[i]);
    s->removed_n = 0;
    s->collecting = false;
}
