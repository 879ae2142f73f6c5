// SPDX-License-Identifier: MIT
// One context of a Kubernetes cluster: its kinds, and the verbs on any of them. A client belongs to
// its maker. All watches and logs on it must be closed before it.
//
// Every blocking function takes a `patience`. Call it on another thread than the loop's; loop_call
// does its work on the loop's thread. Requests that may be sent twice (reads, deletes with a uid,
// applies) are tried again, with jittered back-off, while the server is away or says 429 or 5xx: up
// to patience.retry_ns. Objects are cJSON trees as the server writes them, new and the caller's.
#pragma once
#include "k8s/client/connect/kubeconfig.h"
#include "k8s/net/http.h"

typedef struct client client;

// From any thread, before the loop runs or while it does. Reads the kubeconfig; sends nothing.
client *client_open(loop *l, http *h, const struct client_options *options, err *e);
void client_close(client *c); // on the loop's thread, or while the loop does not run
const kubeconfig *client_config(const client *c);

// How long a caller waits, and what can end the wait.
struct patience {
    canceller *canceller; // NULL: none
    int64_t deadline;     // clock_mono() ns; 0: none
    int64_t retry_ns;     // how long to retry while the server is away; 0: 15 s; <0: not at all
    // Reports, on the caller's own thread, that the server is away, and since when; again before
    // each try. For people who wait. May be NULL.
    void (*away)(void *arg, const err *reason, int64_t since_mono_ns);
    void *arg;
};

// Patience for a request that only adds to another: 10 s and no second try, but never more than a
// quarter of the time that the other has left. So whatever becomes of it ends nothing. After the
// deadline of the other it is 10 s.
struct patience client_errand(const struct patience *p);

// Identifies the cluster: {"server", "ca" (SHA-256 of the authority, hex, or ""), "uid" (of the
// namespace kube-system, "" when it cannot be read)}. The first answer is kept; without one, the
// next caller asks again. Borrowed.
const cJSON *client_identity(client *c, const struct patience *p, err *e);
// The answer to GET /version.
cJSON *client_version(client *c, const struct patience *p, err *e);

// A kind that the server has; its strings live as long as the client.
struct resource {
    const char *group, *version; // "" is the core group
    const char *plural, *singular, *kind;
    bool namespaced;
    const cJSON *verbs, *short_names; // arrays of strings
    const char *api_version;          // "v1", "apps/v1"
    bool scales;                      // it has the subresource scale
    bool execs, forwards;             // and exec, portforward
};
// Finds the kind by what people type: "pods", "po", "Pod", "deploy.apps",
// "sparkapplications.v1beta2.sparkoperator.k8s.io"; of several groups the one that kubectl takes.
// Errors: ERR_NOT_FOUND with similar names.
const struct resource *client_resource(
    client *c, const struct patience *p, const char *name, err *e);
// Finds the kind by apiVersion and kind, as in manifests.
const struct resource *client_resource_of(
    client *c, const struct patience *p, const char *api_version, const char *kind, err *e);
// The same from any thread, without asking the server: NULL for what was not found until now.
const struct resource *client_known(client *c, const char *api_version, const char *kind);
// Calls fn for every kind until it returns false.
int client_resources(client *c, const struct patience *p,
    bool (*fn)(void *arg, const struct resource *r), void *arg, err *e);
// The name of a kind as kubectl prints it: "pods", "deployments.apps".
char *resource_name(const struct resource *r);
// "/api/v1/namespaces/NS/pods[/NAME][/SUB]"; ns NULL: all; new.
char *resource_path(const struct resource *r, const char *ns, const char *name, const char *sub);

struct list_query {
    const char *labels, *fields; // selectors; NULL: none
    int limit;                   // objects in a page; 0: 500, with `cells` 2500. All are read
    bool table;                  // a meta.k8s.io/v1 Table, as kubectl requests it
    bool objects;                // the rows have their whole objects, not just metadata
    bool cells;                  // the Table's rows are their cells alone, read as they arrive
    size_t most;                 // with `cells`: this many are kept, the others counted; 0: all
};

cJSON *client_get(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const char *name, err *e);
// The same of a subresource: "scale".
cJSON *client_get_sub(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const char *name, const char *sub, err *e);
// A list object {"apiVersion", "kind", "metadata", "items"}, or a Table {"columnDefinitions",
// "rows"}. ns NULL: all namespaces. With `cells` a row is an array (of all namespaces: its own is
// the first); metadata.remainingItemCount is
// the number of those beyond `most`; from a server that makes no Tables the items come as objects
// with what can be shown of them (LISTING_SHOWN).
cJSON *client_list(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const struct list_query *query, err *e);
// One page of it: `next` is metadata.continue of the one before, NULL for the first. ERR_GONE: the
// server has forgotten the list that the page belongs to.
cJSON *client_page(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const struct list_query *query, const char *next, err *e);
// Creates the object in its metadata.namespace, else in the context's. dry: the server checks it
// but does not store it.
cJSON *client_create(client *c, const struct patience *p, const struct resource *r,
    const cJSON *object, bool dry, err *e);
// Server-side apply as field manager "firesteel". force: takes over fields from other managers.
// Those that we set by create or patch are taken over anyway.
cJSON *client_apply(client *c, const struct patience *p, const struct resource *r,
    const cJSON *object, bool force, bool dry, err *e);
// type: "merge", "strategic" or "json".
cJSON *client_patch(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const char *name, const char *sub, const char *type, const cJSON *patch, err *e);
// What a person has edited, as a merge patch: a field that the kind does not have is refused, as in
// an apply. dry: as above.
cJSON *client_edit(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const char *name, const cJSON *patch, bool dry, err *e);
struct delete_options {
    const char *uid;         // delete only this object; ERR_CONFLICT if it was replaced
    const char *propagation; // NULL: "Background"
    int grace_seconds;       // <0: the object's own grace
    bool dry;
};
// Deletes an object. If it is missing: ERR_NOT_FOUND.
int client_delete(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const char *name, const struct delete_options *options, err *e);

// Has the pod with this uid evicted, if disruption budgets allow it now: ERR_UNAVAILABLE when they
// do not. grace_seconds <0: the pod's own.
int client_evict(client *c, const struct patience *p, const char *ns, const char *name,
    const char *uid, int64_t grace_seconds, err *e);

// May we do this? 1 or 0, -1 for an error; *reason (new, may be NULL) is the server's text.
int client_can_i(client *c, const struct patience *p, const char *verb, const struct resource *r,
    const char *ns, const char *name, const char *sub, char **reason, err *e);
// Who we are, as the server says: {"username", "uid", "groups": […], "extra": {…}}.
cJSON *client_whoami(client *c, const struct patience *p, err *e);
// The OpenAPI v3 document of the kind's group and version. Errors: ERR_NOT_FOUND without one.
cJSON *client_openapi(client *c, const struct patience *p, const struct resource *r, err *e);
// The index of these documents, the place of one in it (its end changes with its content; borrowed;
// NULL: the server does not have this group and version), and the document there.
cJSON *client_openapi_index(client *c, const struct patience *p, err *e);
const char *client_openapi_url(const cJSON *index, const char *api_version);
cJSON *client_openapi_at(client *c, const struct patience *p, const char *url, err *e);
// Events about an object (found by uid when it is given), oldest first: an array.
cJSON *client_events(client *c, const struct patience *p, const char *ns, const char *kind,
    const char *name, const char *uid, err *e);
// The plain text at a path of the server, such as a log.
int client_text(client *c, const struct patience *p, const char *path, buf *out, err *e);
