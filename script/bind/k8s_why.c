// SPDX-License-Identifier: MIT
// Why does an object not go on? k8s.why asks for what tells it: its pods, warnings, its main log,
// operators. Waits use it when they take long or fail.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/cause.h"
#include "k8s/client/events.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/state.h"
#include "k8s/client/tail.h"
#include "script/bind/k8s.h"

#include <string.h>

enum {
    EVENTS_SHOWN = 10,
    LINES_SHOWN = 20,
    LINES_READ = 200,
    LOG_MAX = 64 << 10,
    NODES_ASKED = 5, // one by one
    NODES_LISTED = 200
};

struct patience k8s_quick(const struct target *t)
{
    return client_errand(&t->patience);
}

cJSON *k8s_items(struct target *t, const struct patience *p, const char *api_version,
    const char *kind, const char *ns, const struct list_query *query, err *e)
{
    const struct resource *r = client_resource_of(t->client, p, api_version, kind, e);
    AUTO_JSON *list = r ? client_list(t->client, p, r, ns, query, e) : NULL;
    return list ? cJSON_DetachItemFromObjectCaseSensitive(list, "items") : NULL;
}

// What is asked, for one object, and what came of it.
struct looking {
    struct target *t;
    struct patience quick;
    const cJSON *object;
    buf seen, missed;
};

static void add_to_list(buf *list, const char *words)
{
    buf_fmt(list, "%s%s", list->len ? ", " : "", words);
}

// `words` were looked at, or could not be: then why tells the reason.
static void note(struct looking *l, const char *words, const err *why)
{
    AUTO_BUF missed = {0};
    if (!why->code) {
        add_to_list(&l->seen, words);
        return;
    }
    buf_fmt(&missed, "%s (%s)", words, str_short(why->text, 300).text);
    add_to_list(&l->missed, buf_cstr(&missed));
}

// The items of a list; an array, NULL: they cannot be read.
static cJSON *ask_items(
    struct looking *l, const char *kind, const char *ns, const struct list_query *query, err *e)
{
    client *c = l->t->client;
    const struct resource *r = client_resource_of(c, &l->quick, "v1", kind, e);
    AUTO_JSON *list = r ? query->limit ? client_page(c, &l->quick, r, ns, query, NULL, e)
                                       : client_list(c, &l->quick, r, ns, query, e)
                        : NULL;
    cJSON *items = cJSON_DetachItemFromObjectCaseSensitive(list, "items"), *item;
    cJSON_ArrayForEach(item, items)
    {
        json_set_str(item, "kind", kind); // items of a list do not say it
    }
    return items;
}

static cJSON *ask_one(struct looking *l, const char *kind, const char *ns, const char *name, err *e)
{
    const struct resource *r = client_resource_of(l->t->client, &l->quick, "v1", kind, e);
    return r ? client_get(l->t->client, &l->quick, r, ns, name, e) : NULL;
}

// All pods of the object, an array; NULL: it has none that are known, or we may not read them.
static cJSON *ask_pods(struct looking *l)
{
    struct pods_of of;
    if (str_eq(json_str(l->object, "kind"), "Pod") || k8s_pods_of(l->object, true, &of, NULL) != 0)
        return NULL;
    err why = {0};
    cJSON *pods = NULL;
    if (of.labels) {
        pods = ask_items(l, "Pod", l->t->ns, &(struct list_query){.labels = of.labels}, &why);
    } else if (of.pod) {
        cJSON *pod = ask_one(l, "Pod", l->t->ns, of.pod, &why);
        pods = cJSON_CreateArray();
        if (pod)
            cJSON_AddItemToArray(pods, pod);
    }
    k8s_pods_done(&of);
    int n = cJSON_GetArraySize(pods);
    AUTO_FREE char *words = str_fmt("%d pod%s", n, n == 1 ? "" : "s");
    note(l, why.code ? "its pods" : words, &why);
    return pods;
}

static bool is_about(const cJSON *event, const cJSON *object)
{
    const char *uid = json_path_str(object, "metadata.uid");
    return uid && str_eq(json_path_str(event, "involvedObject.uid"), uid);
}

// The events that `fields` chooses, about the object and its pods, oldest first.
static cJSON *ask_events(struct looking *l, const cJSON *pods, const char *fields, err *e)
{
    cJSON *list = ask_items(l, "Event", l->t->ns, &(struct list_query){.fields = fields}, e);
    if (!list)
        return NULL;
    cJSON *whole = cJSON_CreateObject();
    json_set(whole, "items", list);
    cJSON *all = events_sorted(whole), *kept = cJSON_CreateArray(), *event;
    while ((event = cJSON_DetachItemFromArray(all, 0))) {
        bool keep = is_about(event, l->object);
        const cJSON *pod;
        cJSON_ArrayForEach(pod, pods)
        {
            keep = keep || is_about(event, pod);
        }
        if (keep)
            cJSON_AddItemToArray(kept, event);
        else
            cJSON_Delete(event);
    }
    cJSON_Delete(all);
    return kept;
}

static cJSON *ask_warnings(struct looking *l, const cJSON *pods)
{
    err why = {0};
    cJSON *warnings = ask_events(l, pods, "type=Warning", &why);
    note(l, "warnings about it", &why);
    return warnings;
}

static const cJSON *placed(const cJSON *pod)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(pod, "status.conditions"))
    {
        if (str_eq(json_str(c, "type"), "PodScheduled"))
            return c;
    }
    return NULL;
}

static bool is_pending(const cJSON *pod)
{
    return str_eq(json_path_str(pod, "status.phase"), "Pending");
}

// `test` of the object, if it is a pod, or of any of its pods.
static bool any_pod(struct looking *l, const cJSON *pods, bool (*test)(const cJSON *pod))
{
    const cJSON *pod;
    if (str_eq(json_str(l->object, "kind"), "Pod"))
        return test(l->object);
    cJSON_ArrayForEach(pod, pods)
    {
        if (test(pod))
            return true;
    }
    return false;
}

static bool is_bound_and_pending(const cJSON *pod)
{
    return is_pending(pod) && json_path_str(pod, "spec.nodeName");
}

// Pulls take long and are no warnings.
static cJSON *ask_pulls(struct looking *l, const cJSON *pods)
{
    err why = {0};
    if (!any_pod(l, pods, is_bound_and_pending))
        return NULL;
    cJSON *pulls = ask_events(l, pods, "reason=Pulling", &why);
    note(l, "what its nodes pull", &why);
    return pulls;
}

static bool finds_no_node(const cJSON *pod)
{
    return is_pending(pod) && str_eq(json_str(placed(pod), "status"), "False");
}

static bool has_node(const cJSON *nodes, const char *name)
{
    const cJSON *node;
    cJSON_ArrayForEach(node, nodes)
    {
        if (str_eq(json_path_str(node, "metadata.name"), name))
            return true;
    }
    return false;
}

static void add_node_of(struct looking *l, const cJSON *pod, cJSON *nodes, err *e)
{
    ERR_GUARD(e);
    const char *name = json_path_str(pod, "spec.nodeName"),
               *phase = json_path_str(pod, "status.phase");
    bool over = str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
    if (!name || over || e->code || cJSON_GetArraySize(nodes) >= NODES_ASKED ||
        has_node(nodes, name))
        return;
    cJSON *node = ask_one(l, "Node", NULL, name, e);
    if (node)
        cJSON_AddItemToArray(nodes, node);
    if (e->code == ERR_NOT_FOUND) // it has gone, with its machine
        err_clear(e);
}

// The nodes that its pods are on; with a pod that finds none a page of all.
static cJSON *ask_nodes(struct looking *l, const cJSON *pods)
{
    err why = {0};
    const cJSON *pod;
    cJSON *nodes = NULL;
    if (any_pod(l, pods, finds_no_node))
        nodes = ask_items(l, "Node", NULL, &(struct list_query){.limit = NODES_LISTED}, &why);
    nodes = nodes ? nodes : cJSON_CreateArray();
    if (str_eq(json_str(l->object, "kind"), "Pod"))
        add_node_of(l, l->object, nodes, &why);
    cJSON_ArrayForEach(pod, pods)
    {
        add_node_of(l, pod, nodes, &why);
    }
    if (nodes->child || why.code)
        note(l, nodes->child ? "their nodes" : "nodes", &why);
    return nodes;
}

// The last lines of the main pod's log.
static void ask_log(struct target *t, const struct patience *p, const cJSON *object, buf *log)
{
    struct pods_of of;
    if (k8s_pods_of(object, false, &of, NULL) != 0)
        return;
    struct tail_spec spec = {.ns = t->ns, .pod = of.pod, .labels = of.labels, .tail = LINES_READ};
    struct tail_text text;
    if (tail_read(t->client, p, &spec, LOG_MAX, &text, NULL) == 0)
        buf_add(log, text.text.data, text.text.len);
    tail_text_done(&text);
    k8s_pods_done(&of);
}

cJSON *k8s_operators(struct target *t, const struct patience *p)
{
    const struct known *row = known_find(t->resource->group, t->resource->kind);
    struct list_query q = {.labels = row ? row->operators : NULL};
    return q.labels ? k8s_items(t, p, "apps/v1", "Deployment", NULL, &q, NULL) : NULL;
}

// "its status, 2 pods; could not look at nodes (…)"
static void say_looked(const struct looking *l, buf *out)
{
    buf_fmt(out, "%s%s%s", buf_cstr(&l->seen), l->missed.len ? "; could not look at " : "",
        buf_cstr(&l->missed));
}

bool k8s_find_why(struct target *t, const cJSON *object, struct why *out)
{
    struct looking l = {.t = t, .quick = k8s_quick(t), .object = object};
    add_to_list(&l.seen, "its status");
    AUTO_JSON *pods = ask_pods(&l);
    AUTO_JSON *warnings = ask_warnings(&l, pods);
    AUTO_JSON *pulls = ask_pulls(&l, pods);
    AUTO_JSON *nodes = ask_nodes(&l, pods);
    const cJSON *status = json_get(object, "status");
    AUTO_JSON *operators = !status || !status->child ? k8s_operators(t, &l.quick) : NULL;
    AUTO_BUF log = {0};
    if (str_eq(t->resource->kind, "SparkApplication") && str_eq(state_of(object).text, "RUNNING"))
        ask_log(t, &l.quick, object, &log);
    bool found = why_of(&(struct why_facts){.object = object,
                            .pods = pods,
                            .events = warnings,
                            .pulls = pulls,
                            .nodes = nodes,
                            .log = log.len ? buf_cstr(&log) : NULL,
                            .operators = operators},
        clock_wall(), out);
    say_looked(&l, &out->looked);
    buf_done(&l.seen);
    buf_done(&l.missed);
    return found;
}

void k8s_say_why(const struct why *w, buf *out)
{
    buf_fmt(out, "why: %s\n", buf_cstr(&w->what));
    if (w->seen.len)
        buf_fmt(out, "  seen: %s\n", buf_cstr(&w->seen));
    if (w->next.len)
        buf_fmt(out, "  next: %s\n", buf_cstr(&w->next));
}

int k8s_why(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    AUTO_JSON *object = k8s_object(c, &t, e);
    if (!object)
        return -1;
    struct why w;
    struct state s = state_of(object);
    *result = cJSON_CreateObject();
    json_set_str(*result, "state", s.text);
    json_set_bool(*result, "well", s.outcome == OUTCOME_GOOD);
    if (k8s_find_why(&t, object, &w)) {
        json_set_str(*result, "what", buf_cstr(&w.what));
        json_set_str(*result, "seen", buf_cstr(&w.seen));
        json_set_str(*result, "next", w.next.len ? buf_cstr(&w.next) : NULL);
    }
    json_set_str(*result, "looked", buf_cstr(&w.looked));
    why_done(&w);
    return 0;
}

// ---- an object that has failed

static void add_events(buf *out, const cJSON *events)
{
    int skip = cJSON_GetArraySize(events) - EVENTS_SHOWN;
    const cJSON *event;
    cJSON_ArrayForEach(event, events)
    {
        if (skip-- > 0)
            continue;
        const char *message = json_str_or(event, "message", "");
        AUTO_BUF line = {0};
        if (strchr(message, '\n')) // an operator's quotes a whole trace
            spark_cause(message, &line);
        else
            buf_str(&line, message);
        buf_fmt(out, "  %-8s %s: %s\n", json_str_or(event, "type", ""),
            json_str_or(event, "reason", ""), buf_cstr(&line));
    }
}

// The last lines that are no information of Spark's; if there are only such, the last of these.
static void add_lines(buf *out, const char *log)
{
    const char *kept[LINES_SHOWN], *any[LINES_SHOWN];
    size_t n = 0, n_any = 0;
    for (const char *line = log; *line;) {
        size_t length = strcspn(line, "\n");
        any[n_any++ % LINES_SHOWN] = line;
        if (!spark_is_noise(line, length))
            kept[n++ % LINES_SHOWN] = line;
        line += length + (line[length] == '\n');
    }
    const char **lines = n ? kept : any;
    n = n ? n : n_any;
    for (size_t i = n > LINES_SHOWN ? n - LINES_SHOWN : 0; i < n; i++) {
        const char *line = lines[i % LINES_SHOWN];
        buf_add(out, line, strcspn(line, "\n"));
        buf_str(out, "\n");
    }
}

static void add_reason(buf *reason, const char *part)
{
    if (*part && !strstr(buf_cstr(reason), part))
        buf_fmt(reason, "%s%s", reason->len ? "; " : "", part);
}

void k8s_explain(call *c, struct target *t, const cJSON *object, buf *reason)
{
    struct patience quick = k8s_quick(t);
    struct state s = state_of(object);
    AUTO_BUF story = {0}, log = {0}, own = {0};
    AUTO_JSON *events = client_events(t->client, &quick, t->ns, t->resource->kind, t->name,
        json_path_str(object, "metadata.uid"), NULL);
    struct why w;
    bool known = k8s_find_why(t, object, &w);
    if (s.cause)
        spark_cause(s.cause, &own);
    add_reason(reason, buf_cstr(&own));
    if (known) {
        add_reason(reason, buf_cstr(&w.what));
        k8s_say_why(&w, &story);
    }
    if (events && events->child) {
        buf_fmt(&story, "events of %s %s:\n", t->resource->singular, t->name);
        add_events(&story, events);
    }
    ask_log(t, &quick, object, &log);
    if (log.len) {
        buf_fmt(&story, "last lines of its log:\n");
        add_lines(&story, buf_cstr(&log));
    }
    if (story.len)
        call_output(c, "stderr", story.data, story.len);
    why_done(&w);
}
