// SPDX-License-Identifier: MIT
#include "k8s/client/watch/wait.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/request.h"
#include "k8s/client/state/rollout.h"
#include "k8s/client/state/state.h"
#include "k8s/client/text/jsonpath.h"
#include "k8s/client/watch/watch.h"

#include <string.h>
#include <strings.h>

struct waiter {
    client *client;
    const struct wait_spec *spec;
    struct watch_spec watching;
    watch *watch;
    loop_pending *call;
    cJSON *last;
    bool present;
    err error, away;
};

static void finish(struct waiter *w)
{
    watch_close(STEAL(w->watch));
    loop_call_finish(w->call);
}

static void judge(struct waiter *w)
{
    int result = w->spec->judge(w->spec->arg, w->present ? w->last : NULL, &w->error);
    if (result != 0)
        finish(w);
}

static bool is_ours(const struct waiter *w, const cJSON *object)
{
    return str_eq(json_path_str(object, "metadata.name"), w->spec->name) &&
           (!w->spec->uid || str_eq(json_path_str(object, "metadata.uid"), w->spec->uid));
}

static void on_event(void *arg, enum watch_change change, const cJSON *object)
{
    struct waiter *w = arg;
    if (!is_ours(w, object))
        return;
    w->present = change != WATCH_DELETED;
    if (w->present || json_get(object, "status")) { // a relist's stub must not replace it
        cJSON_Delete(w->last);
        w->last = cJSON_Duplicate(object, 1);
    }
    judge(w);
}

static void on_synced(void *arg)
{
    struct waiter *w = arg;
    if (!w->present)
        judge(w);
}

static void on_away(void *arg, const err *reason)
{
    struct waiter *w = arg;
    w->away = *reason;
    if (w->spec->away)
        w->spec->away(w->spec->arg, reason);
    if (reason->code == ERR_FORBIDDEN || reason->code == ERR_UNAUTHORIZED ||
        reason->code == ERR_NOT_FOUND) {
        w->error = *reason; // waiting does not help against this
        finish(w);
    }
}

static const struct watch_ops watching = {.event = on_event, .synced = on_synced, .away = on_away};

static void start(loop_pending *call, void *arg)
{
    struct waiter *w = arg;
    w->call = call;
    w->watch = watch_open(w->client, &w->watching, &watching, w);
}

static void cancel(loop_pending *call, void *arg)
{
    finish(arg);
}

static void look(void *arg)
{
    const struct waiter *w = arg;
    w->spec->look(w->spec->arg);
}

// Describes the object's state, for a time-out.
static void how_it_was(const struct waiter *w, buf *out)
{
    AUTO_BUF finalizers = {0};
    const cJSON *f;
    if (w->present && json_path_str(w->last, "metadata.deletionTimestamp"))
        cJSON_ArrayForEach(f, json_path(w->last, "metadata.finalizers")) buf_fmt(&finalizers,
            "%s%s", finalizers.len ? ", " : "", cJSON_IsString(f) ? f->valuestring : "?");
    if (finalizers.len) {
        buf_fmt(out,
            "; it is being deleted, and stays until somebody takes its finalizers away: %s",
            buf_cstr(&finalizers));
    } else if (w->present) {
        struct state s = state_of(w->last);
        buf_fmt(out, "; it is %s", *s.text ? s.text : "without a state");
    } else {
        buf_str(out, w->last ? "; it was deleted" : "; it was never there");
    }
    if (w->away.code != ERR_NONE)
        buf_fmt(out, "; the server is away: %s", w->away.text);
}

int wait_for(
    client *c, const struct patience *p, const struct wait_spec *spec, cJSON **last, err *e)
{
    AUTO_FREE char *field = str_fmt("metadata.name=%s", spec->name);
    struct waiter w = {.client = c,
        .spec = spec,
        .watching = {.resource = spec->resource, .ns = spec->ns, .fields = field}};
    const struct loop_call_ops ops = {.start = start,
        .cancel = cancel,
        .meanwhile = spec->look ? look : NULL,
        .every = spec->every};
    err why = {0};
    int result = loop_call(client_loop(c), p->canceller, &ops, &w, p->deadline, &why);
    if (result != 0) {
        AUTO_BUF was = {0};
        how_it_was(&w, &was);
        err_set(e, why.code, "wait for %s %s: %s%s", spec->resource->singular, spec->name, why.text,
            buf_cstr(&was));
    } else if (w.error.code != ERR_NONE) {
        result = err_set(e, w.error.code, "%s", w.error.text);
    }
    if (last)
        *last = STEAL(w.last);
    cJSON_Delete(w.last);
    return result;
}

static int judge_condition(const char *rest, const cJSON *object)
{
    const char *equals = strchr(rest, '=');
    AUTO_FREE char *type = mem_strndup(rest, equals ? (size_t)(equals - rest) : strlen(rest));
    const char *wanted = equals ? equals + 1 : "True";
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(object, "status.conditions"))
    {
        if (strcasecmp(json_str_or(c, "type", ""), type) == 0)
            return strcasecmp(json_str_or(c, "status", ""), wanted) == 0;
    }
    return 0;
}

// {.a.b}=VALUE, with or without quotes around the value.
static int judge_path(const char *rest, const cJSON *object, err *e)
{
    const char *equals = jsonpath_end(rest);
    AUTO_FREE char *path = mem_strndup(rest, (size_t)(equals - rest)),
                   *value = *equals ? str_trim(equals + 1, strlen(equals + 1)) : NULL;
    size_t n = value ? strlen(value) : 0;
    if (n >= 2 && strchr("'\"", *value) && value[n - 1] == *value) {
        memmove(value, value + 1, n - 2);
        value[n - 2] = '\0';
    }
    return jsonpath_is(object, path, value, e);
}

int wait_judge(void *words, const cJSON *object, err *e)
{
    const char *text = words;
    if (str_eq(text, "delete"))
        return !object;
    if (str_eq(text, "create"))
        return object != NULL;
    bool condition = str_starts(text, "condition="), path = str_starts(text, "jsonpath=");
    if (!condition && !path)
        return err_set(e, ERR_USAGE,
            "wait for \"%s\": \"delete\", \"create\", \"condition=NAME\" and "
            "\"jsonpath={…}=VALUE\" "
            "are known",
            text);
    if (!object)
        return 0;
    return condition ? judge_condition(text + strlen("condition="), object)
                     : judge_path(text + strlen("jsonpath="), object, e);
}

static bool wants_true(const char *condition)
{
    const char *equals = strchr(condition, '=');
    return !equals || strcasecmp(equals + 1, "True") == 0;
}

bool wait_is_in_vain(const char *words, const cJSON *object)
{
    enum outcome outcome = state_of(object).outcome;
    if (!state_is_known(object) || rollout_of(object, NULL)) // a rollout that is stuck may go on
        return false;
    if (str_starts(words, "condition="))
        return outcome != OUTCOME_OPEN && wants_true(words + strlen("condition="));
    return outcome == OUTCOME_BAD && str_starts(words, "jsonpath={.status");
}
