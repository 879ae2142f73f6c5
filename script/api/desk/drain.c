// SPDX-License-Identifier: MIT
// k8s.drain: cordons a node and has its pods evicted, as kubectl drain does. What would happen to
// each pod is shown first, and what kubectl refuses without an option is refused here, too.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/state/state.h"
#include "script/api/bindings.h"
#include "script/api/desk/desk.h"

#include <string.h>

enum { NAMED = 3 };                         // pods in a message
static const int64_t retry = 5 * CLOCK_SEC; // as kubectl, where a budget forbids an eviction now

// Options that a person types, as kubectl spells them.
struct options {
    bool force, empty_dirs, daemon_sets;
    int64_t grace; // <0: the pods' own
};

static int read_words(const char *words, struct options *o, err *e)
{
    AUTO_FREE char *line = str_trim(words, strlen(words));
    char **all = strv_split(line, ' ');
    int done = 0;
    for (size_t i = 0; all[i] && done == 0; i++) {
        const char *word = all[i];
        if (str_eq(word, "--force"))
            o->force = true;
        else if (str_eq(word, "--delete-emptydir-data"))
            o->empty_dirs = true;
        else if (str_eq(word, "--ignore-daemonsets"))
            o->daemon_sets = true;
        else if (str_starts(word, "--grace-period=") &&
                 str_to_int(word + strlen("--grace-period="), &o->grace))
            ;
        else if (*word)
            done = err_set(e, ERR_USAGE,
                "%s: no such option of drain (--ignore-daemonsets, --delete-emptydir-data, "
                "--force, --grace-period=SECONDS)",
                word);
    }
    strv_free(all);
    return done;
}

static int read_options(const cJSON *args, struct options *o, err *e)
{
    *o = (struct options){.force = json_bool_or(args, "force", false),
        .empty_dirs = json_bool_or(args, "delete_emptydir_data", false),
        .daemon_sets = json_bool_or(args, "ignore_daemonsets", false),
        .grace = json_int_or(args, "grace", -1)};
    return read_words(json_str_or(args, "words", ""), o, e);
}

static const char *controller_of(const cJSON *pod)
{
    const cJSON *owner;
    cJSON_ArrayForEach(owner, json_path(pod, "metadata.ownerReferences"))
    {
        if (json_bool_or(owner, "controller", false))
            return json_str_or(owner, "kind", "");
    }
    return NULL;
}

static bool has_empty_dir(const cJSON *pod)
{
    const cJSON *volume;
    cJSON_ArrayForEach(volume, json_path(pod, "spec.volumes"))
    {
        if (json_get(volume, "emptyDir"))
            return true;
    }
    return false;
}

static bool has_ended(const cJSON *pod)
{
    const char *phase = json_path_str(pod, "status.phase");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

enum fate { EVICTED, STAYS, REFUSED };

// What becomes of a pod, and why it stays or is refused.
static enum fate fate_of(const cJSON *pod, const struct options *o, const char **why)
{
    const char *controller = controller_of(pod);
    *why = "";
    if (json_get(json_path(pod, "metadata.annotations"), "kubernetes.io/config.mirror")) {
        *why = "the node's own";
        return STAYS;
    }
    if (has_ended(pod))
        return EVICTED;
    if (str_eq(controller, "DaemonSet")) {
        *why = o->daemon_sets ? "of a DaemonSet" : "of a DaemonSet: --ignore-daemonsets";
        return o->daemon_sets ? STAYS : REFUSED;
    }
    if (!controller && !o->force) {
        *why = "nothing makes it again: --force";
        return REFUSED;
    }
    if (has_empty_dir(pod) && !o->empty_dirs) {
        *why = "data in an emptyDir would go: --delete-emptydir-data";
        return REFUSED;
    }
    return EVICTED;
}

static cJSON *pods_on(struct target *t, err *e)
{
    AUTO_FREE char *field = str_fmt("spec.nodeName=%s", t->name);
    if (!str_eq(t->resource->kind, "Node") || *t->resource->group) {
        err_set(e, ERR_USAGE, "%s are not drained: nodes are", t->resource->plural);
        return NULL;
    }
    return k8s_items(t, &t->patience, "v1", "Pod", NULL, &(struct list_query){.fields = field}, e);
}

static void name_pod(const cJSON *pod, const char *why, buf *out)
{
    buf_fmt(out, "%s/%s%s%s%s", json_path_str(pod, "metadata.namespace"),
        json_path_str(pod, "metadata.name"), *why ? " (" : "", why, *why ? ")" : "");
}

// Are there pods for which kubectl wants an option?
static int check_all(const cJSON *pods, const struct options *o, err *e)
{
    AUTO_BUF refused = {0};
    size_t n = 0;
    const char *why;
    const cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        if (fate_of(pod, o, &why) != REFUSED)
            continue;
        if (n++ < NAMED) {
            buf_str(&refused, refused.len ? ", " : "");
            name_pod(pod, why, &refused);
        }
    }
    if (n > NAMED)
        buf_fmt(&refused, " and %zu more", n - NAMED);
    return n ? err_set(e, ERR_REFUSED, "%s", buf_cstr(&refused)) : 0;
}

// {"diff"}: the pods, and what becomes of each.
static int check(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    struct options o;
    AUTO_BUF text = {0};
    if (read_options(args, &o, e) != 0 || k8s_target(c, args, true, &t, e) != 0)
        return -1;
    AUTO_JSON *pods = pods_on(&t, e);
    if (!pods || check_all(pods, &o, e) != 0)
        return -1;
    const char *why;
    const cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        bool goes = fate_of(pod, &o, &why) == EVICTED;
        buf_str(&text, goes ? "-" : " ");
        name_pod(pod, why, &text);
        buf_str(&text, goes ? "  evicted\n" : "  stays\n");
    }
    *result = cJSON_CreateObject();
    json_set_str(*result, "diff", text.len ? text.data : " no pod is on it\n");
    return 0;
}

static int cordon(call *c, struct target *t, err *e)
{
    AUTO_JSON *patch = cJSON_CreateObject(), *made = NULL;
    json_set_bool(json_object_at(patch, "spec"), "unschedulable", true);
    made =
        client_patch(t->client, &t->patience, t->resource, NULL, t->name, NULL, "merge", patch, e);
    return made ? 0 : -1;
}

struct draining {
    size_t evicted, blocked;
    buf why; // of the first that is blocked
};

// One that is gone meanwhile is as good as evicted.
static int evict_one(
    struct target *t, const struct options *o, const cJSON *pod, struct draining *d, err *e)
{
    err why = {0};
    const char *ns = json_path_str(pod, "metadata.namespace"),
               *name = json_path_str(pod, "metadata.name");
    struct patience once = t->patience;
    once.retry_ns = -1; // 429 says that a budget forbids it now
    if (client_evict(
            t->client, &once, ns, name, json_path_str(pod, "metadata.uid"), o->grace, &why) == 0 ||
        why.code == ERR_NOT_FOUND || why.code == ERR_CONFLICT) {
        d->evicted++;
        return 0;
    }
    if (why.code != ERR_UNAVAILABLE)
        return err_set(e, why.code, "%s", why.text);
    if (!d->blocked++)
        buf_fmt(&d->why, "%s/%s: %s", ns, name, why.text);
    return 0;
}

static int evict_all(
    struct target *t, const struct options *o, const cJSON *pods, struct draining *d, err *e)
{
    const char *ignored;
    const cJSON *pod;
    d->blocked = 0;
    buf_clear(&d->why);
    cJSON_ArrayForEach(pod, pods)
    {
        if (fate_of(pod, o, &ignored) == EVICTED &&
            !json_path_str(pod, "metadata.deletionTimestamp") && evict_one(t, o, pod, d, e) != 0)
            return -1;
    }
    return 0;
}

// How many pods are still to go.
static int left_on(struct target *t, const struct options *o, cJSON **pods, err *e)
{
    const char *ignored;
    const cJSON *pod;
    int n = 0;
    cJSON_Delete(STEAL(*pods));
    *pods = pods_on(t, e);
    cJSON_ArrayForEach(pod, *pods)
    {
        n += fate_of(pod, o, &ignored) == EVICTED;
    }
    return *pods ? n : -1;
}

// Waits until they are gone; evictions that a budget forbids are tried again.
static int wait_all(
    call *c, struct target *t, const struct options *o, cJSON **pods, struct draining *d, err *e)
{
    for (int left; (left = left_on(t, o, pods, e)) != 0;) {
        if (left < 0 || evict_all(t, o, *pods, d, e) != 0)
            return -1;
        int64_t now = clock_mono(), until = now + (d->blocked ? retry : CLOCK_SEC);
        if (t->patience.deadline && until > t->patience.deadline)
            return err_set(e, ERR_TIMEOUT, "%d pod%s of node %s did not go in time%s%s", left,
                left == 1 ? "" : "s", t->name, d->blocked ? ": " : "",
                d->blocked ? buf_cstr(&d->why) : "");
        if (canceller_sleep(call_canceller(c), until - now, e) != 0)
            return err_wrap(
                e, "node %s is cordoned, and %d of its pods are still there", t->name, left);
    }
    return 0;
}

static void say_done(const struct draining *d, cJSON *result)
{
    AUTO_FREE char *said =
        d->blocked ? str_fmt("%zu evicted; %zu may not go now, drain again: %s", d->evicted,
                         d->blocked, d->why.data)
                   : str_fmt("%zu pod%s evicted", d->evicted, d->evicted == 1 ? "" : "s");
    json_set_str(result, "said", said);
    json_set_int(result, "evicted", (int64_t)d->evicted);
    json_set_int(result, "blocked", (int64_t)d->blocked);
}

static int drain(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    struct options o;
    struct draining d = {0};
    if (read_options(args, &o, e) != 0 || k8s_target(c, args, true, &t, e) != 0)
        return -1;
    AUTO_JSON *node = k8s_object(c, &t, e);
    AUTO_JSON *pods = node ? pods_on(&t, e) : NULL;
    if (!pods || check_all(pods, &o, e) != 0 || cordon(c, &t, e) != 0)
        return -1;
    int done = evict_all(&t, &o, pods, &d, e);
    if (done == 0 && !call_is_action(c) && json_bool_or(args, "wait", true))
        done = k8s_deadline(c, args, &t.patience, e) == 0 ? wait_all(c, &t, &o, &pods, &d, e) : -1;
    if (done == 0) {
        done = k8s_changed(&t, node, true, result, e);
        if (done == 0)
            say_done(&d, *result);
    }
    buf_done(&d.why);
    return done;
}

static void about_drain(call *c, const cJSON *args, struct about *about)
{
    k8s_about_call(c, args, "drain", "", about);
}

const struct binding desk_drain_bindings[] = {
    {.name = "k8s.drain", .effect = EFFECT_DESTRUCTIVE, .start = drain, .describe = about_drain},
    {.name = "k8s.drain_check", .effect = EFFECT_PURE, .start = check},
    {0},
};
