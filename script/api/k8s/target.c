// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/kinds/known.h"
#include "k8s/manifest/restricted.h"
#include "script/api/k8s/k8s.h"

#include <string.h>

// Records which cluster this is, at the first call that talks to it. That this cannot be found out
// keeps nobody from anything.
static void record_cluster(call *c, const struct target *t)
{
    struct patience once = k8s_quick(t);
    if (call_is_action(c) || t->context || call_knows_cluster(c))
        return;
    const cJSON *identity = client_identity(t->client, &once, NULL);
    AUTO_JSON *version = identity ? client_version(t->client, &once, NULL) : NULL;
    if (!identity)
        return;
    cJSON *cluster = cJSON_CreateObject();
    const char *uid = json_str_or(identity, "uid", "");
    json_set_str(cluster, "uid", *uid ? uid : NULL);
    json_set_str(cluster, "version", json_str(version, "gitVersion"));
    call_learned_cluster(c, cluster);
}

int k8s_target(call *c, const cJSON *args, bool needs_name, struct target *t, err *e)
{
    const char *context = json_str(args, "context");
    *t = (struct target){
        .client = bind_client_of(c, context, e), .patience = bind_patience(c), .context = context};
    if (!t->client)
        return -1;
    if (context && t->client != bind_client(c, NULL))
        call_asks_server(c, false); // the status line is about the chosen one
    else
        t->context = NULL;
    const char *version = json_str(args, "apiVersion"), *kind = json_str(args, "kind");
    t->name = json_str(args, "name");
    t->uid = json_str(args, "uid");
    t->ns = json_str_or(args, "namespace", client_config(t->client)->namespace_);
    t->resource = version ? client_resource_of(t->client, &t->patience, version, kind, e)
                          : client_resource(t->client, &t->patience, kind, e);
    if (!t->resource)
        return -1;
    record_cluster(c, t);
    if (needs_name && (!t->name || !*t->name))
        return err_set(e, ERR_USAGE, "the name of a %s is needed", t->resource->singular);
    return 0;
}

cJSON *k8s_reference(struct target *t, const cJSON *object, err *e)
{
    const cJSON *identity = client_identity(t->client, &t->patience, e);
    if (!identity)
        return NULL;
    const cJSON *m = json_get(object, "metadata");
    AUTO_FREE char *resource = resource_name(t->resource);
    cJSON *ref = cJSON_CreateObject();
    json_set_str(ref, "apiVersion", t->resource->api_version);
    json_set_str(ref, "kind", t->resource->kind);
    json_set_str(ref, "resource", resource);
    json_set_str(ref, "namespace", json_str(m, "namespace"));
    json_set_str(ref, "name", json_str(m, "name"));
    json_set_str(ref, "uid", json_str(m, "uid"));
    json_set_str(ref, "resourceVersion", json_str(m, "resourceVersion"));
    json_set(ref, "cluster", cJSON_Duplicate(identity, 1));
    return ref;
}

// The same cluster has the same namespace kube-system; if that cannot be read, the same address and
// authority.
static bool is_same(const cJSON *a, const cJSON *b)
{
    const char *x = json_str_or(a, "uid", ""), *y = json_str_or(b, "uid", "");
    if (*x && *y)
        return str_eq(x, y);
    return str_eq(json_str(a, "server"), json_str(b, "server")) &&
           str_eq(json_str(a, "ca"), json_str(b, "ca"));
}

int k8s_same_cluster(struct target *t, const cJSON *recorded, err *e)
{
    const cJSON *then = json_get(recorded, "cluster");
    const cJSON *now = client_identity(t->client, &t->patience, e);
    if (!now)
        return -1;
    if (is_same(then, now))
        return 0;
    return err_set(e, ERR_REFUSED,
        "%s %s was made on another cluster (%s) than the one of context %s (%s): choose its "
        "context",
        json_str_or(recorded, "kind", "the object"), json_str_or(recorded, "name", ""),
        json_str_or(then, "server", "unknown"), client_config(t->client)->context,
        json_str_or(now, "server", ""));
}

int k8s_pods_of(const cJSON *object, bool whole, struct pods_of *out, err *e)
{
    const struct known *row = known_of(object);
    const char *name = json_path_str(object, "metadata.name");
    *out = (struct pods_of){0};
    if (known_is(object, "", "Pod")) {
        out->pod = mem_strdup(name);
        return 0;
    }
    AUTO_FREE char *all = known_pods(object);
    const char *main = row && !whole ? row->main : NULL;
    out->labels = all && main ? str_fmt("%s,%s", all, main) : STEAL(all);
    const char *pod = row && row->main_pod && !whole ? json_path_str(object, row->main_pod) : NULL;
    if (pod && *pod)
        out->pod = mem_strdup(pod);
    if (!out->labels)
        return err_set(e, ERR_USAGE, "%s %s leads to no pods that are known here",
            json_str_or(object, "kind", ""), name);
    return 0;
}

int k8s_pods_found(struct target *t, const cJSON *object, bool whole, struct pods_of *out, err *e)
{
    const struct known *row = known_of(object);
    if (k8s_pods_of(object, whole, out, e) != 0)
        return -1;
    if (!row || !row->makes || !out->labels || out->pod)
        return 0;
    struct patience quick = k8s_quick(t);
    const struct resource *r = client_resource_of(t->client, &quick, "v1", "Pod", NULL);
    struct list_query one = {.labels = out->labels, .limit = 1};
    AUTO_JSON *page = r ? client_page(t->client, &quick, r, t->ns, &one, NULL, NULL) : NULL;
    const cJSON *items = json_get(page, "items");
    if (!items || items->child)
        return 0;
    k8s_pods_done(out);
    *out = (struct pods_of){0};
    return err_set(e, ERR_USAGE, "no pod has the labels of %s %s", json_str_or(object, "kind", ""),
        json_path_str(object, "metadata.name"));
}

void k8s_pods_done(struct pods_of *p)
{
    free(p->labels);
    free(p->pod);
}

int k8s_deadline(call *c, const cJSON *args, struct patience *p, err *e)
{
    const cJSON *timeout = json_get(args, "timeout");
    int64_t ns;
    if (!timeout || cJSON_IsNull(timeout))
        return 0;
    if (cJSON_IsNumber(timeout))
        ns = clock_of_seconds(timeout->valuedouble);
    else if (!cJSON_IsString(timeout))
        return err_set(e, ERR_USAGE, "a time-out is written \"10m\" or as a number of seconds");
    else if (duration_parse(timeout->valuestring, &ns, e) != 0)
        return err_wrap(e, "timeout");
    int64_t deadline = clock_add(clock_mono(), ns);
    if (!p->deadline || deadline < p->deadline)
        p->deadline = deadline;
    return 0;
}

cJSON *k8s_about(const struct resource *r)
{
    cJSON *about = cJSON_CreateObject();
    json_set_str(about, "apiVersion", r ? r->api_version : "v1");
    json_set_str(about, "kind", r ? r->kind : "Pod");
    return about;
}

// What only some kinds take.
static const struct {
    const char *group, *kind, *action;
} of_kinds[] = {
    {"apps", "Deployment", "history"},
    {"apps", "Deployment", "undo"},
    {"apps", "Deployment", "set-image"},
    {"apps", "StatefulSet", "history"},
    {"apps", "StatefulSet", "undo"},
    {"apps", "StatefulSet", "set-image"},
    {"apps", "DaemonSet", "history"},
    {"apps", "DaemonSet", "undo"},
    {"apps", "DaemonSet", "set-image"},
    {"batch", "CronJob", "trigger"},
    {"batch", "CronJob", "suspend"},
    {"batch", "CronJob", "resume"},
    {"batch", "CronJob", "set-image"},
    {"batch", "Job", "suspend"},
    {"batch", "Job", "resume"},
    {"jobset.x-k8s.io", "JobSet", "suspend"},
    {"jobset.x-k8s.io", "JobSet", "resume"},
    {"kubeflow.org", "MPIJob", "suspend"},
    {"kubeflow.org", "MPIJob", "resume"},
    {"sparkoperator.k8s.io", "ScheduledSparkApplication", "suspend"},
    {"sparkoperator.k8s.io", "ScheduledSparkApplication", "resume"},
    {"argoproj.io", "CronWorkflow", "suspend"},
    {"argoproj.io", "CronWorkflow", "resume"},
    {"argoproj.io", "Workflow", "suspend"},
    {"argoproj.io", "Workflow", "resume"},
    {"", "Node", "cordon"},
    {"", "Node", "uncordon"},
    {"", "Node", "drain"},
    {"", "Pod", "set-image"},
    {"", "Secret", "decode"},
    {"", "Service", "forward"},
};

static void add_of_kind(cJSON *list, const struct resource *r)
{
    for (size_t i = 0; r && i < ARRAY_LEN(of_kinds); i++)
        if (str_eq(of_kinds[i].group, r->group) && str_eq(of_kinds[i].kind, r->kind))
            cJSON_AddItemToArray(list, cJSON_CreateString(of_kinds[i].action));
}

void k8s_take_actions(cJSON *table, const struct resource *r)
{
    static const char *const actions[] = {"describe", "why", "logs", "yaml", "tree", "edit",
        "delete", "explain", "label", "annotate", "who"};
    static const char *const of_pods[] = {"shell", "inside", "forward"};
    cJSON *list = cJSON_CreateStringArray(actions, ARRAY_LEN(actions));
    if (r && r->scales)
        cJSON_AddItemToArray(list, cJSON_CreateString("scale"));
    if (k8s_restarts(r))
        cJSON_AddItemToArray(list, cJSON_CreateString("restart"));
    bool runs = !r || str_eq(r->kind, "Pod") || k8s_restarts(r); // pods for as long as it is
    for (size_t i = 0; runs && i < ARRAY_LEN(of_pods); i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(of_pods[i]));
    add_of_kind(list, r);
    cJSON_AddItemToArray(list, cJSON_CreateString("command"));
    cJSON_AddItemToArray(list, cJSON_CreateString("edit-text"));
    json_set(table, "actions", list);
    json_set(table, "about", k8s_about(r));
}

bool k8s_is_event(const struct resource *r)
{
    return str_eq(r->kind, "Event") && (!*r->group || str_eq(r->group, "events.k8s.io"));
}

void k8s_set_event_about(cJSON *row, const cJSON *event)
{
    static const char *const fields[] = {"apiVersion", "kind", "namespace", "name", "uid"};
    const cJSON *old = json_get(event, "involvedObject");
    const cJSON *object = old ? old : json_get(event, "regarding");
    cJSON *about = json_object_at(row, "about");
    cJSON_AddNullToObject(about, "uid"); // else it would be the event's
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        json_set_str(about, fields[i], json_str(object, fields[i]));
}

void k8s_take_event_actions(cJSON *table)
{
    static const char *const actions[] = {"describe", "why", "logs", "yaml"};
    json_set(table, "actions", cJSON_CreateStringArray(actions, ARRAY_LEN(actions)));
}

void k8s_set_title(cJSON *table, const struct resource *r, const char *ns)
{
    AUTO_BUF title = {0};
    buf_str(&title, r->plural);
    if (r->namespaced)
        buf_fmt(&title, " in %s", ns ? ns : "all namespaces");
    json_set_str(table, "title", buf_cstr(&title));
    if (!k8s_is_event(r)) // those have an order of their own
        json_set_bool(table, "natural", true);
    json_set_str(table, "many", r->plural);
    if (str_eq(r->kind, "Namespace") && !*r->group)
        json_set_str(table, "enter", "namespace"); // a place where one may look
    json_set_str(table, "one", r->singular && *r->singular ? r->singular : r->plural);
}

void k8s_set_context(cJSON *table, const struct target *t)
{
    if (!t->context)
        return;
    AUTO_FREE char *title = str_fmt("%s of %s", json_str_or(table, "title", ""), t->context);
    json_set_str(table, "title", title);
    json_set_str(json_object_at(table, "about"), "context", t->context);
}

cJSON *k8s_text(const buf *text)
{
    size_t n = text->len;
    AUTO_FREE char *copy = mem_strndup(buf_cstr(text), n && text->data[n - 1] == '\n' ? n - 1 : n);
    return cJSON_CreateString(copy);
}

bool k8s_is_restricted(const struct target *t, const char *ns)
{
    struct patience quick = k8s_quick(t);
    const struct resource *namespaces =
        client_resource_of(t->client, &quick, "v1", "Namespace", NULL);
    AUTO_JSON *there =
        namespaces ? client_get(t->client, &quick, namespaces, NULL, ns, NULL) : NULL;
    return str_eq(json_str(json_path(there, "metadata.labels"), LABEL_ENFORCED), "restricted");
}
