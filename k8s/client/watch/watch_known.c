// SPDX-License-Identifier: MIT
// What a watch knows of objects: those it has told of, and how many others there are.
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/watch/watch_private.h"

#include <string.h>

enum {
    REFILL_MS = 10 * 1000, // after this time a list is read again, when rows have become free
    WORD_MAX = 253,        // for names and uids: Kubernetes' own limit
};

// A namespace and a name as a key: both with their ends, so that no other two are the same bytes.
struct name_key {
    char bytes[2 * (WORD_MAX + 1)];
    size_t n;
};

static size_t name_bytes(const struct known *k)
{
    return strlen(k->ns) + strlen(k->name) + 2;
}

static void known_free(struct known *k)
{
    free(k->version);
    free(k);
}

// Calls the owner. -1: the owner closed the watch, which must not be used any more.
int watch_tell(watch *w, enum watch_change change, const cJSON *object)
{
    w->ops->event(w->arg, change, object);
    return w->closed ? -1 : 0;
}

static struct known *find(const watch *w, const char *uid)
{
    size_t at;
    return hashmap_get(w->uids, uid, strlen(uid), &at) ? (struct known *)at : NULL;
}

static void add_word(struct name_key *key, const char *word)
{
    size_t n = strlen(word) + 1;
    memcpy(key->bytes + key->n, word, n);
    key->n += n;
}

// The object that has the name of this one (is_object); its uid may be another one.
static struct known *find_name(const watch *w, const cJSON *object)
{
    const cJSON *m = json_get(object, "metadata");
    struct name_key key;
    size_t at;
    key.n = 0;
    add_word(&key, json_str_or(m, "namespace", ""));
    add_word(&key, json_str_or(m, "name", ""));
    return hashmap_get(w->names, key.bytes, key.n, &at) ? (struct known *)at : NULL;
}

// An object that is gone: kind and metadata.
static cJSON *stub_of(const watch *w, const struct known *k)
{
    cJSON *stub = cJSON_CreateObject(), *metadata = json_object_at(stub, "metadata");
    json_set_str(stub, "apiVersion", w->resource.api_version);
    json_set_str(stub, "kind", w->resource.kind);
    json_set_str(metadata, "name", k->name);
    json_set_str(metadata, "namespace", *k->ns ? k->ns : NULL);
    json_set_str(metadata, "uid", k->uid);
    json_set_str(metadata, "resourceVersion", k->version);
    return stub;
}

static struct known *known_new(const char *uid, const cJSON *metadata)
{
    const char *name = json_str_or(metadata, "name", ""),
               *ns = json_str_or(metadata, "namespace", "");
    size_t uid_n = strlen(uid) + 1, name_n = strlen(name) + 1, ns_n = strlen(ns) + 1;
    struct known *k = mem_alloc(sizeof *k + uid_n + name_n + ns_n);
    k->uid = memcpy(k->words, uid, uid_n);
    k->ns = memcpy(k->words + uid_n, ns, ns_n);
    k->name = memcpy(k->words + uid_n + ns_n, name, name_n);
    return k;
}

// At the end: who came first is told of first when it goes.
static void link_in(watch *w, struct known *k)
{
    k->before = w->last;
    *(k->before ? &k->before->after : &w->first) = k;
    w->last = k;
}

static void unlink_from(watch *w, struct known *k)
{
    *(k->before ? &k->before->after : &w->first) = k->after;
    *(k->after ? &k->after->before : &w->last) = k->before;
}

static void remember(watch *w, struct known *k, const char *uid, const cJSON *object)
{
    const cJSON *metadata = json_get(object, "metadata");
    bool is_new = !k;
    if (is_new)
        k = known_new(uid, metadata);
    free(k->version);
    k->version = mem_strdup(json_str(metadata, "resourceVersion"));
    k->round = w->round;
    if (!is_new)
        return;
    hashmap_set(w->uids, k->uid, strlen(k->uid), (uintptr_t)k);
    hashmap_set(w->names, k->ns, name_bytes(k), (uintptr_t)k);
    link_in(w, k);
    w->count++;
}

static void forget(watch *w, struct known *k)
{
    hashmap_remove(w->names, k->ns, name_bytes(k));
    hashmap_remove(w->uids, k->uid, strlen(k->uid));
    unlink_from(w, k);
    known_free(k);
    w->count--;
}

static int tell_more(watch *w)
{
    size_t n = hashset_count(w->others);
    if (n == w->more_reported || !w->ops->more)
        return 0;
    w->more_reported = n;
    w->ops->more(w->arg, n);
    return w->closed ? -1 : 0;
}

// Of objects beyond `most` we keep only a hash of the uid.
static int count_other(watch *w, const char *uid)
{
    if (hashset_count(w->others) < WATCH_COUNTED)
        hashset_add(w->others, uid);
    if (w->listed && hashset_count(w->listed) < WATCH_COUNTED)
        hashset_add(w->listed, uid);
    return tell_more(w);
}

static int uncount_other(watch *w, const char *uid)
{
    hashset_remove(w->others, uid);
    return tell_more(w);
}

static bool is_object(const cJSON *object)
{
    static const char *const words[] = {"uid", "name", "namespace", "resourceVersion"};
    const cJSON *m = json_get(object, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strlen(json_str_or(m, words[i], "")) > WORD_MAX)
            return false;
    return json_str(m, "uid") != NULL;
}

static int tell_gone(watch *w, struct known *k)
{
    AUTO_JSON *stub = stub_of(w, k);
    forget(w, k);
    return watch_tell(w, WATCH_DELETED, stub);
}

// Handles an object that exists, from a list or a frame.
int watch_present(watch *w, const cJSON *object)
{
    const char *uid = json_path_str(object, "metadata.uid");
    const char *version = json_path_str(object, "metadata.resourceVersion");
    if (!is_object(object))
        return 0;
    struct known *k = find(w, uid), *before = k ? NULL : find_name(w, object);
    // Made again while nobody watched: who knows objects by their names hears of the end first.
    if (before && tell_gone(w, before) != 0)
        return -1;
    if (!k && w->count >= w->most)
        return count_other(w, uid);
    if (!k && uncount_other(w, uid) != 0)
        return -1;
    bool changed = !k || !str_eq(k->version, version);
    enum watch_change change = k ? WATCH_MODIFIED : WATCH_ADDED;
    if (k)
        k->round = w->round;
    if (!changed && !w->again)
        return 0;
    remember(w, k, uid, object);
    return watch_tell(w, change, object);
}

int watch_absent(watch *w, const cJSON *object)
{
    const char *uid = json_path_str(object, "metadata.uid");
    struct known *k = uid ? find(w, uid) : NULL;
    if (!uid)
        return 0;
    if (!k)
        return uncount_other(w, uid);
    forget(w, k);
    if (hashset_count(w->others) > 0 && w->count == w->most - w->most / 4 - 1)
        loop_timer_start(w->refill, REFILL_MS, 0);
    return watch_tell(w, WATCH_DELETED, object);
}

// Drops objects that the list that has just ended did not contain.
int watch_drop_outdated(watch *w)
{
    for (struct known *k = w->first, *next; k; k = next) {
        next = k->after;
        if (k->round != w->round && tell_gone(w, k) != 0)
            return -1;
    }
    hashset_free(w->others);
    w->others = STEAL(w->listed);
    if (hashset_count(w->others) > 0 && w->count < w->most - w->most / 4)
        loop_timer_start(w->refill, REFILL_MS, 0);
    return tell_more(w);
}

bool watch_tells(watch *w, const cJSON *object)
{
    const char *uid = json_path_str(object, "metadata.uid");
    return uid && find(w, uid);
}

// Is the object new in the current list?
bool watch_is_fresh(watch *w, const cJSON *object)
{
    const char *uid = json_path_str(object, "metadata.uid");
    const struct known *k = uid ? find(w, uid) : NULL;
    return uid && (k ? k->round != w->round : !hashset_has(w->listed, uid));
}

void watch_forget_versions(watch *w)
{
    for (struct known *k = w->first; k; k = k->after)
        free(STEAL(k->version));
}

void watch_forget_all(watch *w)
{
    for (struct known *k = w->first, *next; k; k = next) {
        next = k->after;
        known_free(k);
    }
    hashmap_free(w->names);
    hashmap_free(w->uids);
    hashset_free(w->others);
    hashset_free(w->listed);
}
