// SPDX-License-Identifier: MIT
#include "k8s/client/why/why.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/state/rollout.h"
#include "k8s/client/state/state.h"
#include "k8s/client/text/cause.h"
#include "k8s/client/why/claim.h"
#include "k8s/client/why/queue.h"
#include "k8s/client/why/whynode.h"
#include "k8s/client/why/whypod.h"

#include <string.h>

// An operator or controller has usually looked at a new object within a second.
static const int64_t unnoticed = 10 * CLOCK_SEC;
// Spark's operator runs a spark-submit for each application, a JVM that takes 10 to 40 s on a busy
// machine, and for several of them at once. So long nothing is wrong with one that is ready; then
// it may still be busy with others.
static const int64_t submits = 60 * CLOCK_SEC, answers_late = 300 * CLOCK_SEC;

void why_done(struct why *w)
{
    buf_done(&w->what);
    buf_done(&w->seen);
    buf_done(&w->next);
    buf_done(&w->looked);
    buf_done(&w->image);
}

// ---- Spark

// Executors take some time to start, and nothing is wrong with that.
static const int64_t executors_start = 60 * CLOCK_SEC;

static bool driver_is_young(const cJSON *pods, int64_t now)
{
    const cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        const char *start = json_path_str(pod, "status.startTime");
        int64_t at;
        if (known_is_main(pod) && start && clock_parse_rfc3339(start, &at, NULL) == 0)
            return now - at < executors_start;
    }
    return true;
}

static int executors_that_came(const cJSON *pods)
{
    int n = 0;
    const cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        const char *phase = json_path_str(pod, "status.phase");
        n += str_eq(whypod_role(pod), "executor") &&
             (str_eq(phase, "Running") || str_eq(phase, "Succeeded"));
    }
    return n;
}

// The driver runs, and there are fewer executors than it wants. Sets `what` to the part before the
// cause.
static bool waits_for_executors(const struct why_facts *f, struct why *w)
{
    if (!known_is(f->object, "sparkoperator.k8s.io", "SparkApplication") ||
        !str_eq(state_of(f->object).text, "RUNNING") || !f->pods)
        return false;
    int wanted = (int)json_int_or(json_path(f->object, "spec.executor"), "instances", 1);
    int came = executors_that_came(f->pods);
    if (came >= wanted)
        return false;
    buf_fmt(&w->what, "the driver waits for executors: %d of %d run", came, wanted);
    return true;
}

static const cJSON *newest_event(const struct why_facts *f, const char *reason)
{
    const cJSON *event, *found = NULL;
    cJSON_ArrayForEach(event, f->events)
    {
        if (!reason || str_eq(json_str(event, "reason"), reason))
            found = event;
    }
    return found;
}

// The newest executor that failed, as the operator's event or status has it.
static bool say_lost_executor(const struct why_facts *f, struct why *w)
{
    const cJSON *state, *lost = NULL;
    cJSON_ArrayForEach(state, json_path(f->object, "status.executorState"))
    {
        if (cJSON_IsString(state) &&
            (str_eq(state->valuestring, "FAILED") || str_eq(state->valuestring, "UNKNOWN")))
            lost = state;
    }
    const cJSON *event = newest_event(f, "SparkExecutorFailed");
    if (!lost && !event)
        return false;
    if (event)
        cause_line(json_str_or(event, "message", "an executor failed"), &w->what);
    else
        buf_fmt(&w->what, "executor %s was lost: it is %s", lost->string, lost->valuestring);
    buf_str(&w->seen, event ? "event SparkExecutorFailed" : "status.executorState");
    return true;
}

// The driver waits, and no pod of an executor tells why: the driver was refused, or lost one.
static void say_why_it_waits(const struct why_facts *f, bool refused, struct why *w)
{
    struct why lost = {0};
    if (refused) {
        buf_str(&w->what, "; ");
        spark_cause(f->log, &w->what);
    } else if (say_lost_executor(f, &lost)) {
        buf_fmt(&w->what, "; %s", buf_cstr(&lost.what));
    }
    buf_str(&w->seen, refused         ? "the driver's log"
                      : lost.seen.len ? buf_cstr(&lost.seen)
                                      : "its pods");
    why_done(&lost);
}

// ---- objects

static void say_event(const cJSON *event, struct why *w)
{
    const cJSON *about = json_get(event, "involvedObject");
    cause_line(json_str_or(event, "message", "it does not say why"), &w->what);
    buf_fmt(&w->seen, "event %s of %s %s", json_str_or(event, "reason", "?"),
        json_str_or(about, "kind", "?"), json_str_or(about, "name", "?"));
}

// A condition that says that its controller cannot make pods: of Deployments and ReplicaSets.
static bool say_condition(const cJSON *object, struct why *w)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(object, "status.conditions"))
    {
        const char *type = json_str_or(c, "type", ""), *status = json_str_or(c, "status", "");
        bool failure = str_eq(type, "ReplicaFailure") && str_eq(status, "True");
        bool stuck = str_eq(json_str(c, "reason"), "ProgressDeadlineExceeded");
        if (!failure && !stuck)
            continue;
        cause_line(json_str_or(c, "message", type), &w->what);
        buf_fmt(&w->seen, "condition %s is %s", type, status);
        return true;
    }
    return false;
}

static bool say_rollout(const cJSON *object, struct why *w)
{
    if (rollout_of(object, &w->what) != ROLLOUT_GOES_ON)
        return false;
    buf_str(&w->seen, "its status");
    return true;
}

// The cause of an end, as the object itself has it.
static bool say_end(const struct why_facts *f, struct why *w)
{
    struct state s = state_of(f->object);
    if (!s.cause || !*s.cause)
        return false;
    if (known_is(f->object, "sparkoperator.k8s.io", "SparkApplication"))
        spark_cause(s.cause, &w->what);
    else
        ray_cause(s.cause, &w->what);
    buf_fmt(&w->seen, "the %s's own words", json_str_or(f->object, "kind", "object"));
    return w->what.len > 0;
}

// ---- operators

// "a,b" of --namespaces=a,b of an operator's containers; "" when it watches all, or does not say.
static const char *watched(const cJSON *deployment)
{
    const cJSON *c, *arg;
    cJSON_ArrayForEach(c, json_path(deployment, "spec.template.spec.containers"))
    {
        cJSON_ArrayForEach(arg, json_get(c, "args"))
        {
            if (cJSON_IsString(arg) && str_starts(arg->valuestring, "--namespaces="))
                return arg->valuestring + strlen("--namespaces=");
        }
    }
    return "";
}

static bool is_among(const char *list, const char *ns)
{
    char **names = strv_split(list, ',');
    bool found = !*list;
    for (char **n = names; *n && !found; n++)
        found = str_eq(*n, ns);
    strv_free(names);
    return found;
}

// The operator's chart has a Deployment of its own for the webhook, which starts no application.
static bool is_webhook(const cJSON *deployment)
{
    const cJSON *c = json_path(deployment, "spec.template.spec.containers");
    const cJSON *args = json_get(c ? c->child : NULL, "args");
    return args && str_eq(cJSON_GetStringValue(args->child), "webhook");
}

static bool is_ready(const cJSON *deployment)
{
    return json_int_or(json_get(deployment, "status"), "readyReplicas", 0) > 0;
}

bool why_operators(const cJSON *deployments, const char *ns, buf *out)
{
    bool any = false;
    const cJSON *operator;
    cJSON_ArrayForEach(operator, deployments)
    {
        if (is_webhook(operator))
            continue;
        const char *list = watched(operator);
        bool ready = is_ready(operator), watches = is_among(list, ns);
        any = any || (ready && watches);
        buf_fmt(out, "; Deployment %s in namespace %s ", json_path_str(operator, "metadata.name"),
            json_path_str(operator, "metadata.namespace"));
        if (!ready)
            buf_str(out, "is not ready");
        else if (!watches)
            buf_fmt(out, "watches %s only", list);
        else
            buf_str(out, "is ready");
    }
    return any;
}

void why_operators_next(const cJSON *deployments, const char *group, const char *ns, buf *out)
{
    const cJSON *operator, * other = NULL;
    cJSON_ArrayForEach(operator, deployments)
    {
        const char *name = json_path_str(operator, "metadata.name");
        const char *home = json_path_str(operator, "metadata.namespace");
        if (is_webhook(operator))
            continue;
        if (!is_ready(operator) && is_among(watched(operator), ns)) {
            buf_fmt(out,
                "let the operator become ready: kubectl describe deployment %s --namespace=%s, and "
                "its pods there, tell what keeps it",
                name ? name : "?", home ? home : "?");
            return;
        }
        other = operator;
    }
    if (other)
        buf_fmt(out,
            "let it watch namespace %s (its option --namespaces%s), or go to one that it watches",
            ns,
            str_eq(group, "sparkoperator.k8s.io") ? "; of its Helm chart spark.jobNamespaces" : "");
    else
        buf_fmt(out, "install the operator of %s, or let it watch namespace %s", group, ns);
}

// A custom object that nobody has looked at: no status, no events.
static bool say_unnoticed(const struct why_facts *f, int64_t now, struct why *w)
{
    const char *version = json_str_or(f->object, "apiVersion", "");
    const char *created = json_path_str(f->object, "metadata.creationTimestamp");
    const char *ns = json_path_str(f->object, "metadata.namespace");
    const cJSON *status = json_get(f->object, "status");
    int64_t at;
    // A kind with a state whose group has a dot has an operator: Spark's, MPI's, Argo's.
    AUTO_FREE char *group = mem_strndup(version, strcspn(version, "/"));
    bool has_made = (f->pods && f->pods->child) || (f->relatives && f->relatives->child);
    if (!strchr(group, '.') || has_made || newest_event(f, NULL) || !state_is_known(f->object) ||
        (status && status->child) || !created || clock_parse_rfc3339(created, &at, NULL) != 0 ||
        now - at < unnoticed || json_bool_or(json_get(f->object, "spec"), "suspend", false))
        return false;
    // Who waits hears a sentence once: so how long it is stands with the evidence.
    buf_str(&w->seen, "its status is empty after ");
    duration_format(&w->seen, (now - at) / CLOCK_SEC * CLOCK_SEC);
    size_t before = w->seen.len;
    bool one_watches = why_operators(f->operators, ns ? ns : "", &w->seen);
    if (f->operators && w->seen.len == before)
        buf_str(&w->seen, "; no Deployment of an operator of it can be seen");
    bool is_spark = str_eq(group, "sparkoperator.k8s.io");
    if (is_spark && one_watches && now - at < submits) {
        buf_clear(&w->seen);
        return false;
    }
    if (is_spark && one_watches && now - at < answers_late) {
        buf_str(&w->what, "the operator has not answered yet: it has no status");
        buf_str(&w->next, "wait: it runs a spark-submit for each application, and may have many; "
                          "its log says what it does");
        return true;
    }
    buf_str(&w->what, "no operator has looked at it: it has no status");
    if (one_watches)
        buf_str(&w->next, "look at the operator's log: it is ready and does nothing about it");
    else
        why_operators_next(f->operators, group, ns ? ns : "?", &w->next);
    return true;
}

// ---- what is being deleted

// Finalizers whose owner is known.
static const char *finalizer_next(const char *finalizer)
{
    static const struct {
        const char *name, *next;
    } known[] = {
        {"kubernetes.io/pvc-protection", "a pod still uses the claim: k8s.describe of it lists "
                                         "which; it goes when that is over"},
        {"kubernetes.io/pv-protection",
            "a claim is still bound to the volume: delete the claim first"},
        {"foregroundDeletion", "what it owns is deleted first: k8s.tree shows what is left"},
        {"orphan", "what it owns is let go first"},
        {"batch.kubernetes.io/job-tracking",
            "the Job controller has to count the pod: is kube-controller-manager up?"},
        {"kueue.x-k8s.io/resource-in-use", "Kueue lets it go when nothing uses it: is Kueue up?"},
        {"ray.io/", "KubeRay takes it away: is its operator up?"},
        {"sparkoperator.k8s.io/", "the Spark operator takes it away: is it up?"},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_starts(finalizer, known[i].name))
            return known[i].next;
    return NULL;
}

// A namespace tells by its conditions what is left in it.
static void say_remains(const cJSON *object, buf *what)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(object, "status.conditions"))
    {
        if (!str_starts(json_str_or(c, "type", ""), "Namespace") ||
            !str_eq(json_str(c, "status"), "True"))
            continue;
        buf_str(what, "; ");
        cause_line(json_str_or(c, "message", ""), what);
    }
}

static bool say_deletion(const cJSON *object, int64_t now, struct why *w)
{
    static const int64_t soon = 10 * CLOCK_SEC;
    const char *since = json_path_str(object, "metadata.deletionTimestamp");
    const cJSON *finalizers = json_path(object, "metadata.finalizers"), *one;
    bool space = known_is(object, "", "Namespace");
    int64_t at;
    if (!since || clock_parse_rfc3339(since, &at, NULL) != 0 || now - at < soon ||
        (!space && (!finalizers || !finalizers->child)))
        return false;
    buf_fmt(&w->what, "%s %s is being deleted, and stays until ", json_str_or(object, "kind", "?"),
        json_path_str(object, "metadata.name"));
    buf_str(&w->what,
        finalizers && finalizers->child ? "its finalizers are taken away: " : "it is empty");
    cJSON_ArrayForEach(one, finalizers)
    {
        const char *name = cJSON_IsString(one) ? one->valuestring : "?",
                   *next = finalizer_next(name);
        buf_fmt(&w->what, "%s%s", one->prev->next ? ", " : "", name);
        if (next && !w->next.len)
            buf_str(&w->next, next);
    }
    say_remains(object, &w->what);
    buf_str(&w->seen, "metadata.deletionTimestamp, ");
    duration_age(&w->seen, now - at);
    buf_str(&w->seen, " ago");
    if (!w->next.len)
        buf_str(&w->next,
            space ? "delete what is left in it, or let the controller of its finalizers do "
                    "so; an API that does not answer holds it, too"
                  : "the controller that set them has to do its work: is it up? Taking "
                    "them away by hand leaves behind what they guard");
    return true;
}

// ---- an attempt that failed

// Spark's operator tries again, as restartPolicy says; the driver of that attempt is gone.
static bool say_rerun(const struct why_facts *f, struct why *w)
{
    const char *error = json_path_str(f->object, "status.applicationState.errorMessage");
    struct state s = state_of(f->object);
    const char *state = s.text;
    if (!known_is(f->object, "sparkoperator.k8s.io", "SparkApplication") ||
        (!str_eq(state, "PENDING_RERUN") && !str_eq(state, "FAILING") &&
            !str_eq(state, "SUBMISSION_FAILED")))
        return false;
    const cJSON *event = newest_event(f, "SparkDriverFailed");
    const char *failed = event ? json_str(event, "message") : NULL;
    if (!f->log && (!error || !*error) && !failed)
        return false;
    buf_str(&w->what, "an attempt failed, and it is tried again: ");
    if (!f->log || !cause_exception(f->log, &w->what))
        spark_cause(error && *error ? error : failed, &w->what);
    buf_str(&w->seen, f->log            ? "the driver's log"
                      : error && *error ? "the SparkApplication's own words"
                                        : "event SparkDriverFailed");
    if (!cause_remedy(buf_cstr(&w->what)) && !str_eq(state, "SUBMISSION_FAILED"))
        buf_str(&w->next, "the log of a driver goes with its pod: follow it while it runs "
                          "(k8s.logs(app, {follow = true}))");
    return true;
}

// ---- what it has made

static bool say_of_relatives(const struct why_facts *f, struct why *w)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, f->relatives)
    {
        struct state s = state_of(one);
        if (s.outcome != OUTCOME_BAD || !s.cause || !*s.cause)
            continue;
        buf_fmt(&w->what, "its %s %s is %s: ", json_str_or(one, "kind", "?"),
            json_path_str(one, "metadata.name"), s.text);
        cause_line(s.cause, &w->what);
        buf_fmt(&w->seen, "the %s's own words", json_str_or(one, "kind", "?"));
        return true;
    }
    return false;
}

static bool say_unready(const struct why_facts *f, int64_t now, struct why *w)
{
    const cJSON *pod;
    cJSON_ArrayForEach(pod, f->pods)
    {
        if (whypod_say_unready(pod, f, now, w))
            return true;
    }
    return false;
}

// The pods of what has failed are gone, so no log tells more.
static void say_pods_gone(const struct why_facts *f, struct why *w)
{
    if (!cause_remedy(buf_cstr(&w->what)) && f->pods && !f->pods->child && known_of(f->object) &&
        known_of(f->object)->suspend)
        buf_str(&w->next,
            "its pods are gone, and their logs with them: restartPolicy Never keeps the "
            "pods of a Job that has failed");
}

// ---- all

// A pod on a node that is not ready is told of before all others: what its status says is old.
static bool say_of_a_node(const struct why_facts *f, int64_t now, struct why *w)
{
    const cJSON *pod;
    cJSON_ArrayForEach(pod, f->pods)
    {
        if (whynode_say_dead(pod, f, now, w))
            return true;
    }
    return false;
}

static bool say_starting(const struct why_facts *f, int64_t now, struct why *w)
{
    const cJSON *pod;
    cJSON_ArrayForEach(pod, f->pods)
    {
        if (whypod_say_starting(pod, f, now, w))
            return true;
    }
    return false;
}

static bool say_of_pods(const struct why_facts *f, int64_t now, struct why *w)
{
    const cJSON *worst = whypod_worst(f->pods, now);
    if (say_of_a_node(f, now, w))
        return true;
    if (worst)
        whypod_say(worst, f, now, w);
    return worst || say_starting(f, now, w);
}

static bool say_pod(const struct why_facts *f, int64_t now, struct why *w)
{
    if (whynode_say_dead(f->object, f, now, w))
        return true;
    if (whypod_is_sick(f->object, now)) {
        whypod_say(f->object, f, now, w);
        return true;
    }
    return whypod_say_starting(f->object, f, now, w) || whypod_say_unready(f->object, f, now, w);
}

static bool say_node(const struct why_facts *f, int64_t now, struct why *w)
{
    return whynode_say(f->object, now, w);
}

static bool say_claim(const struct why_facts *f, int64_t now, struct why *w)
{
    return whyclaim_say(f, w);
}

static bool say_queue(const struct why_facts *f, int64_t now, struct why *w)
{
    return whyqueue_say_queue(f->object, now, w);
}

// Kinds that are told of by themselves.
typedef bool say_fn(const struct why_facts *f, int64_t now, struct why *w);
static say_fn *sayer_of(const cJSON *object)
{
    static const struct {
        const char *group, *kind;
        say_fn *say;
    } kinds[] = {{"", "Node", say_node}, {"", "Pod", say_pod},
        {"", "PersistentVolumeClaim", say_claim}, {"kueue.x-k8s.io", "Workload", whyqueue_say},
        {"kueue.x-k8s.io", "LocalQueue", say_queue}, {"kueue.x-k8s.io", "ClusterQueue", say_queue}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (known_is(object, kinds[i].group, kinds[i].kind))
            return kinds[i].say;
    return NULL;
}

static bool say_end_of_all(const struct why_facts *f, struct why *w)
{
    if (!say_end(f, w))
        return false;
    say_pods_gone(f, w);
    return true;
}

static bool find(const struct why_facts *f, int64_t now, struct why *w)
{
    struct state s = state_of(f->object);
    say_fn *say = sayer_of(f->object);
    if (say_deletion(f->object, now, w))
        return true;
    if (s.outcome == OUTCOME_GOOD)
        return false;
    if (say)
        return say(f, now, w);
    if (s.outcome == OUTCOME_OPEN && (whyqueue_say(f, now, w) || whyqueue_say_suspended(f, now, w)))
        return true;
    struct why own = {0};
    bool waits = waits_for_executors(f, w);
    if (say_of_pods(f, now, &own)) {
        buf_fmt(&w->what, "%s%s", waits ? "; " : "", buf_cstr(&own.what));
        w->seen = own.seen;
        w->next = own.next;
        w->pulls = own.pulls;
        w->image = own.image;
        w->pull_since = own.pull_since;
        buf_done(&own.what);
        return true;
    }
    bool refused = f->log && strstr(f->log, "Message: ");
    if (waits && (refused || !driver_is_young(f->pods, now))) {
        say_why_it_waits(f, refused, w);
        return true;
    }
    buf_clear(&w->what);
    if (say_rerun(f, w) || say_end_of_all(f, w) || say_of_relatives(f, w) ||
        say_condition(f->object, w) || say_unnoticed(f, now, w))
        return true;
    const cJSON *event = newest_event(f, NULL);
    if (event && s.outcome == OUTCOME_OPEN && (!f->pods || !f->pods->child)) {
        say_event(event, w);
        return true;
    }
    return say_lost_executor(f, w) || say_unready(f, now, w) || say_rollout(f->object, w);
}

bool why_of(const struct why_facts *f, int64_t now, struct why *w)
{
    *w = (struct why){0};
    if (!find(f, now, w))
        return false;
    const char *remedy = w->next.len ? NULL : cause_remedy(buf_cstr(&w->what));
    if (remedy)
        buf_str(&w->next, remedy);
    return true;
}
