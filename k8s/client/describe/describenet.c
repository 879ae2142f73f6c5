// SPDX-License-Identifier: MIT
// Services and Ingresses.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describe/describeparts.h"

#include <string.h>

enum { SHOWN = 3 }; // endpoints

static void joined(buf *out, const char *heading, const cJSON *list, const char *none)
{
    const cJSON *item;
    if ((!list || !list->child) && !none)
        return;
    buf_fmt(out, "%s:\t%s", heading, list && list->child ? "" : none);
    cJSON_ArrayForEach(item, list)
    {
        buf_fmt(out, "%s%s", item == list->child ? "" : ",",
            cJSON_IsString(item) ? item->valuestring : "");
    }
    buf_char(out, '\n');
}

struct endpoints {
    buf text;
    int n;
};

static void add_endpoints(struct endpoints *e, const cJSON *slice, const cJSON *port)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, json_get(slice, "endpoints"))
    {
        const char *address = json_path_str(one, "addresses[0]");
        if (!json_bool_or(json_get(one, "conditions"), "ready", true) || !address ||
            e->n++ >= SHOWN)
            continue;
        bool six = port && strchr(address, ':');
        buf_fmt(
            &e->text, "%s%s%s%s", e->text.len ? "," : "", six ? "[" : "", address, six ? "]" : "");
        if (port)
            buf_fmt(&e->text, ":%lld", describe_number(port, "port"));
    }
}

// The ready endpoints of a port: at most three, and how many more there are. slices NULL: they
// cannot be read.
static void endpoints(buf *out, const cJSON *slices, const char *name)
{
    struct endpoints e = {0};
    const cJSON *slice, *port;
    cJSON_ArrayForEach(slice, slices)
    {
        if (cJSON_GetArraySize(json_get(slice, "ports")) == 0)
            add_endpoints(&e, slice, NULL);
        cJSON_ArrayForEach(port, json_get(slice, "ports"))
        {
            if (str_eq(json_str_or(port, "name", ""), name))
                add_endpoints(&e, slice, port);
        }
    }
    if (!slices)
        buf_str(out, "<error: the endpoint slices cannot be read>");
    else
        buf_str(out, slices->child ? buf_cstr(&e.text) : "<none>");
    if (e.n > SHOWN)
        buf_fmt(out, " + %d more...", e.n - SHOWN);
    buf_done(&e.text);
}

static void service_ports(buf *out, const cJSON *service, const cJSON *slices)
{
    const cJSON *p;
    cJSON_ArrayForEach(p, json_path(service, "spec.ports"))
    {
        const char *name = json_str_or(p, "name", ""), *protocol = json_str_or(p, "protocol", "");
        const char *shown = *name ? name : "<unset>";
        buf_fmt(
            out, "Port:\t%s\t%lld/%s\nTargetPort:\t", shown, describe_number(p, "port"), protocol);
        describe_value(out, json_get(p, "targetPort"));
        buf_fmt(out, "/%s\n", protocol);
        if (describe_number(p, "nodePort"))
            buf_fmt(
                out, "NodePort:\t%s\t%lld/%s\n", shown, describe_number(p, "nodePort"), protocol);
        buf_str(out, "Endpoints:\t");
        endpoints(out, slices, name);
        buf_char(out, '\n');
    }
}

static void load_balancer(buf *out, const cJSON *list)
{
    const cJSON *i;
    if (!list || !list->child)
        return;
    buf_str(out, "LoadBalancer Ingress:\t");
    cJSON_ArrayForEach(i, list)
    {
        const char *ip = json_str_or(i, "ip", ""), *mode = json_str(i, "ipMode");
        buf_fmt(
            out, "%s%s", i == list->child ? "" : ", ", *ip ? ip : json_str_or(i, "hostname", ""));
        if (*ip && mode)
            buf_fmt(out, " (%s)", mode);
    }
    buf_char(out, '\n');
}

void describe_service(buf *out, const cJSON *service, const struct describe_more *more, int64_t now)
{
    const cJSON *spec = json_get(service, "spec");
    describe_name(out, service);
    describe_meta(out, service);
    describe_labels_in_line(out, "Selector", json_get(spec, "selector"));
    describe_member(out, "Type", spec, "type", "");
    describe_member(out, "IP Family Policy", spec, "ipFamilyPolicy", NULL);
    joined(out, "IP Families", json_get(spec, "ipFamilies"), "<none>");
    describe_member(out, "IP", spec, "clusterIP", "");
    joined(out, "IPs", json_get(spec, "clusterIPs"), "<none>");
    joined(out, "External IPs", json_get(spec, "externalIPs"), NULL);
    describe_member(out, "Desired LoadBalancer IP", spec, "loadBalancerIP", NULL);
    describe_member(out, "External Name", spec, "externalName", NULL);
    load_balancer(out, json_path(service, "status.loadBalancer.ingress"));
    service_ports(out, service, more->related);
    describe_member(out, "Session Affinity", spec, "sessionAffinity", "");
    describe_member(out, "External Traffic Policy", spec, "externalTrafficPolicy", NULL);
    describe_member(out, "Internal Traffic Policy", spec, "internalTrafficPolicy", NULL);
    describe_member(out, "HealthCheck NodePort", spec, "healthCheckNodePort", NULL);
    joined(out, "LoadBalancer Source Ranges", json_get(spec, "loadBalancerSourceRanges"), NULL);
    describe_member(out, "Traffic Distribution", spec, "trafficDistribution", NULL);
}

// What an Ingress leads to. All slices and Services of its namespace are there to be looked up.

static cJSON *slices_of(const cJSON *all, const char *service)
{
    cJSON *some = all ? cJSON_CreateArray() : NULL;
    const cJSON *slice;
    cJSON_ArrayForEach(slice, all)
    {
        const cJSON *labels = json_path(slice, "metadata.labels");
        if (str_eq(json_str(labels, "kubernetes.io/service-name"), service))
            cJSON_AddItemReferenceToArray(some, (cJSON *)slice);
    }
    return some;
}

static const cJSON *named(const cJSON *all, const char *name)
{
    const cJSON *object;
    cJSON_ArrayForEach(object, all)
    {
        if (str_eq(json_path_str(object, "metadata.name"), name))
            return object;
    }
    return NULL;
}

// The name of the port that a backend's number or name means.
static const char *port_of(const cJSON *service, const cJSON *backend)
{
    const char *name = json_path_str(backend, "port.name"), *found = "";
    const cJSON *p;
    cJSON_ArrayForEach(p, json_path(service, "spec.ports"))
    {
        const char *own = json_str_or(p, "name", "");
        bool same = describe_number(backend, "port.number")
                        ? describe_number(backend, "port.number") == describe_number(p, "port")
                        : name && str_eq(name, own);
        found = same ? own : found;
    }
    return found;
}

static void service_backend(buf *out, const cJSON *backend, const struct describe_more *more)
{
    const char *name = json_str_or(backend, "name", ""),
               *port = json_path_str(backend, "port.name");
    const cJSON *service = named(more->also, name);
    if (port && *port)
        buf_fmt(out, "%s:%s (", name, port);
    else
        buf_fmt(out, "%s:%lld (", name, describe_number(backend, "port.number"));
    AUTO_JSON *slices = slices_of(more->related, name);
    if (service)
        endpoints(out, slices, port_of(service, backend));
    else if (more->also)
        buf_fmt(out, "<error: services \"%s\" not found>", name);
    else
        buf_str(out, "<error: the services cannot be read>");
    buf_char(out, ')');
}

static void backend_of(buf *out, const cJSON *backend, const struct describe_more *more)
{
    const cJSON *resource = json_get(backend, "resource");
    if (json_get(backend, "service"))
        service_backend(out, json_get(backend, "service"), more);
    else if (resource)
        buf_fmt(out, "APIGroup: %s, Kind: %s, Name: %s",
            json_str_or(resource, "apiGroup", "<none>"), json_str_or(resource, "kind", ""),
            json_str_or(resource, "name", ""));
}

static void addresses(buf *out, const cJSON *ingress)
{
    AUTO_JSON *set = cJSON_CreateObject();
    const cJSON *i;
    cJSON_ArrayForEach(i, json_path(ingress, "status.loadBalancer.ingress"))
    {
        const char *ip = json_str_or(i, "ip", ""), *host = json_str_or(i, "hostname", "");
        if (*ip || *host)
            json_set_bool(set, *ip ? ip : host, true);
    }
    AUTO_FREE const cJSON **sorted = json_sorted(set);
    buf_str(out, "Address:\t");
    for (const cJSON **s = sorted; *s; s++)
        buf_fmt(out, "%s%s", s == sorted ? "" : ",", (*s)->string);
    buf_char(out, '\n');
}

static void tls(buf *out, const cJSON *list)
{
    const cJSON *t, *host;
    if (!list || !list->child)
        return;
    buf_str(out, "TLS:\n");
    cJSON_ArrayForEach(t, list)
    {
        const char *secret = json_str_or(t, "secretName", "");
        const cJSON *hosts = json_get(t, "hosts");
        buf_fmt(out, "  %s%s ", *secret ? secret : "SNI", *secret ? " terminates" : " routes");
        cJSON_ArrayForEach(host, hosts)
        {
            buf_fmt(out, "%s%s", host == hosts->child ? "" : ",",
                cJSON_IsString(host) ? host->valuestring : "");
        }
        buf_char(out, '\n');
    }
}

static bool rule(buf *out, const cJSON *rule, const struct describe_more *more)
{
    const cJSON *http = json_get(rule, "http"), *path;
    const char *host = json_str_or(rule, "host", "");
    if (!http)
        return false;
    buf_fmt(out, "  %s\t\n", *host ? host : "*");
    cJSON_ArrayForEach(path, json_get(http, "paths"))
    {
        buf_fmt(out, "    \t%s \t", json_str_or(path, "path", ""));
        backend_of(out, json_get(path, "backend"), more);
        buf_char(out, '\n');
    }
    return true;
}

void describe_ingress(buf *out, const cJSON *ingress, const struct describe_more *more, int64_t now)
{
    const cJSON *m = json_get(ingress, "metadata"), *r;
    const cJSON *fallback = json_path(ingress, "spec.defaultBackend");
    AUTO_BUF other = {0};
    bool any = false;
    buf_fmt(out, "Name:\t%s\n", json_str_or(m, "name", ""));
    describe_labels(out, "Labels", json_get(m, "labels"));
    buf_fmt(out, "Namespace:\t%s\n", json_str_or(m, "namespace", ""));
    addresses(out, ingress);
    describe_member(out, "Ingress Class", ingress, "spec.ingressClassName", "<none>");
    if (fallback)
        backend_of(&other, fallback, more);
    else
        buf_str(&other, "<default>");
    buf_fmt(out, "Default backend:\t%s\n", buf_cstr(&other));
    tls(out, json_path(ingress, "spec.tls"));
    buf_str(out, "Rules:\n  Host\tPath\tBackends\n  ----\t----\t--------\n");
    cJSON_ArrayForEach(r, json_path(ingress, "spec.rules"))
    {
        any = rule(out, r, more) || any;
    }
    if (!any)
        buf_fmt(out, "  *\t*\t%s\n", buf_cstr(&other));
    describe_annotations(out, "Annotations", json_get(m, "annotations"));
}
