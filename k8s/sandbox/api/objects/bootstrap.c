// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/objects/bootstrap.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

struct bootstrap {
    store *store;
    kinds *kinds;
    store_observer *observer;
    char *ca;
};

static cJSON *object_new(const struct kind *k, const char *ns, const char *name)
{
    AUTO_FREE char *api = kind_api_version(k);
    cJSON *o = cJSON_CreateObject(), *meta;
    json_set_str(o, "apiVersion", api);
    json_set_str(o, "kind", k->kind);
    meta = json_object_at(o, "metadata");
    json_set_str(meta, "name", name);
    if (ns)
        json_set_str(meta, "namespace", ns);
    return o;
}

// Adds an object, unless it is there already.
static void add(store *s, const struct kind *k, cJSON *o)
{
    store_create(s, k, o, STORE_ALL, false, NULL);
}

static void on_namespace(bootstrap *b, const char *ns)
{
    static const char *const accounts[] = {"default", "spark"};
    for (size_t i = 0; i < ARRAY_LEN(accounts); i++)
        add(b->store, KIND(SERVICEACCOUNTS), object_new(KIND(SERVICEACCOUNTS), ns, accounts[i]));
    cJSON *ca = object_new(KIND(CONFIGMAPS), ns, "kube-root-ca.crt");
    json_set_str(json_object_at(ca, "data"), "ca.crt", b->ca);
    add(b->store, KIND(CONFIGMAPS), ca);
}

static void establish(bootstrap *b, const snapshot *crd)
{
    cJSON *o = cJSON_Duplicate(crd->json, true);
    int64_t now = store_now(b->store);
    object_set_condition(o, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now);
    object_set_condition(o, "Established", "True", "InitialNamesAccepted",
        "the initial names have been accepted", now);
    cJSON *status = json_object_at(o, "status");
    const cJSON *names = json_path(o, "spec.names"), *v;
    if (names)
        json_set(status, "acceptedNames", cJSON_Duplicate(names, true));
    json_set(status, "storedVersions", cJSON_CreateArray());
    cJSON_ArrayForEach(v, json_path(o, "spec.versions")) if (json_bool_or(v, "storage", false))
        cJSON_AddItemToArray(json_array_at(status, "storedVersions"),
            cJSON_CreateString(json_str_or(v, "name", "")));
    store_update(b->store, KIND(CRDS), o, STORE_ALL, false, NULL);
}

// Deletes the objects of a kind that is removed.
static void drop_objects(bootstrap *b, const cJSON *crd)
{
    const cJSON *v;
    struct store_delete how = {.grace = 0};
    cJSON_ArrayForEach(v, json_path(crd, "spec.versions"))
    {
        const struct kind *k = kinds_find(b->kinds, json_path_str(crd, "spec.group"),
            json_str(v, "name"), json_path_str(crd, "spec.names.plural"));
        if (!k || k < kind_builtin + KIND_COUNT)
            continue;
        AUTO_LIST all = store_list(b->store, k, NULL);
        for (size_t i = 0; i < all.n; i++)
            store_delete(b->store, k, all.items[i]->ns, all.items[i]->name, &how, NULL, NULL);
    }
}

static void on_crd(bootstrap *b, const struct store_event *ev)
{
    if (ev->change == STORE_DELETED) {
        drop_objects(b, ev->object->json);
        kinds_remove_crd(b->kinds, ev->object->json);
    } else if (kinds_add_crd(b->kinds, ev->object->json, NULL) == 0) {
        establish(b, ev->object);
    }
}

static void on_change(void *arg, const struct store_event *ev)
{
    bootstrap *b = arg;
    if (ev->object->kind == KIND(NAMESPACES) && ev->change == STORE_ADDED)
        on_namespace(b, ev->object->name);
    else if (ev->object->kind == KIND(CRDS))
        on_crd(b, ev);
}

static void set_resources(cJSON *status, const char *key)
{
    cJSON *r = json_object_at(status, key);
    AUTO_FREE char *cpus = str_fmt("%ld", sysconf(_SC_NPROCESSORS_ONLN));
    AUTO_FREE char *memory =
        str_fmt("%ldKi", sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 1024));
    json_set_str(r, "cpu", cpus);
    json_set_str(r, "memory", memory);
    json_set_str(r, "pods", "110");
}

static void set_info(cJSON *status, const char *version)
{
    struct utsname u;
    uname(&u);
    cJSON *info = json_object_at(status, "nodeInfo");
    AUTO_FREE char *text = str_fmt("firesteel-%s", version);
    json_set_str(info, "kubeletVersion", text);
    json_set_str(info, "containerRuntimeVersion", "processes://bubblewrap");
    json_set_str(info, "kernelVersion", u.release);
    json_set_str(info, "osImage", "this machine");
    json_set_str(info, "operatingSystem", "linux");
    json_set_str(info, "architecture", str_eq(u.machine, "x86_64") ? "amd64" : u.machine);
}

static void add_address(cJSON *status, const char *type, const char *address)
{
    cJSON *a = cJSON_CreateObject();
    json_set_str(a, "type", type);
    json_set_str(a, "address", address);
    cJSON_AddItemToArray(json_array_at(status, "addresses"), a);
}

static void add_node(store *s, const struct bootstrap_options *o)
{
    cJSON *node = object_new(KIND(NODES), NULL, o->node);
    cJSON *status = json_object_at(node, "status");
    object_set_label(node, "kubernetes.io/hostname", o->node);
    object_set_label(node, "kubernetes.io/os", "linux");
    object_set_label(node, "node-role.kubernetes.io/control-plane", "");
    json_object_at(node, "spec");
    set_resources(status, "capacity");
    set_resources(status, "allocatable");
    set_info(status, o->version);
    add_address(status, "InternalIP", "127.0.0.1");
    add_address(status, "Hostname", o->node);
    object_set_condition(node, "Ready", "True", "KubeletReady",
        "firesteel-sandbox runs pods as processes of this machine", store_now(s));
    add(s, KIND(NODES), node);
}

static void add_kubernetes_service(store *s)
{
    cJSON *o = object_new(KIND(SERVICES), "default", "kubernetes");
    cJSON *spec = json_object_at(o, "spec"), *port = cJSON_CreateObject();
    json_set_str(spec, "clusterIP", "10.96.0.1");
    json_set_str(port, "name", "https");
    json_set_int(port, "port", 443);
    cJSON_AddItemToArray(json_array_at(spec, "ports"), port);
    object_set_label(o, "component", "apiserver");
    object_set_label(o, "provider", "kubernetes");
    add(s, KIND(SERVICES), o);
}

bootstrap *bootstrap_new(store *s, kinds *ks, const struct bootstrap_options *o)
{
    static const char *const namespaces[] = {
        "default", "kube-node-lease", "kube-public", "kube-system"};
    bootstrap *b = mem_alloc(sizeof *b);
    *b = (bootstrap){.store = s, .kinds = ks, .ca = mem_strdup(o->ca)};
    b->observer = store_observe(s, on_change, b);
    for (size_t i = 0; i < ARRAY_LEN(namespaces); i++)
        add(s, KIND(NAMESPACES), object_new(KIND(NAMESPACES), NULL, namespaces[i]));
    add_node(s, o);
    add_kubernetes_service(s);
    store_dispatch(s);
    return b;
}

void bootstrap_free(bootstrap *b)
{
    if (!b)
        return;
    store_unobserve(b->observer);
    free(b->ca);
    free(b);
}
