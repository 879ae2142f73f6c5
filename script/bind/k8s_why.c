// SPDX-License-Identifier: MIT
// Why does an object not go on? k8s.why asks for what tells it: its pods, warnings, its main log,
// operators. Waits use it when they take long or fail.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/cause.h"
#include "k8s/client/events.h"
#include "k8s/client/state.h"
#include "k8s/client/tail.h"
#include "script/bind/k8s.h"

#include <string.h>

enum { EVENTS_SHOWN = 10, LINES_SHOWN = 20, LINES_READ = 200, LOG_MAX = 64 << 10 };

struct patience k8s_quick(const struct target *t)
{
    struct patience quick = t->patience;
    quick.deadline = clock_mono() + 10 * CLOCK_SEC;
    quick.retry_ns = -1;
    return quick;
}

cJSON *k8s_items(struct target *t, const struct patience *p, const char *api_version,
    const char *kind, const char *ns, const struct list_query *query)
{
    const struct resource *r = client_resource_of(t->client, p, api_version, kind, NULL);
    AUTO_JSON *list = r ? client_list(t->client, p, r, ns, query, NULL) : NULL;
    return list ? cJSON_DetachItemFromObjectCaseSensitive(list, "items") : NULL;
}

// All pods of the object, an array; NULL: it has none that are known, or we may not read them.
static cJSON *ask_pods(struct target *t, const struct patience *p, const cJSON *object)
{
    struct pods_of of;
    const struct resource *r = client_resource_of(t->client, p, "v1", "Pod", NULL);
    if (!r || str_eq(json_str(object, "kind"), "Pod") || k8s_pods_of(object, true, &of, NULL) != 0)
        return NULL;
    cJSON *pods = NULL;
    if (of.labels) {
        pods = k8s_items(t, p, "v1", "Pod", t->ns, &(struct list_query){.labels = of.labels});
    } else if (of.pod) {
        cJSON *pod = client_get(t->client, p, r, t->ns, of.pod, NULL);
        pods = cJSON_CreateArray();
        if (pod)
            cJSON_AddItemToArray(pods, pod);
    }
    k8s_pods_done(&of);
    cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        json_set_str(pod, "kind", "Pod"); // items of a list do not say it
    }
    return pods;
}

static bool is_about(const cJSON *event, const cJSON *object)
{
    const char *uid = json_path_str(object, "metadata.uid");
    return uid && str_eq(json_path_str(event, "involvedObject.uid"), uid);
}

// The warnings about the object and its pods, oldest first.
static cJSON *ask_warnings(
    struct target *t, const struct patience *p, const cJSON *object, const cJSON *pods)
{
    const struct resource *r = client_resource_of(t->client, p, "v1", "Event", NULL);
    struct list_query q = {.fields = "type=Warning"};
    cJSON *list = r ? client_list(t->client, p, r, t->ns, &q, NULL) : NULL;
    if (!list)
        return NULL;
    cJSON *all = events_sorted(list), *kept = cJSON_CreateArray(), *event;
    while ((event = cJSON_DetachItemFromArray(all, 0))) {
        bool keep = is_about(event, object);
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
    static const struct {
        const char *group, *labels;
    } operators[] = {{"sparkoperator.k8s.io", "app.kubernetes.io/name=spark-operator"},
        {"kubeflow.org", "app.kubernetes.io/name=mpi-operator"}};
    for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
        struct list_query q = {.labels = operators[i].labels};
        if (str_eq(operators[i].group, t->resource->group))
            return k8s_items(t, p, "apps/v1", "Deployment", NULL, &q);
    }
    return NULL;
}

bool k8s_find_why(struct target *t, const cJSON *object, struct why *out)
{
    struct patience quick = k8s_quick(t);
    AUTO_JSON *pods = ask_pods(t, &quick, object);
    AUTO_JSON *warnings = ask_warnings(t, &quick, object, pods);
    const cJSON *status = json_get(object, "status");
    AUTO_JSON *operators = !status || !status->child ? k8s_operators(t, &quick) : NULL;
    AUTO_BUF log = {0};
    if (str_eq(t->resource->kind, "SparkApplication") && str_eq(state_of(object).text, "RUNNING"))
        ask_log(t, &quick, object, &log);
    return why_of(&(struct why_facts){.object = object,
                      .pods = pods,
                      .events = warnings,
                      .log = log.len ? buf_cstr(&log) : NULL,
                      .operators = operators},
        clock_wall(), out);
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
    if (k8s_find_why(&t, object, &w)) {
        json_set_str(*result, "what", buf_cstr(&w.what));
        json_set_str(*result, "seen", buf_cstr(&w.seen));
        json_set_str(*result, "next", w.next.len ? buf_cstr(&w.next) : NULL);
    }
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
