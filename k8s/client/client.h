// SPDX-License-Identifier: MIT
// One context of a Kubernetes cluster: its kinds, and the verbs on any of them.
// A client belongs to its maker and outlives nothing: watches and logs on it are closed before it.
//
// Every blocking function takes a `patience` and is called from other threads than the loop's;
// it does its work there by loop_call. Requests that may be sent twice (reads, deletes with a uid,
// applies) are tried again, with jittered back-off, while the server is away or says 429 or 5xx: up
// to patience.retry_ns. Objects are cJSON trees as the server writes them, new and the caller's.
#pragma once
#include "k8s/client/kubeconfig.h"
#include "k8s/net/http.h"

typedef struct client client;

// From any thread while the loop runs, or before it does. Reads the kubeconfig; sends nothing.
client *client_open(loop *l, http *h, const struct client_options *options, err *e);
void client_close(client *c); // on the loop's thread, or while it does not run
const kubeconfig *client_config(const client *c);

// How long a caller waits, and what ends it early.
struct patience {
    canceller *canceller; // NULL: none
    int64_t deadline;     // clock_mono() ns; 0: none
    int64_t retry_ns;     // how long a server that is away is tried again; 0: 15 s; <0: not at all
    // Told, by the caller's own thread, that the server is away and since when, again before each
    // try: for people who wait. May be NULL.
    void (*away)(void *arg, const err *reason, int64_t since_mono_ns);
    void *arg;
};

// Which cluster is it: {"server", "ca" (SHA-256 of the authority, hex, or ""), "uid" (of the
// namespace kube-system, "" when it may not be read)}. Asked once, then remembered; borrowed.
const cJSON *client_identity(client *c, const struct patience *p, err *e);
// GET /version.
cJSON *client_version(client *c, const struct patience *p, err *e);

// A kind that the server has; strings live as long as the client.
struct resource {
    const char *group, *version; // "" is the core group
    const char *plural, *singular, *kind;
    bool namespaced;
    const cJSON *verbs, *short_names; // arrays of strings
    const char *api_version;          // "v1", "apps/v1"
};
// What people type: "pods", "po", "Pod", "deploy.apps",
// "sparkapplications.v1beta2.sparkoperator.k8s.io", in kubectl's order of groups. Errors:
// ERR_NOT_FOUND with the near names.
const struct resource *client_resource(
    client *c, const struct patience *p, const char *name, err *e);
// What manifests say.
const struct resource *client_resource_of(
    client *c, const struct patience *p, const char *api_version, const char *kind, err *e);
// All of them: calls fn until it returns false.
int client_resources(client *c, const struct patience *p,
    bool (*fn)(void *arg, const struct resource *r), void *arg, err *e);
// "pods", "deployments.apps": as kubectl names results.
char *resource_name(const struct resource *r);
// "/api/v1/namespaces/NS/pods[/NAME][/SUB]"; ns NULL: all; new.
char *resource_path(const struct resource *r, const char *ns, const char *name, const char *sub);

struct list_query {
    const char *labels, *fields; // selectors; NULL: none
    int limit;                   // of a page; 0: 500. All pages are read
    bool table;                  // a meta.k8s.io/v1 Table, as kubectl asks for
    bool objects;                // its rows with their whole objects, not just metadata
};

cJSON *client_get(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const char *name, err *e);
// A list object {"apiVersion", "kind", "metadata", "items"}, or a Table {"columnDefinitions",
// "rows"}. ns NULL: all namespaces.
cJSON *client_list(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const struct list_query *query, err *e);
// metadata.namespace of the object, else the context's. dry: the server checks and stores nothing.
cJSON *client_create(client *c, const struct patience *p, const struct resource *r,
    const cJSON *object, bool dry, err *e);
// Server-side apply as field manager "firesteel". force: takes fields over from other managers.
cJSON *client_apply(client *c, const struct patience *p, const struct resource *r,
    const cJSON *object, bool force, bool dry, err *e);
// type: "merge", "strategic" or "json".
cJSON *client_patch(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const char *name, const char *sub, const char *type, const cJSON *patch, err *e);
struct delete_options {
    const char *uid;         // only if it is still this one; ERR_CONFLICT when it is not
    const char *propagation; // NULL: "Background"
    int grace_seconds;       // <0: the object's own
    bool dry;
};
// What is not there is ERR_NOT_FOUND.
int client_delete(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const char *name, const struct delete_options *options, err *e);

// May we? 1 or 0, -1 for an error; *reason (new, may be NULL) is what the server said.
int client_can_i(client *c, const struct patience *p, const char *verb, const struct resource *r,
    const char *ns, const char *name, const char *sub, char **reason, err *e);
// Events about an object (by uid when it is given), oldest first: an array.
cJSON *client_events(client *c, const struct patience *p, const char *ns, const char *kind,
    const char *name, const char *uid, err *e);
// Plain text of a path below the server, as logs are.
int client_text(client *c, const struct patience *p, const char *path, buf *out, err *e);
