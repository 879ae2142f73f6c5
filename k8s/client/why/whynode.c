// SPDX-License-Identifier: MIT
#include "k8s/client/why/whynode.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/state/condition.h"
#include "k8s/client/text/cause.h"

#include <string.h>

// ---- a node that is not ready

static const cJSON *readiness(const cJSON *node)
{
    return condition_find(node, "Ready");
}

static bool is_dead(const cJSON *node)
{
    return !str_eq(json_str(readiness(node), "status"), "True");
}

// " (Kubelet stopped posting node status)"
static void add_reason(buf *out, const cJSON *node)
{
    const char *message = json_str_or(readiness(node), "message", "");
    if (*message) {
        buf_str(out, " (");
        cause_line(message, out);
        buf_str(out, ")");
    }
}

static void see_readiness(const cJSON *node, int64_t now, buf *seen)
{
    const cJSON *ready = readiness(node);
    buf_fmt(seen, "node %s: ", known_name(node));
    if (!ready) {
        buf_str(seen, "it has no condition Ready");
        return;
    }
    buf_fmt(seen, "Ready is %s", json_str_or(ready, "status", "?"));
    condition_age(seen, json_str(ready, "lastTransitionTime"), now);
}

static void look_at(const char *node, buf *next)
{
    buf_fmt(next,
        "look at the node: k8s.describe(\"nodes/%s\"), then its machine and kubelet; when it is "
        "back its pods go on, and no toleration helps before",
        node);
}

bool whynode_say(const cJSON *node, int64_t now, struct why *w)
{
    if (!is_dead(node))
        return false;
    buf_fmt(&w->what, "node %s is not ready", known_name(node));
    add_reason(&w->what, node);
    see_readiness(node, now, &w->seen);
    look_at(known_name(node), &w->next);
    return true;
}

// The newest warning of the node's controller about the pod.
static const cJSON *warning_of(const cJSON *pod, const cJSON *events)
{
    const char *uid = json_path_str(pod, "metadata.uid");
    const cJSON *event, *found = NULL;
    cJSON_ArrayForEach(event, events)
    {
        if (uid && str_eq(json_str(event, "reason"), "NodeNotReady") &&
            str_eq(json_path_str(event, "involvedObject.uid"), uid))
            found = event;
    }
    return found;
}

// The controller warns once, when it happens; the pod's condition says what holds now.
static bool has_lost_its_node(const cJSON *pod)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(pod, "status.conditions"))
    {
        if (str_eq(json_str(c, "type"), "Ready"))
            return !str_eq(json_str(c, "status"), "True");
    }
    return true;
}

bool whynode_say_dead(const cJSON *pod, const struct why_facts *f, int64_t now, struct why *w)
{
    const char *wanted = json_path_str(pod, "spec.nodeName");
    const char *phase = json_path_str(pod, "status.phase");
    const cJSON *node, *found = NULL;
    if (!wanted || str_eq(phase, "Succeeded") || str_eq(phase, "Failed"))
        return false;
    cJSON_ArrayForEach(node, f->nodes)
    {
        if (str_eq(known_name(node), wanted))
            found = node;
    }
    const cJSON *event = found ? NULL : warning_of(pod, f->events);
    if (found ? !is_dead(found) : !event || !has_lost_its_node(pod))
        return false;
    buf_fmt(&w->what, "pod %s is on node %s, which is not ready", known_name(pod), wanted);
    if (found) {
        add_reason(&w->what, found);
        see_readiness(found, now, &w->seen);
    } else {
        const char *at = json_str(event, "lastTimestamp");
        buf_fmt(&w->seen, "event NodeNotReady of Pod %s", known_name(pod));
        condition_age(&w->seen, at ? at : json_str(event, "eventTime"), now);
        buf_str(&w->seen, "; the node itself cannot be read");
    }
    look_at(wanted, &w->next);
    return true;
}

// ---- nodes that take no pod

// What a taint means to somebody who waits for a node, the gravest first.
enum closed { DEAD, CORDONED, SHORT, NOT_READY_YET, RESERVED, OPEN };

static bool is_among(const char *key, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_starts(key, keys[i]))
            return true;
    return false;
}

static enum closed meaning(const cJSON *taint)
{
    static const char *const dead[] = {"node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable", "node.kubernetes.io/out-of-service",
        "node.cloudprovider.kubernetes.io/shutdown"};
    static const char *const leaving[] = {"node.kubernetes.io/unschedulable",
        "ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption"};
    static const char *const lacking[] = {"node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/disk-pressure", "node.kubernetes.io/pid-pressure"};
    static const char *const starting[] = {"node.kubernetes.io/",
        "node.cloudprovider.kubernetes.io/", "node.cilium.io/", "karpenter.sh/"};
    const char *key = json_str_or(taint, "key", "");
    if (is_among(key, dead, ARRAY_LEN(dead)))
        return DEAD;
    if (is_among(key, leaving, ARRAY_LEN(leaving)))
        return CORDONED;
    if (is_among(key, lacking, ARRAY_LEN(lacking)))
        return SHORT;
    return is_among(key, starting, ARRAY_LEN(starting)) ? NOT_READY_YET : RESERVED;
}

// Kubernetes's own rule; a toleration without a key tolerates all.
static bool tolerates(const cJSON *pod, const cJSON *taint)
{
    const cJSON *t;
    cJSON_ArrayForEach(t, json_path(pod, "spec.tolerations"))
    {
        const char *key = json_str_or(t, "key", ""), *effect = json_str_or(t, "effect", "");
        bool exists = str_eq(json_str(t, "operator"), "Exists");
        if ((!*key || str_eq(key, json_str(taint, "key"))) &&
            (!*effect || str_eq(effect, json_str(taint, "effect"))) &&
            (exists || str_eq(json_str_or(t, "value", ""), json_str_or(taint, "value", ""))))
            return true;
    }
    return false;
}

// Why the node takes no such pod; *by: the taint, if it is one.
static enum closed closed_to(const cJSON *node, const cJSON *pod, const cJSON **by)
{
    enum closed worst = is_dead(node) ? DEAD : OPEN;
    const cJSON *taint;
    *by = NULL;
    cJSON_ArrayForEach(taint, json_path(node, "spec.taints"))
    {
        enum closed is = meaning(taint);
        if (!str_eq(json_str(taint, "effect"), "PreferNoSchedule") && !tolerates(pod, taint) &&
            is < worst) {
            worst = is;
            *by = taint;
        }
    }
    return worst;
}

static void add_taint(buf *out, const cJSON *taint)
{
    const char *value = json_str_or(taint, "value", "");
    buf_fmt(out, "%s%s%s:%s", json_str_or(taint, "key", "?"), *value ? "=" : "", value,
        json_str_or(taint, "effect", "?"));
}

// How many nodes are closed in one way, and the first of them.
struct class
{
    const cJSON *node, *taint;
    size_t n;
};

static const struct {
    const char *is, *next;
} ways[] = {
    [DEAD] = {"not ready", NULL},
    [CORDONED] = {"closed to new pods",
        "wait until its maintenance is over (kubectl uncordon), or until other nodes have room"},
    [SHORT] = {"short of memory, disk or processes",
        "free what it lacks: the taint goes by itself then, and a toleration would only add to the "
        "load"},
    [NOT_READY_YET] = {"not set up yet",
        "wait: the taint goes by itself when it is set up; if it stays, its network plugin or its "
        "cloud's controller has not done its work"},
    [RESERVED] = {"reserved",
        "choose other nodes, or add a toleration of this taint if the work belongs there"},
};

// The scheduler counts nodes that lack something, too: closed ones matter less then.
static bool has_other_cause(const char *words)
{
    static const char *const others[] = {"Insufficient ", "node affinity", "PersistentVolumeClaim"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (strstr(words, others[i]))
            return true;
    return false;
}

static void say_class(enum closed is, const struct class *c, int64_t now, struct why *w)
{
    buf_fmt(&w->what, "; node %s", known_name(c->node));
    if (c->n > 1)
        buf_fmt(&w->what, " and %zu other%s", c->n - 1, c->n > 2 ? "s" : "");
    buf_fmt(&w->what, " %s %s", c->n > 1 ? "are" : "is", ways[is].is);
    buf_str(&w->seen, "; ");
    if (is == DEAD) {
        add_reason(&w->what, c->node);
        see_readiness(c->node, now, &w->seen);
    } else {
        buf_fmt(&w->seen, "node %s: taint ", known_name(c->node));
        add_taint(&w->seen, c->taint);
    }
    if (w->next.len || (is != DEAD && has_other_cause(buf_cstr(&w->what))))
        return;
    if (is == DEAD)
        look_at(known_name(c->node), &w->next);
    else
        buf_fmt(&w->next, "%s; k8s.describe(\"nodes/%s\") tells more", ways[is].next,
            known_name(c->node));
}

void whynode_say_taints(const cJSON *pod, const struct why_facts *f, int64_t now, struct why *w)
{
    struct class all[OPEN + 1] = {0};
    const cJSON *node, *by;
    cJSON_ArrayForEach(node, f->nodes)
    {
        struct class *c = &all[closed_to(node, pod, &by)];
        if (!c->n++) {
            c->node = node;
            c->taint = by;
        }
    }
    for (enum closed is = DEAD; is < OPEN; is++)
        if (all[is].n)
            say_class(is, &all[is], now, w);
}

// ---- devices

// "nvidia.com/gpu" of "1 Insufficient nvidia.com/gpu"; new, NULL: no device lacks.
static char *device_in(const char *words)
{
    static const char mark[] = "Insufficient ";
    for (const char *at = words; (at = strstr(at, mark));) {
        at += strlen(mark);
        size_t n = strcspn(at, " ,.");
        while (at[n] == '.' && at[n + 1] && at[n + 1] != ' ') // "nvidia.com"
            n += 1 + strcspn(at + n + 1, " ,.");
        if (memchr(at, '/', n))
            return mem_strndup(at, n);
    }
    return NULL;
}

void whynode_say_devices(const struct why_facts *f, struct why *w)
{
    AUTO_FREE char *device = device_in(buf_cstr(&w->what));
    const cJSON *node;
    size_t n = 0;
    if (!device || !f->nodes || !f->nodes->child)
        return;
    cJSON_ArrayForEach(node, f->nodes)
    {
        const char *has = json_str(json_path(node, "status.allocatable"), device);
        n += has && !str_eq(has, "0");
    }
    if (n == 0) {
        buf_fmt(&w->what, "; no node has any %s", device);
        buf_fmt(&w->next,
            "%s comes with nodes that have it and with its device plugin (GPU operator), which "
            "has to run there: ask who runs the cluster, or choose another pool",
            device);
    } else {
        buf_fmt(&w->next,
            "%zu node%s %s: all are taken, or too few on one node; "
            "k8s.describe(\"nodes/NAME\") lists who holds them",
            n, n == 1 ? " has" : "s have", device);
    }
}
