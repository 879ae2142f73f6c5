// SPDX-License-Identifier: MIT
// k8s.tree: the family of an object as an indented live table: an application with its driver and
// executors, a Deployment with its ReplicaSets and their pods, a Workflow with its steps. It begins
// at the topmost owner, so any member of a family shows the same tree.
//
//   the object ──owners──> root ──> watches: root, kinds between, pods ──> nodes by uid
//                                                                             │ at most 2 a second
//   rows, in the tree's order, as a whole  <── children by owner, sorted <────┘
#include "base/clock.h"
#include "base/data/hashmap.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/state/state.h"
#include "k8s/client/state/workflow.h"
#include "k8s/client/watch/table.h"
#include "k8s/client/watch/watch.h"
#include "script/api/k8s/k8s.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS = 16, ROWS = 1000, DEPTH = 12, EVERY_MS = 500 };
static const char mime[] = "application/vnd.firesteel.pods+json";

// A member of the family, or an object beside it that may become one.
struct node {
    char *uid, *owner, *step; // NULL: it has none
    const char *above;        // of these, the one below which it stands
    char *name;               // in the tree: "pod/x", or a step's own
    cJSON *row;
    bool empty; // has no row while it has no children: an old ReplicaSet
    struct node *before, *after;
};

struct tree;
struct part {
    struct tree *tree;
    struct resource resource;
    char *labels, *fields;
    watch *watch;
};
struct tree {
    display *display;
    loop *loop;
    client *client;
    loop_timer *timer;
    bool due;     // the timer runs
    bool follows; // the root may have what is not known of its kind: pods tell their owners
    char *ns, *root, *title, *note, *context;
    struct part parts[PARTS];
    int count;
    struct node *nodes;
    hashmap *by_uid;                  // to the addresses of nodes
    cJSON *steps;                     // status.nodes of a Workflow
    cJSON *columns;                   // a table without rows
    bool peek;                        // of a person who looks: no part of the run's journal
    const struct resource *used_kind; // tells what its pods use; NULL: nothing does
    usage *usage;
};

static void node_free(struct node *n)
{
    free(n->uid);
    free(n->owner);
    free(n->step);
    free(n->name);
    cJSON_Delete(n->row);
    free(n);
}

static void tree_free(void *arg)
{
    struct tree *t = arg;
    for (int i = 0; i < t->count; i++) {
        watch_close(t->parts[i].watch);
        free(t->parts[i].labels);
        free(t->parts[i].fields);
    }
    for (struct node *n = t->nodes, *after; n; n = after) {
        after = n->after;
        node_free(n);
    }
    hashmap_free(t->by_uid);
    usage_close(t->usage);
    cJSON_Delete(t->columns);
    loop_timer_free(t->timer);
    cJSON_Delete(t->steps);
    free(t->ns);
    free(t->root);
    free(t->title);
    free(t->note);
    free(t->context);
    free(t);
}

static struct node *find(const struct tree *t, const char *uid)
{
    size_t at;
    return uid && hashmap_get(t->by_uid, uid, strlen(uid), &at) ? (struct node *)at : NULL;
}

// The owner that controls it, else the first.
static const cJSON *owner_of(const cJSON *object)
{
    const cJSON *owners = json_path(object, "metadata.ownerReferences"), *one;
    cJSON_ArrayForEach(one, owners)
    {
        if (json_bool_or(one, "controller", false))
            return one;
    }
    return owners ? owners->child : NULL;
}

// "2/3": what is ready of what is wanted; NULL: the kind has no such numbers.
static char *readiness(const cJSON *object)
{
    const cJSON *spec = json_get(object, "spec"), *status = json_get(object, "status");
    if (json_get(spec, "replicas"))
        return str_fmt("%lld/%lld", (long long)json_int_or(status, "readyReplicas", 0),
            (long long)json_int_or(spec, "replicas", 0));
    if (known_is(object, "batch", "Job"))
        return str_fmt("%lld/%lld", (long long)json_int_or(status, "succeeded", 0),
            (long long)json_int_or(spec, "completions", 1));
    return NULL;
}

static bool is_pods(const struct part *p)
{
    return str_eq(p->resource.kind, "Pod") && !*p->resource.group;
}

static cJSON *row_of(const struct part *p, const cJSON *object)
{
    bool is_pod = is_pods(p);
    AUTO_FREE char *ready = is_pod ? NULL : readiness(object);
    cJSON *row = is_pod ? table_pod_row(object, clock_wall())
                        : table_pods_row(object, "", state_of(object).text);
    if (ready)
        cJSON_ReplaceItemInArray((cJSON *)json_get(row, "cells"), 1, cJSON_CreateString(ready));
    cJSON *about = k8s_about(&p->resource);
    json_set_str(about, "context", p->tree->context);
    json_set(row, "about", about);
    return row;
}

static bool is_empty(const cJSON *object)
{
    return known_is(object, "apps", "ReplicaSet") &&
           json_int_or(json_get(object, "spec"), "replicas", 1) == 0;
}

static struct node *node_of(const struct part *p, const cJSON *object)
{
    struct node *n = mem_alloc(sizeof *n);
    const char *step =
        json_str(json_path(object, "metadata.annotations"), "workflows.argoproj.io/node-id");
    const char *owner = json_str(owner_of(object), "uid");
    const char *name = json_path_str(object, "metadata.name");
    *n = (struct node){.uid = mem_strdup(json_path_str(object, "metadata.uid")),
        .owner = mem_strdup(owner),
        .step = mem_strdup(step),
        .name = str_fmt("%s/%s", p->resource.singular, name ? name : ""),
        .row = row_of(p, object),
        .empty = is_empty(object)};
    return n;
}

// The tree as rows.

struct drawing {
    struct node **by_owner; // sorted by owner, then by name
    size_t n;
    cJSON *rows;
    char prefix[DEPTH * 3 + 1]; // bars of the levels above
};

static int compare(const void *a, const void *b)
{
    const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;
    int by = strcmp(x->above, y->above);
    return by ? by : strverscmp(x->name, y->name);
}

static size_t first_child(const struct drawing *d, const char *owner)
{
    size_t low = 0, high = d->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(d->by_owner[middle]->above, owner) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_child(const struct drawing *d, size_t i, const char *owner)
{
    return i < d->n && str_eq(d->by_owner[i]->above, owner);
}

static bool is_shown(const struct drawing *d, const struct node *n)
{
    return !n->empty || is_child(d, first_child(d, n->uid), n->uid);
}

static void add_node(struct drawing *d, const struct node *n, int depth, bool last)
{
    cJSON *row = cJSON_Duplicate(n->row, true);
    size_t length = strlen(d->prefix);
    AUTO_FREE char *name = str_fmt("%s%s%s", d->prefix,
        depth == 0 ? ""
        : last     ? "`- "
                   : "|- ",
        n->name);
    cJSON_ReplaceItemInArray((cJSON *)json_get(row, "cells"), 0, cJSON_CreateString(name));
    cJSON_AddItemToArray(d->rows, row);
    if (depth > 0)
        memcpy(d->prefix + length, last ? "   " : "|  ", 4);
    size_t from = first_child(d, n->uid), to = from, end;
    while (is_child(d, to, n->uid))
        to++;
    for (end = to; end > from && !is_shown(d, d->by_owner[end - 1]);)
        end--;
    for (size_t i = from; depth < DEPTH - 1 && i < end; i++)
        if (is_shown(d, d->by_owner[i]) && cJSON_GetArraySize(d->rows) < ROWS)
            add_node(d, d->by_owner[i], depth + 1, i + 1 == end);
    d->prefix[length] = '\0';
}

static void add_steps(struct tree *t);

static cJSON *rows_of(struct tree *t)
{
    struct drawing d = {.rows = cJSON_CreateArray()};
    add_steps(t);
    for (struct node *n = t->nodes; n; n = n->after, d.n++)
        n->above = n->step && json_get(t->steps, n->step) ? n->step : n->owner ? n->owner : "";
    d.by_owner = mem_array(d.n + 1, sizeof *d.by_owner);
    d.n = 0;
    for (struct node *n = t->nodes; n; n = n->after)
        d.by_owner[d.n++] = n;
    qsort(d.by_owner, d.n, sizeof *d.by_owner, compare);
    const struct node *root = find(t, t->root);
    if (root)
        add_node(&d, root, 0, true);
    free(d.by_owner);
    return d.rows;
}

static cJSON *bundle(struct tree *t, bool ended)
{
    AUTO_BUF text = {0}, at = {0};
    int64_t now = clock_wall();
    cJSON *table = cJSON_Duplicate(t->columns, true), *data = cJSON_CreateObject();
    json_set(table, "rows", rows_of(t));
    cJSON_DeleteItemFromObjectCaseSensitive(table, "count");
    k8s_take_actions(table, NULL);
    json_set_str(table, "title", t->title);
    json_set_str(table, "note", t->note);
    clock_rfc3339(&at, now, CLOCK_SECONDS);
    json_set_str(table, "at", ended ? buf_cstr(&at) : NULL);
    tabletext_print(table, now, &text);
    json_set_str(data, "text/plain", buf_cstr(&text));
    json_set(data, mime, table);
    return data;
}

static cJSON *now(void *arg)
{
    return bundle(arg, false);
}

static void on_timer(void *arg)
{
    struct tree *t = arg;
    t->due = false;
    display_replace(t->display, bundle(t, false));
}

static void change(struct tree *t)
{
    if (!t->due)
        loop_timer_start(t->timer, EVERY_MS, 0);
    t->due = true;
}

static void drop(struct tree *t, const char *uid)
{
    struct node *n = find(t, uid);
    if (!n)
        return;
    hashmap_remove(t->by_uid, uid, strlen(uid));
    *(n->before ? &n->before->after : &t->nodes) = n->after;
    if (n->after)
        n->after->before = n->before;
    node_free(n);
}

// Adds a node in the place of the node with the same uid.
static void put(struct tree *t, struct node *n)
{
    if (!n->uid) { // no object of a real server
        node_free(n);
        return;
    }
    drop(t, n->uid);
    n->after = t->nodes;
    if (t->nodes)
        t->nodes->before = n;
    t->nodes = n;
    hashmap_set(t->by_uid, n->uid, strlen(n->uid), (uintptr_t)n);
}

// Argo's steps, which are no objects: they stand between the Workflow and its pods. Groups and
// retries without a name of their own are left out: their children stand below what they are in.
static const char *step_above(const struct tree *t, const char *id, const char *workflow)
{
    const cJSON *step = json_get(t->steps, id);
    const char *above = json_str(step, "boundaryID");
    return above && *above && !str_eq(above, workflow) ? above : t->root;
}

static bool is_step(const cJSON *step)
{
    static const char *const shown[] = {"Pod", "DAG", "Steps", "Suspend", "Skipped", "HTTP"};
    for (size_t i = 0; i < ARRAY_LEN(shown); i++)
        if (str_eq(json_str(step, "type"), shown[i]))
            return true;
    return false;
}

static void add_steps(struct tree *t)
{
    const cJSON *step;
    const struct node *root = find(t, t->root);
    if (!root)
        return;
    const char *workflow = json_str_or(root->row, "name", "");
    cJSON_ArrayForEach(step, t->steps)
    {
        // The Workflow stands in the tree by its uid, which is no step's.
        if (!is_step(step) || str_eq(step->string, workflow) || str_eq(step->string, t->root))
            continue;
        AUTO_JSON *object = cJSON_CreateObject();
        cJSON *m = json_object_at(object, "metadata");
        json_set_str(m, "uid", step->string);
        json_set_str(m, "name", workflow);
        json_set_str(m, "namespace", t->ns);
        json_set_str(m, "creationTimestamp", json_str(step, "startedAt"));
        struct node *n = mem_alloc(sizeof *n);
        *n = (struct node){.uid = mem_strdup(step->string),
            .owner = mem_strdup(step_above(t, step->string, workflow)),
            .name = mem_strdup(json_str_or(step, "displayName", step->string)),
            .row = table_pods_row(object, "", json_str_or(step, "phase", ""))};
        json_set(n->row, "about", cJSON_Duplicate(json_get(root->row, "about"), true));
        cJSON_AddNullToObject(
            (cJSON *)json_get(n->row, "about"), "uid"); // it stands for the Workflow
        put(t, n);
    }
}

// status.nodes, also of a Workflow that Argo has compressed.
static cJSON *steps_of(const cJSON *workflow)
{
    AUTO_JSON *open = NULL;
    if (json_path(workflow, "status.compressedNodes")) {
        open = cJSON_Duplicate(workflow, true);
        workflow_unpack(open, NULL);
    }
    return cJSON_Duplicate(json_path(open ? open : workflow, "status.nodes"), true);
}

static void on_used(void *arg, const char *uid, const struct used *used)
{
    struct tree *t = arg;
    struct node *n = find(t, uid);
    if (!n)
        return;
    usage_show(t->columns, n->row, used);
    change(t);
}

static void follow_usage(struct tree *t, bool deleted, const cJSON *pod)
{
    const cJSON *m = json_get(pod, "metadata");
    const char *ns = json_str(m, "namespace"), *name = json_str(m, "name"),
               *uid = json_str(m, "uid");
    struct node *n = find(t, uid);
    if (deleted)
        usage_forget(t->usage, ns, name);
    else if (n)
        usage_show(t->columns, n->row, usage_follow(t->usage, ns, name, uid));
}

static void on_synced(void *arg)
{
    struct part *p = arg;
    if (is_pods(p))
        usage_begin(p->tree->usage);
}

static void open_part(struct part *p);
static struct part *add_part(
    struct tree *t, const struct resource *r, const char *labels, char *fields);

static bool is_watched(const struct tree *t, const struct resource *r)
{
    for (int i = 0; i < t->count; i++)
        if (str_eq(t->parts[i].resource.kind, r->kind) &&
            str_eq(t->parts[i].resource.group, r->group))
            return true;
    return false;
}

// An owner that is not in the tree may stand between the root and this object: so its kind is
// watched, too.
static void follow_owner(struct tree *t, const cJSON *object)
{
    const cJSON *owner = owner_of(object);
    const struct resource *r = owner && !find(t, json_str(owner, "uid"))
                                   ? client_known(t->client, json_str_or(owner, "apiVersion", ""),
                                         json_str_or(owner, "kind", ""))
                                   : NULL;
    if (r && t->count < PARTS && !is_watched(t, r))
        open_part(add_part(t, r, NULL, NULL));
}

static void on_event(void *arg, enum watch_change what, const cJSON *object)
{
    struct part *p = arg;
    struct tree *t = p->tree;
    const char *uid = json_path_str(object, "metadata.uid");
    if (!uid)
        return;
    if (t->follows && what != WATCH_DELETED && !str_eq(uid, t->root))
        follow_owner(t, object);
    if (str_eq(uid, t->root) && what != WATCH_DELETED &&
        known_is(object, "argoproj.io", "Workflow")) {
        cJSON_Delete(t->steps);
        t->steps = steps_of(object);
    }
    if (what != WATCH_DELETED)
        put(t, node_of(p, object));
    else if (!str_eq(uid, t->root)) // the root's last row stays
        drop(t, uid);
    if (t->usage && is_pods(p))
        follow_usage(t, what == WATCH_DELETED, object);
    change(t);
}

static void on_away(void *arg, const err *reason)
{
    const struct part *p = arg;
    struct tree *t = p->tree;
    free(t->note);
    t->note = k8s_away_note(p->watch, reason);
    change(t);
    if (!t->context)
        k8s_away_tell(t->display, p->watch, reason);
}

static const struct watch_ops callbacks = {.event = on_event, .synced = on_synced, .away = on_away};

static void finish(void *arg)
{
    struct tree *t = arg;
    display_close(t->display, bundle(t, true));
    tree_free(t);
}

static void open_part(struct part *p)
{
    const struct tree *t = p->tree;
    p->watch = watch_open(t->client,
        &(struct watch_spec){.resource = &p->resource,
            .ns = p->resource.namespaced ? t->ns : NULL,
            .labels = p->labels,
            .fields = p->fields},
        &callbacks, p);
}

static void begin(void *arg)
{
    struct tree *t = arg;
    static const struct usage_ops used = {.changed = on_used};
    const struct part *pods = &t->parts[1];
    t->timer = loop_timer_new(t->loop, on_timer, t);
    if (t->used_kind)
        t->usage = k8s_usage(t->client,
            (struct usage_spec){.resource = t->used_kind, .ns = t->ns, .labels = pods->labels},
            t->peek, &used, t);
    for (int i = 0; i < t->count; i++)
        open_part(&t->parts[i]);
    display_on_end(t->display, finish, now, t);
}

static struct part *add_part(
    struct tree *t, const struct resource *r, const char *labels, char *fields)
{
    struct part *p = &t->parts[t->count++];
    *p = (struct part){.tree = t, .resource = *r, .labels = mem_strdup(labels), .fields = fields};
    return p;
}

// Goes from owner to owner as far as one may look. Takes the object, returns the topmost one.
static cJSON *climb(struct target *t, cJSON *object, const struct resource **r)
{
    const cJSON *owner;
    struct patience quick = k8s_quick(t);
    for (int i = 0; i < DEPTH && (owner = owner_of(object)); i++) {
        const struct resource *of = client_resource_of(t->client, &quick,
            json_str_or(owner, "apiVersion", ""), json_str_or(owner, "kind", ""), NULL);
        cJSON *above =
            of ? client_get(t->client, &quick, of, t->ns, json_str_or(owner, "name", ""), NULL)
               : NULL;
        if (!above || !str_eq(json_path_str(above, "metadata.uid"), json_str(owner, "uid"))) {
            cJSON_Delete(above);
            break;
        }
        cJSON_Delete(object);
        object = above;
        *r = of;
    }
    return object;
}

// The kinds that stand between an object of this kind and its pods, however many. Those that the
// server does not have are left out.
static void add_made(struct tree *t, struct target *target, const struct known *row)
{
    const char *at = row ? row->makes : NULL, *part;
    for (size_t n; (n = known_part(&at, &part)) && t->count < PARTS;) {
        AUTO_FREE char *name = mem_strndup(part, n);
        const struct resource *r = client_resource(target->client, &target->patience, name, NULL);
        if (!r || is_watched(t, r))
            continue;
        add_part(t, r, NULL, NULL);
        add_made(t, target, known_find(r->group, r->kind));
    }
}

// Kueue's Workload, which tells whether the root may start.
static void add_holder(struct tree *t, struct target *target, const struct known *row)
{
    const struct resource *r =
        row && row->suspend && t->count < PARTS
            ? client_resource(target->client, &target->patience, "workloads.kueue.x-k8s.io", NULL)
            : NULL;
    AUTO_FREE char *labels = str_fmt("kueue.x-k8s.io/job-uid=%s", t->root ? t->root : "");
    if (r)
        add_part(t, r, labels, NULL);
}

static int add_parts(
    struct tree *t, struct target *target, const cJSON *root, const struct resource *r, err *e)
{
    const struct resource *pods = client_resource(target->client, &target->patience, "pods", e);
    const struct known *row = known_of(root);
    const char *name = json_path_str(root, "metadata.name");
    if (!pods)
        return -1;
    struct pods_of of = {0};
    k8s_pods_found(target, root, true, &of, NULL); // else all pods are looked at
    add_part(t, r, NULL, str_fmt("metadata.name=%s", name));
    add_part(t, pods, of.labels, NULL);
    t->follows = !str_eq(r->api_version, "v1"); // kinds of v1 own none
    add_made(t, target, row);
    add_holder(t, target, row);
    t->used_kind = usage_of(target->client, pods);
    k8s_pods_done(&of);
    return 0;
}

// {"kind", "name", …}: returns at once, when the display is made.
int k8s_tree(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target target;
    if (k8s_target(c, args, true, &target, e) != 0)
        return -1;
    cJSON *object = k8s_object(c, &target, e);
    if (!object)
        return -1;
    const struct resource *r = target.resource;
    AUTO_JSON *root = climb(&target, object, &r);
    struct tree *t = mem_alloc(sizeof *t);
    *t = (struct tree){.loop = call_loop(c),
        .by_uid = hashmap_new_borrowing(),
        .columns = table_of_pods(false),
        .peek = call_is_action(c),
        .client = target.client,
        .ns = mem_strdup(target.ns),
        .root = mem_strdup(json_path_str(root, "metadata.uid")),
        .context = mem_strdup(target.context),
        .title = str_fmt("tree of %s %s", r->singular, json_path_str(root, "metadata.name"))};
    if (add_parts(t, &target, root, r, e) != 0) {
        tree_free(t);
        return -1;
    }
    put(t, node_of(&t->parts[0], root));
    t->display = call_display(c, bundle(t, false), true);
    if (call_is_action(c)) {
        *result = cJSON_CreateObject();
        json_set_int(*result, "display", display_id(t->display));
    }
    loop_post(t->loop, begin, t);
    return 0;
}
