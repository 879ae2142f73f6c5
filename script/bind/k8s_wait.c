// SPDX-License-Identifier: MIT
// The k8s bindings that wait: for a condition, or for a state. FAILED ends the wait at once, with
// the cause.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/events.h"
#include "k8s/client/state.h"
#include "k8s/client/tail.h"
#include "k8s/client/wait.h"
#include "script/bind/k8s.h"

#include <string.h>

enum { CAUSE_EVENTS = 10, CAUSE_LINES = 20, CAUSE_LOG = 16 << 10 };

// Reports of a waiting call about its server: when it goes away, and when it is back.
struct waiting {
    call *call;
    const char *words; // for k8s.wait; NULL: a state
    const char *state;
    bool seen, ended;
    int64_t away_since, told;
};

static void say(call *c, const char *text)
{
    AUTO_FREE char *line = str_fmt("%s\n", text);
    call_output(c, "stderr", line, strlen(line));
}

static void on_away(void *arg, const err *reason)
{
    struct waiting *w = arg;
    int64_t now = clock_mono();
    AUTO_BUF text = {0};
    call_server_away(w->call, reason);
    if (reason->code == ERR_NONE) {
        buf_str(&text, "the server is back after ");
        duration_format(&text, now - w->away_since);
        w->away_since = w->told = 0;
        say(w->call, buf_cstr(&text));
        return;
    }
    if (!w->away_since)
        w->away_since = now;
    if (w->told && now - w->told < 10 * CLOCK_SEC)
        return;
    w->told = now;
    buf_fmt(&text, "%s; away for ", reason->text);
    duration_format(&text, now - w->away_since);
    buf_str(&text, ", waiting on");
    say(w->call, buf_cstr(&text));
}

static int judge_words(void *arg, const cJSON *object, err *e)
{
    struct waiting *w = arg;
    return wait_judge((char *)w->words, object, e);
}

static int judge_state(void *arg, const cJSON *object, err *e)
{
    struct waiting *w = arg;
    if (!object)
        return w->seen ? err_set(e, ERR_GONE, "it was deleted")
                       : err_set(e, ERR_NOT_FOUND, "it is not there");
    if (!w->seen && !state_exists(object, w->state))
        return err_set(e, ERR_USAGE, "a %s has no state %s; it has %s",
            json_str_or(object, "kind", "?"), w->state, state_names(object));
    w->seen = true;
    if (state_reached(object, w->state))
        return 1;
    w->ended = state_of(object).outcome != OUTCOME_OPEN;
    return w->ended ? err_set(e, ERR_FAILED, "it is over") : 0;
}

static int wait_with(struct target *t, struct waiting *w, cJSON **last, err *e)
{
    return wait_for(t->client, &t->patience,
        &(struct wait_spec){.resource = t->resource,
            .ns = t->resource->namespaced ? t->ns : NULL,
            .name = t->name,
            .uid = t->uid,
            .judge = w->words ? judge_words : judge_state,
            .away = on_away,
            .arg = w},
        last, e);
}

int k8s_wait(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    struct waiting w = {.call = c, .words = json_str(args, "for")};
    AUTO_JSON *last = NULL;
    if (!w.words)
        return err_set(e, ERR_USAGE, "wait needs for=, as \"condition=Ready\"");
    if (k8s_target(c, args, true, &t, e) != 0 || k8s_deadline(c, args, &t.patience, e) != 0 ||
        wait_with(&t, &w, &last, e) != 0)
        return -1;
    *result = STEAL(last);
    return 0;
}

static void add_events(buf *out, const cJSON *events)
{
    int skip = cJSON_GetArraySize(events) - CAUSE_EVENTS;
    const cJSON *event;
    cJSON_ArrayForEach(event, events)
    {
        if (skip-- > 0)
            continue;
        buf_fmt(out, "  %-8s %s: %s\n", json_str_or(event, "type", ""),
            json_str_or(event, "reason", ""), json_str_or(event, "message", ""));
    }
}

// Adds the last lines of the most important pod's log, if they can be read.
static void add_log(
    buf *out, struct target *t, const struct patience *p, const struct pods_of *pods)
{
    AUTO_BUF log = {0};
    int result = tail_read(t->client, p,
        &(struct tail_spec){
            .ns = t->ns, .pod = pods->pod, .labels = pods->labels, .tail = CAUSE_LINES},
        CAUSE_LOG, &log, NULL);
    if (result == 0 && log.len)
        buf_fmt(out, "last lines of %s:\n%s", pods->pod ? pods->pod : "its pods", buf_cstr(&log));
}

// "container main of pod fails-7brbx exited with 7", of the first that did.
static bool add_exit(buf *out, const cJSON *pod)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(pod, "status.containerStatuses"))
    {
        const cJSON *end = json_path(c, "state.terminated");
        int64_t code = json_int_or(end, "exitCode", 0);
        if (!code)
            continue;
        buf_fmt(out, "container %s of pod %s exited with %lld", json_str_or(c, "name", "?"),
            json_path_str(pod, "metadata.name"), (long long)code);
        return true;
    }
    return false;
}

static void add_exits(
    buf *out, struct target *t, const struct patience *p, const struct pods_of *pods)
{
    const struct resource *r = client_resource_of(t->client, p, "v1", "Pod", NULL);
    AUTO_JSON *list = NULL, *one = NULL;
    if (r && pods->pod)
        one = client_get(t->client, p, r, t->ns, pods->pod, NULL);
    else if (r)
        list =
            client_list(t->client, p, r, t->ns, &(struct list_query){.labels = pods->labels}, NULL);
    const cJSON *items = json_get(list, "items"), *pod = one ? one : items ? items->child : NULL;
    while (pod && !add_exit(out, pod))
        pod = pod->next;
}

// What its pods say: their exit code into `reason`, their last words into `story`.
static void ask_pods(buf *reason, buf *story, struct target *t, const cJSON *object)
{
    struct pods_of pods;
    if (k8s_pods_of(object, false, &pods, NULL) != 0)
        return;
    struct patience quick = t->patience;
    quick.deadline = clock_mono() + 10 * CLOCK_SEC; // the cause is known; this is extra
    add_exits(reason, t, &quick, &pods);
    add_log(story, t, &quick, &pods);
    k8s_pods_done(&pods);
}

// The object has ended in another state: the reason goes into the error, and what led to it into
// the output.
static int explain(struct target *t, struct waiting *w, const cJSON *object, err *e)
{
    struct state s = state_of(object);
    AUTO_JSON *events = client_events(t->client, &t->patience, t->ns, t->resource->kind, t->name,
        json_path_str(object, "metadata.uid"), NULL);
    AUTO_BUF story = {0}, reason = {0};
    if (s.cause && *s.cause)
        buf_str(&reason, s.cause);
    size_t cause = reason.len;
    if (cause)
        buf_str(&reason, "; ");
    if (events && events->child) {
        buf_fmt(&story, "events of %s %s:\n", t->resource->singular, t->name);
        add_events(&story, events);
    }
    ask_pods(&reason, &story, t, object);
    if (cause && reason.len == cause + 2) // nothing came after it
        reason.data[reason.len = cause] = '\0';
    if (story.len)
        call_output(w->call, "stderr", story.data, story.len);
    return err_set(e, ERR_FAILED, "%s %s is %s, and will not reach %s%s%.700s",
        t->resource->singular, t->name, s.text, w->state, reason.len ? ": " : "",
        buf_cstr(&reason));
}

int k8s_reach(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    struct waiting w = {.call = c, .state = json_str(args, "state")};
    AUTO_JSON *last = NULL;
    if (!w.state)
        return err_set(e, ERR_USAGE, "which state? For example \"COMPLETED\"");
    if (k8s_target(c, args, true, &t, e) != 0 || k8s_deadline(c, args, &t.patience, e) != 0)
        return -1;
    err why = {0};
    if (wait_with(&t, &w, &last, &why) == 0) {
        *result = cJSON_CreateObject();
        struct state s = state_of(last);
        json_set_str(*result, "state", s.text);
        return 0;
    }
    if (w.ended && last)
        return explain(&t, &w, last, e);
    if (why.code == ERR_NOT_FOUND || why.code == ERR_GONE)
        return err_set(
            e, why.code, "%s %s in namespace %s: %s", t.resource->singular, t.name, t.ns, why.text);
    return err_set(e, why.code, "%s", why.text);
}
