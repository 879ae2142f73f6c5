// SPDX-License-Identifier: MIT
#include "k8s/sandbox/store.h"

#include "base/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/history.h"
#include "k8s/sandbox/snapshot.h"

#include <stdio.h>
#include <string.h>

// All objects of a resource, whatever version of it was asked for, by namespace and name.
struct shelf {
    const struct kind *kind;
    snapshot **items;
    size_t n, cap;
};

struct store {
    struct store_options o;
    int64_t version;
    struct shelf **shelves;
    size_t shelf_n;
    struct history history;
    uint64_t dispatched; // observers have seen all changes before this position
    bool dispatching;
    store_observer *observers;
    const snapshot *result;   // what the last write returned, kept alive for its caller
    const snapshot **removed; // whose dependents and owners are still to be looked at
    size_t removed_n;
    bool collecting;
};

struct store_watch {
    store *store;
    const struct kind *kind;
    char *ns;
    uint64_t position;
    int64_t version;
};

struct store_observer {
    store *store;
    void (*changed)(void *arg, const struct store_event *ev);
    void *arg;
    store_observer *next;
    bool gone;
};

store *store_new(const struct store_options *o)
{
    store *s = mem_alloc(sizeof *s);
    s->o = *o;
    s->history.limit = o->history ? o->history : 2048;
    return s;
}

void store_free(store *s)
{
    if (!s)
        return;
    while (s->observers) {
        store_observer *next = s->observers->next;
        free(s->observers);
        s->observers = next;
    }
    history_done(&s->history);
    snapshot_unref(s->result);
    for (size_t i = 0; i < s->shelf_n; i++) {
        for (size_t j = 0; j < s->shelves[i]->n; j++)
            snapshot_unref(s->shelves[i]->items[j]);
        free(s->shelves[i]->items);
        free(s->shelves[i]);
    }
    free(s->shelves);
    free(s->removed);
    free(s);
}

int64_t store_now(const store *s)
{
    return s->o.now(s->o.arg);
}

int64_t store_version(const store *s)
{
    return s->version;
}

// ---- shelves

static struct shelf *find_shelf(const store *s, const struct kind *k)
{
    for (size_t i = 0; i < s->shelf_n; i++)
        if (s->shelves[i]->kind == k || (str_eq(s->shelves[i]->kind->resource, k->resource) &&
                                            str_eq(s->shelves[i]->kind->group, k->group)))
            return s->shelves[i];
    return NULL;
}

static struct shelf *make_shelf(store *s, const struct kind *k)
{
    struct shelf *sh = find_shelf(s, k);
    if (sh)
        return sh;
    sh = mem_alloc(sizeof *sh);
    sh->kind = k;
    s->shelves = mem_resize(s->shelves, s->shelf_n + 1, sizeof *s->shelves);
    return s->shelves[s->shelf_n++] = sh;
}

static int compare(const snapshot *s, const char *ns, const char *name)
{
    int by_ns = strcmp(s->ns, ns);
    return by_ns ? by_ns : strcmp(s->name, name);
}

// The first index that is not before (ns, name).
static size_t lower_bound(const struct shelf *sh, const char *ns, const char *name)
{
    size_t low = 0, high = sh ? sh->n : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(sh->items[middle], ns, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static snapshot **slot(const struct shelf *sh, const char *ns, const char *name)
{
    size_t i = lower_bound(sh, ns, name);
    return sh && i < sh->n && compare(sh->items[i], ns, name) == 0 ? &sh->items[i] : NULL;
}

// Puts a snapshot (its reference is taken) in the place of the one before, or into a new place.
static void put(store *s, snapshot *snap)
{
    struct shelf *sh = make_shelf(s, snap->kind);
    size_t i = lower_bound(sh, snap->ns, snap->name);
    if (i < sh->n && compare(sh->items[i], snap->ns, snap->name) == 0) {
        snapshot_unref(sh->items[i]);
        sh->items[i] = snap;
        return;
    }
    if (sh->n == sh->cap) {
        sh->cap = sh->cap ? sh->cap * 2 : 16;
        sh->items = mem_resize(sh->items, sh->cap, sizeof *sh->items);
    }
    memmove(sh->items + i + 1, sh->items + i, (sh->n - i) * sizeof *sh->items);
    sh->items[i] = snap;
    sh->n++;
}

static void take_out(struct shelf *sh, snapshot **at)
{
    snapshot_unref(*at);
    size_t i = (size_t)(at - sh->items);
    memmove(at, at + 1, (sh->n - i - 1) * sizeof *at);
    sh->n--;
}

// ---- reading

const snapshot *store_get(const store *s, const struct kind *k, const char *ns, const char *name)
{
    snapshot **at = slot(find_shelf(s, k), ns ? ns : "", name);
    return at ? *at : NULL;
}

cJSON *store_copy(const store *s, const struct kind *k, const char *ns, const char *name)
{
    const snapshot *snap = store_get(s, k, ns, name);
    return snap ? cJSON_Duplicate(snap->json, true) : NULL;
}

static void list_add(struct store_list *l, const snapshot *snap)
{
    if ((l->n & (l->n - 1)) == 0) // at 0 and at powers of two
        l->items = mem_resize(l->items, l->n ? l->n * 2 : 1, sizeof *l->items);
    l->items[l->n++] = snapshot_ref(snap);
}

struct store_list store_list(const store *s, const struct kind *k, const char *ns)
{
    struct store_list l = {.version = s->version};
    const struct shelf *sh = find_shelf(s, k);
    bool all = !ns || !*ns;
    for (size_t i = all ? 0 : lower_bound(sh, ns, ""); sh && i < sh->n; i++) {
        if (!all && !str_eq(sh->items[i]->ns, ns))
            break;
        list_add(&l, sh->items[i]);
    }
    return l;
}

void store_list_done(struct store_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        snapshot_unref(l->items[i]);
    free(l->items);
    *l = (struct store_list){0};
}

static void add_owned(const struct shelf *sh, const char *uid, struct store_list *l)
{
    uint64_t bit = snapshot_owner_bit(uid);
    for (size_t i = 0; sh && i < sh->n; i++)
        if ((sh->items[i]->owners & bit) && snapshot_is_owned_by(sh->items[i], uid))
            list_add(l, sh->items[i]);
}

struct store_list store_owned(const store *s, const struct kind *k, const char *uid)
{
    struct store_list l = {.version = s->version};
    add_owned(find_shelf(s, k), uid, &l);
    return l;
}

static struct store_list all_owned(const store *s, const char *uid)
{
    struct store_list l = {.version = s->version};
    for (size_t i = 0; i < s->shelf_n; i++)
        add_owned(s->shelves[i], uid, &l);
    return l;
}

// ---- writing

static int fail_named(
    err *e, err_code code, const struct kind *k, const char *name, const char *what)
{
    AUTO_FREE char *q = kind_qualified(k);
    return err_set(e, code, "%s \"%s\" %s", q, name, what);
}

static int conflict(err *e, const struct kind *k, const char *name, const char *why)
{
    AUTO_FREE char *q = kind_qualified(k);
    return err_set(e, ERR_CONFLICT, "Operation cannot be fulfilled on %s \"%s\": %s", q, name, why);
}

static int check_uid(const snapshot *old, const char *uid, err *e)
{
    if (!uid || str_eq(uid, old->uid))
        return 0;
    AUTO_FREE char *why = str_fmt(
        "Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, old->uid);
    return conflict(e, old->kind, old->name, why);
}

static const snapshot *keep(store *s, const snapshot *snap)
{
    snapshot_ref(snap);
    snapshot_unref(s->result);
    return s->result = snap;
}

static void record(store *s, enum store_change change, const snapshot *object, const snapshot *old)
{
    bool idle = history_end(&s->history) == s->dispatched && !s->dispatching;
    history_add(
        &s->history, (struct store_event){change, object->version, object, old}, s->dispatched);
    if (idle && s->o.wake)
        s->o.wake(s->o.arg);
}

static void new_uid(char out[37])
{
    unsigned char r[16];
    random_bytes(r, sizeof r);
    r[6] = (r[6] & 0x0f) | 0x40; // RFC 4122, version 4
    r[8] = (r[8] & 0x3f) | 0x80;
    char *p = out;
    for (size_t i = 0; i < sizeof r; i++)
        p += sprintf(p, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", r[i]);
}

// "base-x7k2p", in the alphabet of Kubernetes, which spells no words; the base is cut to fit 63.
static char *generated_name(const char *base)
{
    static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
    unsigned char r[5];
    random_bytes(r, sizeof r);
    for (size_t i = 0; i < sizeof r; i++)
        r[i] = (unsigned char)alphabet[r[i] % (sizeof alphabet - 1)];
    return str_fmt("%.58s%.5s", base, (const char *)r);
}

void store_identify(cJSON *json)
{
    cJSON *meta = json_object_at(json, "metadata");
    const char *base = json_str(meta, "generateName");
    char uid[37];
    new_uid(uid);
    json_set_str(meta, "uid", uid);
    if (*object_name(json) || !base)
        return;
    AUTO_FREE char *name = generated_name(base);
    json_set_str(meta, "name", name);
}

static int check_namespace(
    const store *s, const struct kind *k, const char *ns, const char *name, err *e)
{
    if (!(k->flags & KIND_NAMESPACED))
        return 0;
    const snapshot *home = store_get(s, KIND(NAMESPACES), "", ns);
    if (!home)
        return fail_named(e, ERR_NOT_FOUND, KIND(NAMESPACES), ns, "not found");
    if (!object_is_deleting(home->json))
        return 0;
    AUTO_FREE char *why = str_fmt("is forbidden: unable to create new content in namespace %s "
                                  "because it is being terminated",
        ns);
    return fail_named(e, ERR_FORBIDDEN, k, name, why);
}

static void forget(cJSON *object, const char *key)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
}

const snapshot *store_create(
    store *s, const struct kind *k, cJSON *json, enum store_part part, bool dry_run, err *e)
{
    cJSON *meta = json_object_at(json, "metadata");
    if (!*object_uid(json) || !*object_name(json))
        store_identify(json);
    const char *ns = object_namespace(json), *name = object_name(json);
    int bad = check_namespace(s, k, ns, name, e);
    if (!bad && store_get(s, k, ns, name))
        bad = fail_named(e, ERR_EXISTS, k, name, "already exists");
    if (bad) {
        cJSON_Delete(json);
        return NULL;
    }
    if (s->o.complete)
        s->o.complete(s->o.arg, k, json);
    object_set_time(meta, "creationTimestamp", store_now(s));
    forget(meta, "deletionTimestamp");
    forget(meta, "deletionGracePeriodSeconds");
    if (k->flags & KIND_HAS_GENERATION)
        json_set_int(meta, "generation", 1);
    snapshot *snap = snapshot_new(k, json, dry_run ? s->version : ++s->version);
    keep(s, snap);
    if (dry_run) {
        snapshot_unref(snap);
        return s->result;
    }
    put(s, snap);
    record(s, STORE_ADDED, snap, NULL);
    return s->result;
}

// The fields only the server writes, as they were.
static void keep_system_fields(cJSON *json, const cJSON *old)
{
    static const char *const fields[] = {"uid", "creationTimestamp", "deletionTimestamp",
        "deletionGracePeriodSeconds", "generation", "generateName"};
    cJSON *meta = json_object_at(json, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const cJSON *value =
            json_path(old, "metadata") ? json_get(json_get(old, "metadata"), fields[i]) : NULL;
        if (value)
            json_set(meta, fields[i], cJSON_Duplicate(value, true));
        else
            forget(meta, fields[i]);
    }
}

static cJSON *merge_parts(
    const struct kind *k, cJSON *json, const snapshot *old, enum store_part part)
{
    if (!(k->flags & KIND_HAS_STATUS) || part == STORE_ALL)
        return json;
    cJSON *base = part == STORE_STATUS ? cJSON_Duplicate(old->json, true) : json;
    const cJSON *status = json_get(part == STORE_STATUS ? json : old->json, "status");
    if (status)
        json_set(base, "status", cJSON_Duplicate(status, true));
    else
        forget(base, "status");
    if (part == STORE_STATUS) {
        const cJSON *managed = json_path(json, "metadata.managedFields");
        if (managed)
            json_set(
                json_object_at(base, "metadata"), "managedFields", cJSON_Duplicate(managed, true));
        cJSON_Delete(json);
    }
    return base;
}

static bool same_but(const cJSON *a, const cJSON *b, const char *skip1, const char *skip2)
{
    int extra = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, a)
    {
        if (str_eq(item->string, skip1) || str_eq(item->string, skip2))
            continue;
        extra++;
        if (!json_equal(item, json_get(b, item->string)))
            return false;
    }
    cJSON_ArrayForEach(item, b) if (!str_eq(item->string, skip1) && !str_eq(item->string, skip2))
        extra--;
    return extra == 0;
}

static void bump_generation(cJSON *json)
{
    cJSON *meta = json_object_at(json, "metadata");
    json_set_int(meta, "generation", json_int_or(meta, "generation", 0) + 1);
}

static const snapshot *replace(store *s, const snapshot *old, cJSON *json)
{
    snapshot *snap = snapshot_new(old->kind, json, ++s->version);
    keep(s, snap);
    snapshot_ref(old);
    put(s, snap);
    record(s, STORE_MODIFIED, snap, old);
    snapshot_unref(old);
    return s->result;
}

static void collect(store *s);

static const snapshot *remove_object(store *s, const snapshot *old, cJSON *json)
{
    snapshot_ref(old);
    snapshot *last = snapshot_new(old->kind, json, ++s->version);
    struct shelf *sh = find_shelf(s, old->kind);
    take_out(sh, slot(sh, old->ns, old->name));
    record(s, STORE_DELETED, last, old);
    snapshot_unref(old);
    s->removed = mem_resize(s->removed, s->removed_n + 1, sizeof *s->removed);
    s->removed[s->removed_n++] = last;
    collect(s);
    return last;
}

// Nothing holds it back any more: no finalizer, and no grace that somebody still has to give.
static bool is_finished(const cJSON *json)
{
    const cJSON *meta = json_get(json, "metadata");
    return object_is_deleting(json) && cJSON_GetArraySize(json_get(meta, "finalizers")) == 0 &&
           json_int_or(meta, "deletionGracePeriodSeconds", 0) == 0;
}

static bool namespace_is_empty(const store *s, const char *ns)
{
    for (size_t i = 0; i < s->shelf_n; i++) {
        const struct shelf *sh = s->shelves[i];
        size_t at = lower_bound(sh, ns, "");
        if ((sh->kind->flags & KIND_NAMESPACED) && at < sh->n && str_eq(sh->items[at]->ns, ns))
            return false;
    }
    return true;
}

static bool may_go(const store *s, const struct kind *k, const cJSON *json)
{
    return is_finished(json) && (k != KIND(NAMESPACES) || namespace_is_empty(s, object_name(json)));
}

const snapshot *store_update(
    store *s, const struct kind *k, cJSON *json, enum store_part part, bool dry_run, err *e)
{
    const char *name = object_name(json);
    const snapshot *old = store_get(s, k, object_namespace(json), name);
    int64_t version = object_version(json);
    const char *uid = *object_uid(json) ? object_uid(json) : NULL;
    int bad = 0;
    if (!old)
        bad = fail_named(e, ERR_NOT_FOUND, k, name, "not found");
    else if (!(bad = check_uid(old, uid, e)) && version && version != old->version)
        bad = conflict(e, k, name,
            "the object has been modified; please apply your changes to the latest version and "
            "try again");
    if (bad) {
        cJSON_Delete(json);
        return NULL;
    }
    json = merge_parts(k, json, old, part);
    keep_system_fields(json, old->json);
    json_set_str(json_object_at(json, "metadata"), "resourceVersion",
        json_path_str(old->json, "metadata.resourceVersion"));
    if (json_equal(json, old->json)) {
        cJSON_Delete(json);
        return keep(s, old);
    }
    if ((k->flags & KIND_HAS_GENERATION) && !same_but(json, old->json, "metadata", "status"))
        bump_generation(json);
    if (dry_run) {
        snapshot *snap = snapshot_new(k, json, old->version);
        keep(s, snap);
        snapshot_unref(snap);
        return s->result;
    }
    if (may_go(s, k, json))
        return keep(s, remove_object(s, old, json)), s->result;
    return replace(s, old, json);
}

// ---- deleting

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
    object_set_time(meta, "deletionTimestamp", store_now(s) + grace * INT64_C(1000000000));
    json_set_int(meta, "deletionGracePeriodSeconds", grace);
    if (k->flags & KIND_HAS_GENERATION)
        bump_generation(json);
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
    AUTO_LIST l = all_owned(s, uid);
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
    if (check_uid(old, how->uid, e) != 0)
        return -1;
    char version[24];
    snprintf(version, sizeof version, "%lld", (long long)old->version);
    if (!how->version || str_eq(how->version, version))
        return 0;
    AUTO_FREE char *why = str_fmt("Precondition failed: ResourceVersion in precondition: %s, "
                                  "ResourceVersion in object meta: %s",
        how->version, version);
    return conflict(e, old->kind, old->name, why);
}

// A second delete of what is on its way out can only shorten the grace; at grace 0 finalizers alone
// hold it back, and asking again does not move them.
static bool changes_nothing(store *s, const snapshot *old, int64_t grace)
{
    if (!object_is_deleting(old->json))
        return false;
    int64_t left = json_int_or(json_get(old->json, "metadata"), "deletionGracePeriodSeconds", 0);
    if (left > grace)
        return false;
    return left ? !is_finished(old->json) : !may_go(s, old->kind, old->json);
}

static const snapshot *begin_delete(
    store *s, const snapshot *old, const struct store_delete *how, bool *gone)
{
    int64_t grace = grace_of(old, how);
    *gone = false;
    if (changes_nothing(s, old, grace))
        return keep(s, old);
    cJSON *json = cJSON_Duplicate(old->json, true);
    if (how->propagation == STORE_FOREGROUND && has_blocking_dependents(s, old->uid))
        object_add_finalizer(json, "foregroundDeletion");
    mark_deleting(s, json, old->kind, grace);
    snapshot_ref(old);
    const snapshot *now;
    if (may_go(s, old->kind, json)) {
        *gone = true;
        if (how->propagation == STORE_ORPHAN)
            orphan_dependents(s, old->uid);
        now = remove_object(s, old, json);
    } else {
        now = replace(s, old, json);
    }
    now = snapshot_ref(now);
    if (!*gone && how->propagation == STORE_FOREGROUND)
        delete_dependents(s, old->uid, STORE_FOREGROUND);
    if (!*gone && old->kind == KIND(NAMESPACES))
        delete_contents(s, old->name);
    keep(s, now);
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
        fail_named(e, ERR_NOT_FOUND, k, name, "not found");
        return NULL;
    }
    if (check_delete(old, how, e) != 0)
        return NULL;
    if (how->dry_run) {
        *gone = grace_of(old, how) == 0;
        return keep(s, old);
    }
    return begin_delete(s, old, how, gone);
}

// ---- garbage: what its owners' going leaves behind

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
        forget(meta, "ownerReferences");
    store_update(s, now->kind, json, STORE_ALL, false, NULL);
}

static void orphan_dependents(store *s, const char *uid)
{
    AUTO_LIST l = all_owned(s, uid);
    for (size_t i = 0; i < l.n; i++)
        drop_owner(s, l.items[i], uid);
}

static void delete_dependents(store *s, const char *uid, enum store_propagation propagation)
{
    struct store_delete how = {.grace = -1, .propagation = propagation};
    AUTO_LIST l = all_owned(s, uid);
    for (size_t i = 0; i < l.n; i++) {
        const snapshot *d = l.items[i];
        if (propagation == STORE_BACKGROUND && has_living_owner(s, d))
            drop_owner(s, d, uid);
        else
            store_delete(s, d->kind, d->ns, d->name, &how, NULL, NULL);
    }
}

// An owner that waits in the foreground goes with its last blocking dependent.
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
    if (home && may_go(s, home->kind, home->json))
        remove_object(s, home, cJSON_Duplicate(home->json, true));
}

// Removals add to s->removed while it is worked off, so depth does not grow with the family tree.
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

// ---- history

store_watch *store_watch_new(store *s, const struct kind *k, const char *ns, int64_t since, err *e)
{
    uint64_t position;
    if (!history_after(&s->history, since, &position)) {
        err_set(e, ERR_GONE, "too old resource version: %lld (%lld)", (long long)since,
            (long long)s->history.trimmed);
        return NULL;
    }
    store_watch *w = mem_alloc(sizeof *w);
    *w = (store_watch){s, k, ns && *ns ? mem_strdup(ns) : NULL, position, since};
    return w;
}

void store_watch_free(store_watch *w)
{
    if (w)
        free(w->ns);
    free(w);
}

static bool is_for(const store_watch *w, const snapshot *o)
{
    return (!w->kind || (str_eq(o->kind->resource, w->kind->resource) &&
                            str_eq(o->kind->group, w->kind->group))) &&
           (!w->ns || str_eq(o->ns, w->ns));
}

int store_watch_next(store_watch *w, struct store_event *ev, err *e)
{
    const struct history *h = &w->store->history;
    if (w->position < h->first)
        return err_set(e, ERR_GONE, "too old resource version: %lld (%lld)", (long long)w->version,
            (long long)h->trimmed);
    while (w->position < history_end(h)) {
        *ev = *history_at(h, w->position++);
        w->version = ev->version;
        if (is_for(w, ev->object))
            return 1;
    }
    return 0;
}

int64_t store_watch_version(const store_watch *w)
{
    return w->version;
}

store_observer *store_observe(
    store *s, void (*changed)(void *arg, const struct store_event *ev), void *arg)
{
    store_observer *o = mem_alloc(sizeof *o), **end = &s->observers;
    *o = (store_observer){s, changed, arg, NULL, false};
    while (*end)
        end = &(*end)->next;
    return *end = o;
}

static void sweep_observers(store *s)
{
    for (store_observer **at = &s->observers; *at;) {
        store_observer *o = *at;
        if (o->gone) {
            *at = o->next;
            free(o);
        } else {
            at = &o->next;
        }
    }
}

void store_unobserve(store_observer *o)
{
    if (!o)
        return;
    o->gone = true;
    if (!o->store->dispatching)
        sweep_observers(o->store);
}

void store_dispatch(store *s)
{
    if (s->dispatching)
        return;
    s->dispatching = true;
    while (s->dispatched < history_end(&s->history)) {
        struct store_event ev = *history_at(&s->history, s->dispatched);
        for (store_observer *o = s->observers; o; o = o->next)
            if (!o->gone)
                o->changed(o->arg, &ev);
        s->dispatched++;
    }
    s->dispatching = false;
    sweep_observers(s);
}
