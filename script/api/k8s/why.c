// SPDX-License-Identifier: MIT
// Why does an object not go on? k8s.why asks for what tells it: its pods, warnings, its main log,
// operators. Waits use it when they take long or fail.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describe/events.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/logs/tail.h"
#include "k8s/client/state/state.h"
#include "k8s/client/text/cause.h"
#include "k8s/client/why/look.h"
#include "script/api/k8s/k8s.h"

#include <string.h>

enum { EVENTS_SHOWN = 10, LINES_SHOWN = 20, LINES_READ = 200, LOG_MAX = 64 << 10 };

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

// ---- the server, as what why_look reads

struct live {
    struct target *t;
    struct patience quick;
};

static const struct resource *kind_named(const struct live *l, const char *kind, err *e)
{
    const char *space = strchr(kind, ' ');
    AUTO_FREE char *version = space ? mem_strndup(kind, (size_t)(space - kind)) : NULL;
    return space ? client_resource_of(l->t->client, &l->quick, version, space + 1, e)
                 : client_resource(l->t->client, &l->quick, kind, e);
}

static cJSON *live_list(
    void *arg, const char *kind, const char *ns, const struct list_query *query, err *e)
{
    const struct live *l = arg;
    client *c = l->t->client;
    const struct resource *r = kind_named(l, kind, e);
    AUTO_JSON *list = r ? query->limit ? client_page(c, &l->quick, r, ns, query, NULL, e)
                                       : client_list(c, &l->quick, r, ns, query, e)
                        : NULL;
    cJSON *items = cJSON_DetachItemFromObjectCaseSensitive(list, "items"), *item;
    cJSON_ArrayForEach(item, items)
    {
        json_set_str(item, "apiVersion", r->api_version); // items of a list do not say it
        json_set_str(item, "kind", r->kind);
    }
    return items;
}

static cJSON *live_get(void *arg, const char *kind, const char *ns, const char *name, err *e)
{
    const struct live *l = arg;
    const struct resource *r = kind_named(l, kind, e);
    return r ? client_get(l->t->client, &l->quick, r, ns, name, e) : NULL;
}

static cJSON *live_ask(void *arg, const char *path, err *e)
{
    const struct live *l = arg;
    AUTO_BUF text = {0};
    return client_text(l->t->client, &l->quick, path, &text, e) == 0
               ? json_parse(buf_cstr(&text), text.len, e)
               : NULL;
}

static void live_log(
    void *arg, const char *ns, const char *pod, const char *container, bool previous, buf *out)
{
    const struct live *l = arg;
    struct tail_spec spec = {
        .ns = ns, .pod = pod, .container = container, .previous = previous, .tail = LINES_READ};
    struct tail_text text;
    if (tail_read(l->t->client, &l->quick, &spec, LOG_MAX, &text, NULL) == 0)
        buf_add(out, text.text.data, text.text.len);
    tail_text_done(&text);
}

bool k8s_find_why(struct target *t, const cJSON *object, struct why *out)
{
    struct live l = {.t = t, .quick = k8s_quick(t)};
    const struct why_source source = {
        .list = live_list, .get = live_get, .ask = live_ask, .log = live_log, .arg = &l};
    return why_look(&source, object, t->ns, clock_wall(), out);
}

void k8s_say_why(const struct why *w, buf *out)
{
    buf_fmt(out, "why: %s\n", buf_cstr(&w->what));
    if (w->seen.len)
        buf_fmt(out, "  seen: %s\n", buf_cstr(&w->seen));
    if (w->next.len)
        buf_fmt(out, "  next: %s\n", buf_cstr(&w->next));
}

// What k8s.why found, as people read it.
static char *new_card(const cJSON *found)
{
    static const char *const rows[][2] = {{"seen", "seen: "}, {"next", "next: "},
        {"differs", "differs from the last good run, "}, {"looked", "looked at: "}};
    const char *what = json_str(found, "what"), *state = json_str_or(found, "state", "");
    bool unknown = *state && !json_bool_or(found, "well", false);
    AUTO_BUF text = {0};
    if (what)
        buf_str(&text, what);
    else
        buf_fmt(&text, "%sit is %s", unknown ? "no cause is known; " : "",
            *state ? state : "without a state");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (json_str(found, rows[i][0]))
            buf_fmt(&text, "\n  %s%s", rows[i][1], json_str(found, rows[i][0]));
    return buf_take(&text);
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
    AUTO_JSON *found = cJSON_CreateObject();
    json_set_str(found, "state", s.text);
    json_set_bool(found, "well", s.outcome == OUTCOME_GOOD);
    if (k8s_find_why(&t, object, &w)) {
        AUTO_FREE char *differs = call_last_good(c);
        json_set_str(found, "differs", differs);
        json_set_str(found, "what", buf_cstr(&w.what));
        json_set_str(found, "seen", buf_cstr(&w.seen));
        json_set_str(found, "next", w.next.len ? buf_cstr(&w.next) : NULL);
    }
    json_set_str(found, "looked", buf_cstr(&w.looked));
    why_done(&w);
    AUTO_FREE char *card = new_card(found);
    json_set_str(found, "text", card);
    *result = call_is_action(c) ? cJSON_CreateString(card) : STEAL(found);
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

void k8s_say_differs(call *c, buf *out)
{
    AUTO_FREE char *differs = call_last_good(c);
    if (differs)
        buf_fmt(out, "differs from the last good run, %s\n", differs);
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
    k8s_say_differs(c, &story);
    ask_log(t, &quick, object, &log);
    if (log.len) {
        buf_fmt(&story, "last lines of its log:\n");
        add_lines(&story, buf_cstr(&log));
    }
    if (story.len)
        call_output(c, "stderr", story.data, story.len);
    why_done(&w);
}
