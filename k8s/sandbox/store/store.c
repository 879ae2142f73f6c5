// SPDX-License-Identifier: MIT
#include "k8s/sandbox/store/store.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/store/store_private.h"

#include <stdio.h>
#include <string.h>

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
    while (s->observers)
        store_observer_free(s->observers);
    history_done(&s->history);
    snapshot_unref(s->result);
    for (size_t i = 0; i < s->shelf_n; i++) {
        shelf_done(s->shelves[i]);
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

struct shelf *store_shelf(const store *s, const struct kind *k)
{
    for (size_t i = 0; i < s->shelf_n; i++)
        if (s->shelves[i]->kind == k || (str_eq(s->shelves[i]->kind->resource, k->resource) &&
                                            str_eq(s->shelves[i]->kind->group, k->group)))
            return s->shelves[i];
    return NULL;
}

static struct shelf *make_shelf(store *s, const struct kind *k)
{
    struct shelf *sh = store_shelf(s, k);
    if (sh)
        return sh;
    sh = mem_alloc(sizeof *sh);
    sh->kind = k;
    s->shelves = mem_resize(s->shelves, s->shelf_n + 1, sizeof *s->shelves);
    return s->shelves[s->shelf_n++] = sh;
}

const snapshot *store_get(const store *s, const struct kind *k, const char *ns, const char *name)
{
    snapshot **at = shelf_slot(store_shelf(s, k), ns ? ns : "", name);
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
    const struct shelf *sh = store_shelf(s, k);
    bool all = !ns || !*ns;
    for (size_t i = all ? 0 : shelf_find(sh, ns, ""); sh && i < sh->n; i++) {
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
    add_owned(store_shelf(s, k), uid, &l);
    return l;
}

struct store_list store_all_owned(const store *s, const char *uid)
{
    struct store_list l = {.version = s->version};
    for (size_t i = 0; i < s->shelf_n; i++)
        add_owned(s->shelves[i], uid, &l);
    return l;
}

int store_fail(err *e, err_code code, const struct kind *k, const char *name, const char *what)
{
    AUTO_FREE char *q = kind_qualified(k);
    return err_set(e, code, "%s \"%s\" %s", q, name, what);
}

int store_conflict(err *e, const struct kind *k, const char *name, const char *why)
{
    AUTO_FREE char *q = kind_qualified(k);
    return err_set(e, ERR_CONFLICT, "Operation cannot be fulfilled on %s \"%s\": %s", q, name, why);
}

// NULL matches any
static int store_check_uid(const snapshot *old, const char *uid, err *e)
{
    if (!uid || str_eq(uid, old->uid))
        return 0;
    AUTO_FREE char *why = str_fmt(
        "Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, old->uid);
    return store_conflict(e, old->kind, old->name, why);
}

const snapshot *store_keep(store *s, const snapshot *snap)
{
    snapshot_ref(snap);
    snapshot_unref(s->result);
    return s->result = snap;
}

void store_record(store *s, enum store_change change, const snapshot *object, const snapshot *old)
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

// "base-x7k2p", in Kubernetes' alphabet, which spells no words; the base is cut so that 63 are
// enough.
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
        return store_fail(e, ERR_NOT_FOUND, KIND(NAMESPACES), ns, "not found");
    if (!object_is_deleting(home->json))
        return 0;
    AUTO_FREE char *why = str_fmt("is forbidden: unable to create new content in namespace %s "
                                  "because it is being terminated",
        ns);
    return store_fail(e, ERR_FORBIDDEN, k, name, why);
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
        bad = store_fail(e, ERR_EXISTS, k, name, "already exists");
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
    store_keep(s, snap);
    if (dry_run) {
        snapshot_unref(snap);
        return s->result;
    }
    shelf_put(make_shelf(s, snap->kind), snap);
    store_record(s, STORE_ADDED, snap, NULL);
    return s->result;
}

// Restores the fields that only the server writes.
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

void store_bump_generation(cJSON *json)
{
    cJSON *meta = json_object_at(json, "metadata");
    json_set_int(meta, "generation", json_int_or(meta, "generation", 0) + 1);
}

const snapshot *store_replace(store *s, const snapshot *old, cJSON *json)
{
    snapshot *snap = snapshot_new(old->kind, json, ++s->version);
    store_keep(s, snap);
    snapshot_ref(old);
    shelf_put(make_shelf(s, snap->kind), snap);
    store_record(s, STORE_MODIFIED, snap, old);
    snapshot_unref(old);
    return s->result;
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
        bad = store_fail(e, ERR_NOT_FOUND, k, name, "not found");
    else if (!(bad = store_check_uid(old, uid, e)) && version && version != old->version)
        bad = store_conflict(e, k, name,
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
        return store_keep(s, old);
    }
    if ((k->flags & KIND_HAS_GENERATION) && !same_but(json, old->json, "metadata", "status"))
        store_bump_generation(json);
    if (dry_run) {
        snapshot *snap = snapshot_new(k, json, old->version);
        store_keep(s, snap);
        snapshot_unref(snap);
        return s->result;
    }
    if (store_may_go(s, k, json))
        return store_remove(s, old, json);
    return store_replace(s, old, json);
}
