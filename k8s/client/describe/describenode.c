// SPDX-License-Identifier: MIT
// A node, with what its pods ask for.
#include "base/data/quantity.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describe/describeparts.h"

#include <string.h>

// A sum of quantities, in thousandths, which prints in the manner of the first one.
struct amount {
    int64_t milli;
    bool binary; // Ki, Mi, …
    bool known;
};

static void add(struct amount *a, const char *text)
{
    int64_t milli;
    if (!text || quantity_parse(text, &milli, NULL) != 0 ||
        __builtin_add_overflow(a->milli, milli, &a->milli))
        return;
    if (!a->known || !a->milli)
        a->binary = str_ends(text, "i");
    a->known = true;
}

static void most(struct amount *a, const struct amount *other)
{
    if (other->milli > a->milli)
        *a = *other;
}

// The shortest whole number with a suffix.
static void print_amount(buf *out, const struct amount *a)
{
    static const char *const binary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"},
                             *const decimal[] = {"", "k", "M", "G", "T", "P", "E"};
    int64_t value = a->milli, step = a->binary ? 1024 : 1000;
    if (value % 1000) {
        buf_fmt(out, "%lldm", (long long)value);
        return;
    }
    size_t i = 0;
    for (value /= 1000; value && value % step == 0 && i + 1 < ARRAY_LEN(binary); i++)
        value /= step;
    buf_fmt(out, "%lld%s", (long long)value, (a->binary ? binary : decimal)[i]);
}

// What a pod asks for: the sum of its containers and sidecars, or the largest of those that run
// before them, with the sidecars that run then.
static struct amount of_pod(const cJSON *pod, const char *list, const char *name)
{
    struct amount sum = {0}, sidecars = {0}, first = {0};
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(pod, "spec.containers"))
    {
        add(&sum, json_str(json_get(json_get(c, "resources"), list), name));
    }
    cJSON_ArrayForEach(c, json_path(pod, "spec.initContainers"))
    {
        const char *text = json_str(json_get(json_get(c, "resources"), list), name);
        if (str_eq(json_str(c, "restartPolicy"), "Always")) {
            add(&sum, text);
            add(&sidecars, text);
            most(&first, &sidecars);
        } else {
            struct amount one = sidecars;
            add(&one, text);
            most(&first, &one);
        }
    }
    most(&sum, &first);
    if (str_eq(list, "requests") || sum.milli)
        add(&sum, json_str(json_path(pod, "spec.overhead"), name));
    return sum;
}

static int64_t allocatable(const cJSON *node, const char *name)
{
    int64_t milli = 0;
    const cJSON *list = json_path(node, "status.allocatable");
    list = list && list->child ? list : json_path(node, "status.capacity");
    if (json_str(list, name))
        quantity_parse(json_str(list, name), &milli, NULL);
    return milli;
}

static void percent(buf *out, const struct amount *a, int64_t whole)
{
    print_amount(out, a);
    buf_fmt(out, " (%lld%%)", whole ? (long long)((double)a->milli / (double)whole * 100) : 0LL);
}

static void pod_line(buf *out, const cJSON *pod, const cJSON *node, int64_t now)
{
    static const char *const columns[][2] = {
        {"requests", "cpu"}, {"limits", "cpu"}, {"requests", "memory"}, {"limits", "memory"}};
    const cJSON *m = json_get(pod, "metadata");
    buf_fmt(out, "  %s\t%s\t\t", json_str_or(m, "namespace", ""), json_str_or(m, "name", ""));
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        struct amount a = of_pod(pod, columns[i][0], columns[i][1]);
        percent(out, &a, allocatable(node, columns[i][1]));
        buf_char(out, '\t');
    }
    describe_age(out, json_str(m, "creationTimestamp"), now);
    buf_char(out, '\n');
}

static struct amount of_all(const cJSON *pods, const char *list, const char *name)
{
    struct amount sum = {0};
    const cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        struct amount one = of_pod(pod, list, name);
        sum.binary = sum.known && sum.milli ? sum.binary : one.binary;
        sum.known = sum.known || one.known;
        if (__builtin_add_overflow(sum.milli, one.milli, &sum.milli))
            break;
    }
    return sum;
}

static void sum_line(buf *out, const cJSON *node, const cJSON *pods, const char *name, bool shares)
{
    static const char *const lists[] = {"requests", "limits"};
    buf_fmt(out, "  %s", name);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct amount a = of_all(pods, lists[i], name);
        buf_char(out, '\t');
        if (shares)
            percent(out, &a, allocatable(node, name));
        else
            print_amount(out, &a);
    }
    buf_char(out, '\n');
}

static void resources(buf *out, const cJSON *node, const cJSON *pods, int64_t now)
{
    static const char *const standard[] = {"cpu", "memory", "ephemeral-storage", "pods"};
    const cJSON *pod;
    buf_fmt(out,
        "Non-terminated Pods:\t(%d in total)\n"
        "  Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge\n"
        "  ---------\t----\t\t------------\t----------\t---------------\t-------------\t---\n",
        cJSON_GetArraySize(pods));
    cJSON_ArrayForEach(pod, pods)
    {
        pod_line(out, pod, node, now);
    }
    buf_str(out, "Allocated resources:\n"
                 "  (Total limits may be over 100 percent, i.e., overcommitted.)\n"
                 "  Resource\tRequests\tLimits\n  --------\t--------\t------\n");
    for (size_t i = 0; i < 3; i++)
        sum_line(out, node, pods, standard[i], true);
    AUTO_FREE const cJSON **all = json_sorted(json_path(node, "status.allocatable"));
    for (const cJSON **a = all; *a; a++)
        if (str_starts((*a)->string, "hugepages-"))
            sum_line(out, node, pods, (*a)->string, true);
    for (const cJSON **a = all; *a; a++) {
        bool known = str_starts((*a)->string, "hugepages-");
        for (size_t i = 0; i < ARRAY_LEN(standard); i++)
            known = known || str_eq((*a)->string, standard[i]);
        if (!known)
            sum_line(out, node, pods, (*a)->string, false);
    }
}

static void roles(buf *out, const cJSON *labels)
{
    static const char prefix[] = "node-role.kubernetes.io/";
    AUTO_JSON *names = cJSON_CreateObject();
    AUTO_FREE const cJSON **all = json_sorted(labels);
    for (const cJSON **at = all; *at; at++) {
        const cJSON *l = *at;
        if (str_starts(l->string, prefix) && l->string[strlen(prefix)])
            json_set_bool(names, l->string + strlen(prefix), true);
        else if (str_eq(l->string, "kubernetes.io/role") && cJSON_IsString(l) && *l->valuestring)
            json_set_bool(names, l->valuestring, true);
    }
    AUTO_FREE const cJSON **sorted = json_sorted(names);
    buf_fmt(out, "Roles:\t%s", *sorted ? "" : "<none>");
    for (const cJSON **n = sorted; *n; n++)
        buf_fmt(out, "%s%s", n == sorted ? "" : ",", (*n)->string);
    buf_char(out, '\n');
}

static char *taint_text(const cJSON *t)
{
    const char *key = json_str_or(t, "key", ""), *value = json_str_or(t, "value", ""),
               *effect = json_str_or(t, "effect", "");
    return str_fmt("%s%s%s%s%s", key, *value ? "=" : "", value, *effect ? ":" : "", effect);
}

static void taints(buf *out, const cJSON *list)
{
    AUTO_JSON *sorted = cJSON_CreateObject();
    const cJSON *t;
    cJSON_ArrayForEach(t, list)
    {
        AUTO_FREE char *order =
            str_fmt("%s,%s", json_str_or(t, "effect", ""), json_str_or(t, "key", ""));
        AUTO_FREE char *text = taint_text(t);
        json_set_str(sorted, order, text);
    }
    AUTO_FREE const cJSON **all = json_sorted(sorted);
    buf_fmt(out, "Taints:\t%s", *all ? "" : "<none>\n");
    for (const cJSON **a = all; *a; a++)
        buf_fmt(out, "%s%s\n", a == all ? "" : "\t", (*a)->valuestring);
}

static void lease_time(buf *out, const char *heading, const cJSON *spec, const char *key)
{
    if (json_str(spec, key))
        describe_time(out, heading, json_str(spec, key));
    else
        buf_fmt(out, "%s:\t<unset>\n", heading);
}

static void lease_of(buf *out, const cJSON *lease)
{
    const cJSON *spec = json_get(lease, "spec");
    if (!lease)
        return;
    buf_fmt(out, "Lease:\n  HolderIdentity:\t%s\n", json_str_or(spec, "holderIdentity", "<unset>"));
    lease_time(out, "  AcquireTime", spec, "acquireTime");
    lease_time(out, "  RenewTime", spec, "renewTime");
}

static void amounts(buf *out, const char *heading, const cJSON *list)
{
    AUTO_FREE const cJSON **sorted = json_sorted(list);
    if (*sorted)
        buf_fmt(out, "%s:\n", heading);
    for (const cJSON **a = sorted; *a; a++)
        buf_fmt(out, "  %s:\t%s\n", (*a)->string, cJSON_IsString(*a) ? (*a)->valuestring : "");
}

static void system_info(buf *out, const cJSON *info)
{
    static const char *const lines[][2] = {{"Machine ID", "machineID"},
        {"System UUID", "systemUUID"}, {"Boot ID", "bootID"}, {"Kernel Version", "kernelVersion"},
        {"OS Image", "osImage"}, {"Operating System", "operatingSystem"},
        {"Architecture", "architecture"}, {"Container Runtime Version", "containerRuntimeVersion"},
        {"Kubelet Version", "kubeletVersion"}, {"Kube-Proxy Version", "kubeProxyVersion"}};
    buf_str(out, "System Info:\n");
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        buf_fmt(out, "  %s:\t%s\n", lines[i][0], json_str_or(info, lines[i][1], ""));
}

static void addresses(buf *out, const cJSON *node)
{
    const cJSON *cidrs = json_path(node, "spec.podCIDRs"), *a;
    describe_member(out, "PodCIDR", node, "spec.podCIDR", NULL);
    if (cidrs && cidrs->child)
        buf_str(out, "PodCIDRs:\t");
    cJSON_ArrayForEach(a, cidrs)
    {
        buf_fmt(out, "%s%s", a == cidrs->child ? "" : ",", cJSON_IsString(a) ? a->valuestring : "");
        buf_str(out, a->next ? "" : "\n");
    }
    describe_member(out, "ProviderID", node, "spec.providerID", NULL);
}

void describe_node(buf *out, const cJSON *node, const struct describe_more *more, int64_t now)
{
    const cJSON *m = json_get(node, "metadata"), *status = json_get(node, "status"), *a;
    buf_fmt(out, "Name:\t%s\n", json_str_or(m, "name", ""));
    roles(out, json_get(m, "labels"));
    describe_labels(out, "Labels", json_get(m, "labels"));
    describe_annotations(out, "Annotations", json_get(m, "annotations"));
    describe_time(out, "CreationTimestamp", json_str(m, "creationTimestamp"));
    taints(out, json_path(node, "spec.taints"));
    describe_member(out, "Unschedulable", node, "spec.unschedulable", "false");
    lease_of(out, more->lease);
    describe_conditions(out, json_get(status, "conditions"), "LastHeartbeatTime");
    buf_str(out, "Addresses:\n");
    cJSON_ArrayForEach(a, json_get(status, "addresses"))
    {
        buf_fmt(out, "  %s:\t%s\n", json_str_or(a, "type", ""), json_str_or(a, "address", ""));
    }
    amounts(out, "Capacity", json_get(status, "capacity"));
    amounts(out, "Allocatable", json_get(status, "allocatable"));
    system_info(out, json_get(status, "nodeInfo"));
    addresses(out, node);
    if (more->related)
        resources(out, node, more->related, now);
    else
        buf_str(out, "Pods:\tnot authorized\n");
}
