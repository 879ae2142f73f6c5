// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/store/event.h"
#include "k8s/sandbox/store/store.h"
#include "tests/support/tap.h"

#include <stdlib.h>

static int64_t the_time;
static int woken;

static int64_t now(void *arg)
{
    return the_time;
}

static void wake(void *arg)
{
    woken++;
}

static store *new_store(size_t history)
{
    static const char *const namespaces[] = {"default", "other"};
    store *s = store_new(&(struct store_options){.now = now, .wake = wake, .history = history});
    the_time = INT64_C(1767225600000000000); // 2026-01-01
    for (size_t i = 0; i < 2; i++) {
        cJSON *o = cJSON_CreateObject();
        json_set_str(json_object_at(o, "metadata"), "name", namespaces[i]);
        store_create(s, KIND(NAMESPACES), o, STORE_ALL, false, NULL);
    }
    woken = 0;
    store_dispatch(s);
    return s;
}

static cJSON *parse(const char *text)
{
    err e;
    cJSON *o = json_parse(text, strlen(text), &e);
    CHECK_OK(o, e);
    return o;
}

static const snapshot *create(store *s, const struct kind *k, const char *text)
{
    err e = {0};
    const snapshot *snap = store_create(s, k, parse(text), STORE_ALL, false, &e);
    CHECK_OK(snap, e);
    return snap;
}

static cJSON *changed(
    store *s, const struct kind *k, const char *name, const char *key, const char *value)
{
    cJSON *o = store_copy(s, k, "default", name);
    json_set_str(json_object_at(o, "data"), key, value);
    return o;
}

#define NAMED(name) "{\"metadata\": {\"name\": \"" name "\", \"namespace\": \"default\"}}"

TEST(create_fills_in_what_the_server_knows)
{
    store *s = new_store(0);
    int64_t before = store_version(s);
    const snapshot *a = create(s, KIND(JOBS), NAMED("a"));
    CHECK_INT(a->version, before + 1);
    CHECK_INT(strlen(a->uid), 36);
    CHECK_STR(json_path_str(a->json, "metadata.creationTimestamp"), "2026-01-01T00:00:00Z");
    CHECK_INT(json_int_or(json_get(a->json, "metadata"), "generation", 0), 1);
    const snapshot *g = create(
        s, KIND(PODS), "{\"metadata\": {\"generateName\": \"run-\", \"namespace\": \"default\"}}");
    CHECK(str_starts(g->name, "run-") && strlen(g->name) == 9);
    store_free(s);
}

TEST(create_refuses)
{
    store *s = new_store(0);
    err e = {0};
    create(s, KIND(JOBS), NAMED("a"));
    CHECK(!store_create(s, KIND(JOBS), parse(NAMED("a")), STORE_ALL, false, &e));
    CHECK_INT(e.code, ERR_EXISTS);
    CHECK_STR(e.text, "jobs.batch \"a\" already exists");
    cJSON *lost = parse("{\"metadata\": {\"name\": \"a\", \"namespace\": \"nowhere\"}}");
    CHECK(!store_create(s, KIND(PODS), lost, STORE_ALL, false, &e));
    CHECK_STR(e.text, "namespaces \"nowhere\" not found");
    CHECK(store_create(s, KIND(PODS), parse(NAMED("dry")), STORE_ALL, true, &e));
    CHECK(!store_get(s, KIND(PODS), "default", "dry"));
    store_free(s);
}

TEST(update_needs_the_current_version)
{
    store *s = new_store(0);
    err e = {0};
    create(s, KIND(CONFIGMAPS), NAMED("a"));
    cJSON *stale = changed(s, KIND(CONFIGMAPS), "a", "x", "1");
    cJSON *fresh = changed(s, KIND(CONFIGMAPS), "a", "x", "2");
    CHECK(store_update(s, KIND(CONFIGMAPS), fresh, STORE_ALL, false, &e));
    CHECK(!store_update(s, KIND(CONFIGMAPS), stale, STORE_ALL, false, &e));
    CHECK_INT(e.code, ERR_CONFLICT);
    CHECK_HAS(
        e.text, "Operation cannot be fulfilled on configmaps \"a\": the object has been modified");
    int64_t version = store_version(s);
    CHECK(store_update(s, KIND(CONFIGMAPS), store_copy(s, KIND(CONFIGMAPS), "default", "a"),
        STORE_ALL, false, &e));
    CHECK_INT(store_version(s), version); // nothing changed
    cJSON *other = store_copy(s, KIND(CONFIGMAPS), "default", "a");
    json_set_str(json_object_at(other, "metadata"), "uid", "another");
    CHECK(!store_update(s, KIND(CONFIGMAPS), other, STORE_ALL, false, &e));
    CHECK_INT(e.code, ERR_CONFLICT);
    store_free(s);
}

TEST(status_and_spec_are_written_apart)
{
    store *s = new_store(0);
    create(s, KIND(JOBS),
        "{\"metadata\": {\"name\": \"a\", \"namespace\": \"default\"}, \"spec\": {\"n\": 1}}");
    cJSON *o = store_copy(s, KIND(JOBS), "default", "a");
    json_set_int(json_object_at(o, "spec"), "n", 2);
    json_set_int(json_object_at(o, "status"), "active", 1);
    const snapshot *a =
        store_update(s, KIND(JOBS), cJSON_Duplicate(o, true), STORE_STATUS, false, NULL);
    CHECK_INT(json_int_or(json_get(a->json, "spec"), "n", 0), 1);
    CHECK_INT(json_int_or(json_get(a->json, "status"), "active", 0), 1);
    CHECK_INT(json_int_or(json_get(a->json, "metadata"), "generation", 0), 1);
    cJSON_DeleteItemFromObjectCaseSensitive(json_object_at(o, "metadata"), "resourceVersion");
    json_set_int(json_object_at(o, "status"), "active", 5);
    a = store_update(s, KIND(JOBS), o, STORE_MAIN, false, NULL);
    CHECK_INT(json_int_or(json_get(a->json, "spec"), "n", 0), 2);
    CHECK_INT(json_int_or(json_get(a->json, "status"), "active", 0), 1);
    CHECK_INT(json_int_or(json_get(a->json, "metadata"), "generation", 0), 2);
    store_free(s);
}

TEST(lists_are_sorted_and_survive_changes)
{
    store *s = new_store(0);
    create(s, KIND(CONFIGMAPS), NAMED("b"));
    create(s, KIND(CONFIGMAPS), NAMED("a"));
    create(s, KIND(CONFIGMAPS), "{\"metadata\": {\"name\": \"a\", \"namespace\": \"other\"}}");
    AUTO_LIST all = store_list(s, KIND(CONFIGMAPS), NULL);
    CHECK_INT(all.n, 3);
    for (size_t i = 0; i < all.n; i++)
        CHECK(store_delete(
            s, KIND(CONFIGMAPS), all.items[i]->ns, all.items[i]->name, NULL, NULL, NULL));
    CHECK_STR(all.items[0]->name, "a");
    CHECK_STR(all.items[1]->name, "b");
    CHECK_STR(all.items[2]->ns, "other");
    AUTO_LIST none = store_list(s, KIND(CONFIGMAPS), "default");
    CHECK_INT(none.n, 0);
    store_free(s);
}

static void add_owned(store *s, const char *name, const char *owner, bool block)
{
    const snapshot *o = store_get(s, KIND(CONFIGMAPS), "default", owner);
    AUTO_FREE char *text = str_fmt("{\"metadata\": {\"name\": \"%s\", \"namespace\": \"default\", "
                                   "\"ownerReferences\": [{\"apiVersion\": \"v1\", \"kind\": "
                                   "\"ConfigMap\", \"name\": \"%s\", \"uid\": \"%s\", "
                                   "\"blockOwnerDeletion\": %s}]}}",
        name, owner, o->uid, block ? "true" : "false");
    create(s, KIND(CONFIGMAPS), text);
}

static bool is_there(const store *s, const char *name)
{
    return store_get(s, KIND(CONFIGMAPS), "default", name);
}

TEST(dependents_go_with_their_owner)
{
    static const enum store_propagation ways[] = {STORE_BACKGROUND, STORE_FOREGROUND};
    for (size_t i = 0; i < 2; i++) {
        store *s = new_store(0);
        bool gone = false;
        struct store_delete how = {.grace = -1, .propagation = ways[i]};
        create(s, KIND(CONFIGMAPS), NAMED("owner"));
        add_owned(s, "child", "owner", true);
        add_owned(s, "grandchild", "child", true);
        CHECK(store_delete(s, KIND(CONFIGMAPS), "default", "owner", &how, &gone, NULL));
        CHECK(!is_there(s, "owner") && !is_there(s, "child") && !is_there(s, "grandchild"));
        store_free(s);
    }
}

TEST(a_blocking_dependent_holds_a_foreground_owner)
{
    store *s = new_store(0);
    struct store_delete how = {.grace = -1, .propagation = STORE_FOREGROUND};
    bool gone = true;
    create(s, KIND(CONFIGMAPS), NAMED("owner"));
    add_owned(s, "child", "owner", true);
    cJSON *child = store_copy(s, KIND(CONFIGMAPS), "default", "child");
    object_add_finalizer(child, "x/y");
    store_update(s, KIND(CONFIGMAPS), child, STORE_ALL, false, NULL);
    store_delete(s, KIND(CONFIGMAPS), "default", "owner", &how, &gone, NULL);
    CHECK(!gone && is_there(s, "owner") && is_there(s, "child"));
    child = store_copy(s, KIND(CONFIGMAPS), "default", "child");
    CHECK(object_is_deleting(child));
    object_remove_finalizer(child, "x/y");
    CHECK(store_update(s, KIND(CONFIGMAPS), child, STORE_ALL, false, NULL));
    CHECK(!is_there(s, "child") && !is_there(s, "owner"));
    store_free(s);
}

TEST(orphans_stay_without_their_owner)
{
    store *s = new_store(0);
    struct store_delete how = {.grace = -1, .propagation = STORE_ORPHAN};
    create(s, KIND(CONFIGMAPS), NAMED("owner"));
    add_owned(s, "child", "owner", true);
    store_delete(s, KIND(CONFIGMAPS), "default", "owner", &how, NULL, NULL);
    CHECK(!is_there(s, "owner") && is_there(s, "child"));
    CHECK(!json_path(
        store_get(s, KIND(CONFIGMAPS), "default", "child")->json, "metadata.ownerReferences"));
    store_free(s);
}

TEST(one_of_two_owners_is_enough)
{
    store *s = new_store(0);
    create(s, KIND(CONFIGMAPS), NAMED("one"));
    create(s, KIND(CONFIGMAPS), NAMED("two"));
    add_owned(s, "child", "one", true);
    cJSON *child = store_copy(s, KIND(CONFIGMAPS), "default", "child");
    object_set_controller(child, store_get(s, KIND(CONFIGMAPS), "default", "two")->json);
    cJSON *second = cJSON_GetArrayItem(json_path(child, "metadata.ownerReferences"), 1);
    json_set_str(second, "apiVersion", "v1");
    json_set_str(second, "kind", "ConfigMap");
    CHECK(store_update(s, KIND(CONFIGMAPS), child, STORE_ALL, false, NULL));
    store_delete(s, KIND(CONFIGMAPS), "default", "one", NULL, NULL, NULL);
    CHECK(is_there(s, "child"));
    store_delete(s, KIND(CONFIGMAPS), "default", "two", NULL, NULL, NULL);
    CHECK(!is_there(s, "child"));
    store_free(s);
}

TEST(pods_get_their_grace)
{
    store *s = new_store(0);
    bool gone = true;
    create(s, KIND(PODS),
        "{\"metadata\": {\"name\": \"p\", \"namespace\": \"default\"}, \"spec\": {\"nodeName\": "
        "\"n\"}}");
    const snapshot *p = store_delete(s, KIND(PODS), "default", "p", NULL, &gone, NULL);
    CHECK(!gone);
    CHECK_STR(json_path_str(p->json, "metadata.deletionTimestamp"), "2026-01-01T00:00:30Z");
    int64_t version = store_version(s);
    struct store_delete longer = {.grace = 60}, now_please = {.grace = 0};
    store_delete(s, KIND(PODS), "default", "p", &longer, &gone, NULL);
    CHECK_INT(store_version(s), version);
    store_delete(s, KIND(PODS), "default", "p", &now_please, &gone, NULL);
    CHECK(gone && !store_get(s, KIND(PODS), "default", "p"));
    create(s, KIND(PODS), NAMED("unscheduled"));
    store_delete(s, KIND(PODS), "default", "unscheduled", NULL, &gone, NULL);
    CHECK(gone);
    store_free(s);
}

TEST(a_namespace_goes_when_it_is_empty)
{
    store *s = new_store(0);
    err e = {0};
    bool gone = true;
    create(s, KIND(CONFIGMAPS), NAMED("a"));
    create(s, KIND(PODS),
        "{\"metadata\": {\"name\": \"p\", \"namespace\": \"default\"}, \"spec\": {\"nodeName\": "
        "\"n\"}}");
    store_delete(s, KIND(NAMESPACES), "", "default", NULL, &gone, NULL);
    const snapshot *ns = store_get(s, KIND(NAMESPACES), "", "default");
    CHECK(!gone && !is_there(s, "a"));
    CHECK_STR(json_path_str(ns->json, "status.phase"), "Terminating");
    CHECK(!store_create(s, KIND(CONFIGMAPS), parse(NAMED("b")), STORE_ALL, false, &e));
    CHECK_INT(e.code, ERR_FORBIDDEN);
    struct store_delete now_please = {.grace = 0};
    store_delete(s, KIND(PODS), "default", "p", &now_please, &gone, NULL);
    CHECK(!store_get(s, KIND(NAMESPACES), "", "default"));
    store_free(s);
}

TEST(delete_checks_preconditions)
{
    store *s = new_store(0);
    err e = {0};
    const snapshot *a = create(s, KIND(CONFIGMAPS), NAMED("a"));
    struct store_delete other = {.grace = -1, .uid = "other"}, old = {.grace = -1, .version = "1"};
    CHECK(!store_delete(s, KIND(CONFIGMAPS), "default", "a", &other, NULL, &e));
    CHECK_HAS(e.text, "the UID in the precondition (other) does not match the UID in record (");
    CHECK(!store_delete(s, KIND(CONFIGMAPS), "default", "a", &old, NULL, &e));
    CHECK_HAS(e.text, "the ResourceVersion in the precondition (1)");
    AUTO_FREE char *uid = mem_strdup(a->uid);
    struct store_delete right = {.grace = -1, .uid = uid};
    CHECK(store_delete(s, KIND(CONFIGMAPS), "default", "a", &right, NULL, &e));
    CHECK(!store_delete(s, KIND(CONFIGMAPS), "default", "a", &right, NULL, &e));
    CHECK_INT(e.code, ERR_NOT_FOUND);
    store_free(s);
}

TEST(watches_see_every_change_once)
{
    store *s = new_store(0);
    err e = {0};
    struct store_event ev;
    create(s, KIND(PODS), NAMED("before"));
    store_watch *w = store_watch_new(s, KIND(PODS), "default", store_version(s), &e);
    CHECK_INT(store_watch_next(w, &ev, &e), 0);
    create(s, KIND(CONFIGMAPS), NAMED("another-kind"));
    create(s, KIND(PODS), "{\"metadata\": {\"name\": \"p\", \"namespace\": \"other\"}}");
    create(s, KIND(PODS), NAMED("p"));
    cJSON *p = store_copy(s, KIND(PODS), "default", "p");
    object_set_label(p, "a", "b");
    store_update(s, KIND(PODS), p, STORE_ALL, false, NULL);
    store_delete(s, KIND(PODS), "default", "p", NULL, NULL, NULL);
    CHECK_INT(store_watch_next(w, &ev, &e), 1);
    CHECK_INT(ev.change, STORE_ADDED);
    CHECK_INT(store_watch_next(w, &ev, &e), 1);
    CHECK_INT(ev.change, STORE_MODIFIED);
    CHECK(!object_label(ev.old->json, "a") && object_label(ev.object->json, "a"));
    CHECK_INT(store_watch_next(w, &ev, &e), 1);
    CHECK_INT(ev.change, STORE_DELETED);
    CHECK_INT(ev.version, store_version(s));
    CHECK_INT(object_version(ev.object->json), ev.version);
    CHECK_INT(store_watch_next(w, &ev, &e), 0);
    store_watch_free(w);
    store_free(s);
}

TEST(history_is_trimmed_and_says_so)
{
    store *s = new_store(10);
    err e = {0};
    struct store_event ev;
    create(s, KIND(CONFIGMAPS), NAMED("a"));
    int64_t start = store_version(s);
    store_watch *slow = store_watch_new(s, NULL, NULL, start, &e);
    for (int i = 0; i < 50; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        store_update(s, KIND(CONFIGMAPS), changed(s, KIND(CONFIGMAPS), "a", "x", text), STORE_ALL,
            false, NULL);
        store_dispatch(s);
    }
    CHECK_INT(store_watch_next(slow, &ev, &e), -1);
    CHECK_INT(e.code, ERR_GONE);
    CHECK(!store_watch_new(s, NULL, NULL, start, &e));
    CHECK_HAS(e.text, "too old resource version: ");
    store_watch *w = store_watch_new(s, NULL, NULL, store_version(s) - 10, &e);
    CHECK_OK(w, e);
    int n = 0;
    while (store_watch_next(w, &ev, &e) == 1)
        n++;
    CHECK_INT(n, 10);
    store_watch_free(slow);
    store_watch_free(w);
    store_free(s);
}

struct seen {
    store *store;
    int events;
    int64_t last;
};

// An observer's change comes later in the same dispatch; nothing is trimmed before it was seen.
static void on_change(void *arg, const struct store_event *ev)
{
    struct seen *seen = arg;
    CHECK(ev->version > seen->last);
    seen->last = ev->version;
    seen->events++;
    if (ev->object->kind == KIND(CONFIGMAPS) && ev->change == STORE_ADDED && seen->events < 200) {
        AUTO_FREE char *text = str_fmt(
            "{\"metadata\": {\"name\": \"n%d\", \"namespace\": \"default\"}}", seen->events);
        create(seen->store, KIND(CONFIGMAPS), text);
    }
}

TEST(observers_see_what_they_cause)
{
    store *s = new_store(4);
    struct seen seen = {.store = s};
    store_observer *o = store_observe(s, on_change, &seen);
    create(s, KIND(CONFIGMAPS), NAMED("a"));
    create(s, KIND(PODS), NAMED("p"));
    CHECK_INT(woken, 1);
    CHECK_INT(seen.events, 0);
    store_dispatch(s);
    CHECK_INT(seen.events, 200);
    CHECK_INT(seen.last, store_version(s));
    store_unobserve(o);
    create(s, KIND(CONFIGMAPS), NAMED("z"));
    store_dispatch(s);
    CHECK_INT(seen.events, 200);
    store_free(s);
}

TEST(repeated_events_count_up)
{
    store *s = new_store(0);
    AUTO_JSON *pod = cJSON_Duplicate(create(s, KIND(PODS), NAMED("p"))->json, true);
    struct event_source kubelet = {"kubelet", "node"};
    for (int i = 0; i < 3; i++) {
        the_time += INT64_C(60000000000);
        event_record(
            s, kubelet, KIND(PODS), pod, "spec.containers{c}", "Warning", "BackOff", "%s", "again");
    }
    event_record(s, kubelet, KIND(PODS), pod, NULL, "Normal", "Started", "%s", "once");
    AUTO_LIST all = store_list(s, KIND(EVENTS), "default");
    CHECK_INT(all.n, 2);
    const cJSON *o = all.items[0]->json;
    o = str_eq(json_str(o, "reason"), "BackOff") ? o : all.items[1]->json;
    CHECK_INT(json_int_or(o, "count", 0), 3);
    CHECK_STR(json_str(o, "firstTimestamp"), "2026-01-01T00:01:00Z");
    CHECK_STR(json_str(o, "lastTimestamp"), "2026-01-01T00:03:00Z");
    CHECK_STR(json_path_str(o, "involvedObject.fieldPath"), "spec.containers{c}");
    CHECK_STR(json_path_str(o, "involvedObject.uid"), object_uid(pod));
    store_free(s);
}

// Thousands of dependents take neither minutes nor a deep stack.
TEST(many_dependents)
{
    store *s = new_store(0);
    create(s, KIND(CONFIGMAPS), NAMED("owner"));
    for (int i = 0; i < 3000; i++) {
        char name[16];
        snprintf(name, sizeof name, "d%05d", i);
        add_owned(s, name, "owner", false);
    }
    store_delete(s, KIND(CONFIGMAPS), "default", "owner", NULL, NULL, NULL);
    AUTO_LIST left = store_list(s, KIND(CONFIGMAPS), NULL);
    CHECK_INT(left.n, 0);
    store_free(s);
}

int main(void)
{
    return tap_run();
}
