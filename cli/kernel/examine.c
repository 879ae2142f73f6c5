// SPDX-License-Identifier: MIT
#include "cli/kernel/examine.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/kernel/link.h"
#include "cli/say.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/why/why.h"
#include "k8s/image/oci.h"
#include "k8s/image/registry/trust.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct exam {
    const struct kernel_options *options;
    struct link link; // NULL: no client, because there is no kubeconfig, or a wrong one
    struct patience patience;
};

__attribute__((format(printf, 4, 5))) static void found(
    const char *name, const char *state, const char *remedy, const char *fmt, ...)
{
    AUTO_BUF text = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&text, fmt, args);
    va_end(args);
    AUTO_JSON *finding = cJSON_CreateObject();
    json_set_str(finding, "name", name);
    json_set_str(finding, "state", state);
    json_set_str(finding, "text", buf_cstr(&text));
    json_set_str(finding, "remedy", remedy);
    say_json(finding, 0);
    fflush(stdout);
}

// No kubeconfig at all is only a warning, since a private sandbox needs none; one that was asked
// for must work.
static void open_client(struct exam *x)
{
    err e = {0};
    link_client(&x->link, x->options, &e);
    bool asked = x->options->cluster.kubeconfig || x->options->cluster.context;
    if (!x->link.client)
        found("cluster", asked ? "fail" : "warn",
            asked ? "choose another with --context, or mend the kubeconfig ($KUBECONFIG)"
                  : "get a kubeconfig from who runs the cluster; --sandbox works without",
            "%s", e.text);
}

static const char *remedy_of(err_code code)
{
    return code == ERR_UNAUTHORIZED
               ? "log in to the cluster again: its credentials are not accepted"
           : code == ERR_FORBIDDEN ? "ask who runs the cluster for rights"
           : code == ERR_FAILED    ? "the kubeconfig's certificate-authority is another one's"
                                   : "is the address right, is a VPN or a proxy needed?";
}

static bool examine_cluster(struct exam *x, bool *sandbox)
{
    err e = {0};
    const kubeconfig *k = client_config(x->link.client);
    AUTO_JSON *version = client_version(x->link.client, &x->patience, &e);
    if (!version) {
        found("cluster", "fail", remedy_of(e.code), "context %s, %s: %s", k->context, k->server,
            e.text);
        return false;
    }
    found("cluster", "ok", NULL, "context %s, %s, Kubernetes %s", k->context, k->server,
        json_str_or(version, "gitVersion", "?"));
    *sandbox = strstr(json_str_or(version, "gitVersion", ""), "+firesteel-");
    return true;
}

// The most frequent requests of notebooks. Kinds that the cluster does not have are skipped.
static void examine_rights(struct exam *x)
{
    static const struct {
        const char *verb, *kind, *sub;
    } rights[] = {{"create", "pods", NULL}, {"get", "pods", "log"}, {"watch", "pods", NULL},
        {"create", "jobs.batch", NULL}, {"delete", "jobs.batch", NULL},
        {"create", "configmaps", NULL}, {"create", "mpijobs.kubeflow.org", NULL},
        {"create", "sparkapplications.sparkoperator.k8s.io", NULL}};
    const char *ns = client_config(x->link.client)->namespace_;
    AUTO_BUF missing = {0};
    err e = {0};
    int asked = 0;
    for (size_t i = 0; i < ARRAY_LEN(rights); i++) {
        const struct resource *r =
            client_resource(x->link.client, &x->patience, rights[i].kind, &e);
        int may = r ? client_can_i(x->link.client, &x->patience, rights[i].verb, r, ns, NULL,
                          rights[i].sub, NULL, &e)
                    : -1;
        asked += may >= 0;
        if (may == 0)
            buf_fmt(&missing, "%s%s %s%s%s", missing.len ? ", " : "", rights[i].verb,
                rights[i].kind, rights[i].sub ? "/" : "", rights[i].sub ? rights[i].sub : "");
    }
    AUTO_FREE char *remedy =
        str_fmt("ask for a role in the namespace %s, or choose one with -n", ns);
    if (!asked)
        found("rights", "warn", "ask who runs the cluster", "they cannot be asked for: %s", e.text);
    else if (missing.len)
        found("rights", "warn", remedy, "in namespace %s you may not: %s", ns, missing.data);
    else
        found("rights", "ok", NULL,
            "namespace %s: pods, their logs, jobs, and what else notebooks make", ns);
}

// One operator, of the kinds whose row has these labels, if the server has the first of them.
// Returns false when it does nothing for this namespace.
static bool examine_operator(struct exam *x, const struct known *row, buf *out)
{
    const char *ns = client_config(x->link.client)->namespace_;
    AUTO_FREE char *kind = str_fmt("%s.%s", row->kind, row->group);
    if (!client_resource(x->link.client, &x->patience, kind, NULL))
        return true;
    const struct resource *r =
        client_resource(x->link.client, &x->patience, "deployments.apps", NULL);
    AUTO_JSON *list = r ? client_list(x->link.client, &x->patience, r, NULL,
                              &(struct list_query){.labels = row->operators}, NULL)
                        : NULL;
    AUTO_BUF told = {0};
    bool ready = why_operators(json_get(list, "items"), ns, &told);
    buf_fmt(out, "%s%s: %s", out->len ? ". " : "", row->kind,
        told.len ? buf_cstr(&told) + strlen("; ")
        : list   ? "no Deployment of its operator can be seen"
                 : "Deployments of its operator cannot be listed");
    return ready || !list;
}

// Kinds that the cluster has, and what acts on them. Of kinds with one operator the first is named.
static void examine_operators(struct exam *x)
{
    AUTO_BUF text = {0};
    const struct known *row;
    bool good = true;
    for (size_t i = 0; (row = known_at(i)); i++) {
        size_t first = 0;
        while (row->operators && !str_eq(known_at(first)->operators, row->operators))
            first++;
        if (row->operators && first == i)
            good &= examine_operator(x, row, &text);
    }
    if (!text.len)
        buf_str(&text, "none of the kinds that need one are there; plain Jobs need none");
    found("operators", good ? "ok" : "warn",
        "who runs the cluster has to start it, or let it watch your namespace", "%s",
        buf_cstr(&text));
}

struct place {
    oci_registry name;
    struct trust trust;
};

static void place_done(struct place *p)
{
    oci_registry_done(&p->name);
    trust_done(&p->trust);
}

static void take_authority(buf *to, const char *data, size_t n, const char *file)
{
    if (to->len)
        return;
    if (data)
        buf_add(to, data, n);
    else if (file)
        path_read(file, to, 4 << 20, NULL);
}

// As a push finds it (script/api/image/remote.c): the authority that the kubeconfig names for its
// registry; the cluster's if the registry is the API server, as in the sandbox; else this
// machine's.
static void find_trust(const struct exam *x, struct place *p)
{
    const kubeconfig *k = x->link.client ? client_config(x->link.client) : NULL;
    const char *config = env_get(x->options->env, "XDG_CONFIG_HOME");
    const char *home = env_get(x->options->env, "HOME"), *host = p->name.host;
    AUTO_FREE char *folder = config ? mem_strdup(config) : home ? path_join(home, ".config") : NULL;
    trust_find(&(struct trust_places){folder, "/etc",
                   env_get(x->options->env, "CONTAINERS_REGISTRIES_CONF")},
        host, &p->trust, NULL);
    if (k && k->registry.host && str_starts(k->registry.host, host)) {
        take_authority(
            &p->trust.ca, k->registry.ca_data, k->registry.ca_data_n, k->registry.ca_file);
        p->trust.insecure |= k->registry.insecure;
    }
    if (k && str_starts(k->server, "https://") && str_eq(k->server + strlen("https://"), host))
        take_authority(&p->trust.ca, k->ca_data, k->ca_data_n, k->ca_file);
    bool loopback = str_starts(host, "127.") || str_starts(host, "localhost");
    p->trust.insecure |= loopback && !p->trust.ca.len;
}

// --registry, else the registry of the kubeconfig's context. false: none is named, or the name is
// invalid.
static bool place_of(const struct exam *x, struct place *p)
{
    const char *name = x->options->cluster.registry;
    err e = {0};
    if (!name && x->link.client)
        name = client_config(x->link.client)->registry.host;
    if (!name)
        found("registry", "ok", NULL, "none is named; images go to the one in their name");
    else if (oci_registry_parse(name, &p->name, &e) < 0)
        found("registry", "fail", "write it as HOST[:PORT][/PREFIX]", "%s", e.text);
    else
        find_trust(x, p);
    return p->name.host;
}

static int ask(struct exam *x, const struct place *p, bool plain, struct http_response *r, err *e)
{
    AUTO_FREE char *url = str_fmt("%s://%s/v2/", plain ? "http" : "https", p->name.host);
    struct http_tls_options tls = {.ca = p->trust.ca.data,
        .ca_n = p->trust.ca.len,
        .cert = p->trust.cert.data,
        .cert_n = p->trust.cert.len,
        .key = p->trust.key.data,
        .key_n = p->trust.key.len,
        .insecure = p->trust.insecure};
    const http_tls *material = plain ? NULL : http_tls_new(x->link.http, &tls, e);
    if (!plain && !material)
        return -1;
    struct http_request request = {.url = url, .tls = material, .limit = 1 << 20};
    return http_do(x->link.http, NULL, x->patience.deadline, &request, r, e);
}

static void examine_registry(struct exam *x)
{
    CLEANUP(place_done) struct place p = {0};
    struct http_response r = {0};
    err e = {0};
    if (!place_of(x, &p))
        return;
    int done = ask(x, &p, p.name.plain, &r, &e);
    if (done < 0 && !p.name.plain && p.trust.insecure)
        done = ask(x, &p, true, &r, &e);
    if (done < 0)
        found("registry", "fail",
            e.code == ERR_FAILED
                ? "put its authority into ~/.config/containers/certs.d (doc/images.md)"
                : "is the address right? http:// before it means plain HTTP",
            "%s", e.text);
    else if (r.status == 200 || r.status == 401 || r.status == 403)
        found("registry", "ok", NULL, "%s answers%s", p.name.host,
            r.status == 200 ? "" : ", and wants a login for some of it");
    else
        found("registry", "fail", "is it a registry's address?", "%s answers %d to GET /v2/",
            p.name.host, r.status);
    http_response_done(&r);
}

static void *examine_registry_apart(void *arg)
{
    examine_registry(arg);
    return NULL;
}

// The registry is asked while the cluster is.
static void examine_all(struct exam *x)
{
    pthread_t other;
    open_client(x);
    bool apart = pthread_create(&other, NULL, examine_registry_apart, x) == 0;
    bool sandbox = false;
    if (x->link.client && examine_cluster(x, &sandbox)) {
        examine_rights(x);
        if (!sandbox) // it plays them itself
            examine_operators(x);
    }
    if (apart)
        pthread_join(other, NULL);
}

int examine_run(const struct kernel_options *options, int64_t ms)
{
    struct exam x = {.options = options};
    err e = {0};
    x.patience = (struct patience){.deadline = clock_mono() + ms * CLOCK_MS, .retry_ns = -1};
    if (link_start(&x.link, &e) == 0)
        examine_all(&x);
    else
        found("cluster", "fail", NULL, "it cannot be looked at: %s", e.text);
    link_end(&x.link);
    return 0;
}
