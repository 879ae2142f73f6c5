// SPDX-License-Identifier: MIT
#include "script/bind/remote.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "k8s/image/auth.h"
#include "script/bind/cluster.h"
#include "script/bind/process.h"

#include <string.h>

enum { CONFIG_LIMIT = 4 << 20 };

static const char *setting(call *c, const char *name)
{
    size_t n = strlen(name);
    for (const char *const *v = call_env(c); v && *v; v++)
        if (strncmp(*v, name, n) == 0 && (*v)[n] == '=')
            return *v + n + 1;
    return NULL;
}

// The context's kubeconfig; NULL without an error for people who push but have no cluster.
static const kubeconfig *cluster_config(call *c, err *e)
{
    client *cluster = bind_client(c, e);
    return cluster ? client_config(cluster) : NULL;
}

// The registry may have the API server's address, authority and token, as in the sandbox. Only then
// is the token used: it must not be sent to another host.
static bool shares_server(const kubeconfig *k, const char *host)
{
    AUTO_FREE char *server = url_host(k->server);
    return str_eq(server, host);
}

static int trust_cluster(call *c, const kubeconfig *k, struct remote *r, err *e)
{
    AUTO_BUF ca = {0};
    if (k->ca_data)
        buf_add(&ca, k->ca_data, k->ca_data_n);
    else if (k->ca_file && path_read(k->ca_file, &ca, CONFIG_LIMIT, e))
        return -1;
    r->to.tls = http_tls_new(r->to.http,
        &(struct http_tls_options){
            .ca = ca.len ? ca.data : NULL, .ca_n = ca.len, .insecure = k->insecure},
        e);
    if (!r->to.tls)
        return -1;
    AUTO_BUF token = {0};
    if (k->token)
        r->token = mem_strdup(k->token);
    else if (k->token_file && path_read(k->token_file, &token, CONFIG_LIMIT, e) == 0)
        r->token = str_trim(token.data, token.len);
    return 0;
}

static int ask_helper(call *c, const char *host, auth_credentials *found, err *e)
{
    const char *const argv[] = {found->helper, "get", NULL};
    struct process_result result = {0};
    int status = process_run(c,
        &(struct process_spec){.argv = argv,
            .env = call_env(c),
            .input = host,
            .input_n = strlen(host),
            .quiet = true},
        &result, e);
    if (status == 0 && result.code == 0) {
        AUTO_JSON *json = json_parse(buf_cstr(&result.output), result.output.len, NULL);
        found->user = mem_strdup(json_str(json, "Username"));
        found->password = mem_strdup(json_str(json, "Secret"));
    } // otherwise there is no login for this host, and the registry decides
    buf_done(&result.output);
    return status;
}

static int docker_credentials(call *c, struct remote *r, err *e)
{
    const char *dir = setting(c, "DOCKER_CONFIG"), *home = setting(c, "HOME");
    AUTO_FREE char *path = dir && *dir ? path_join(dir, "config.json")
                                       : path_join(home ? home : "/", ".docker/config.json");
    AUTO_BUF text = {0};
    if (path_read(path, &text, CONFIG_LIMIT, NULL))
        return 0; // there is no login
    AUTO_JSON *config = json_parse(buf_cstr(&text), text.len, e);
    CLEANUP(auth_credentials_done) auth_credentials found = {0};
    if (!config || auth_find(config, r->to.host, &found, e) ||
        (found.helper && ask_helper(c, r->to.host, &found, e)))
        return err_wrap(e, "%s", path);
    r->user = STEAL(found.user);
    r->password = STEAL(found.password);
    return 0;
}

static bool is_loopback(const char *host)
{
    return str_starts(host, "127.") || str_starts(host, "[::1]") || str_eq(host, "localhost") ||
           str_starts(host, "localhost:");
}

static int no_registry(const kubeconfig *k, const char *ref, const err *why, err *e)
{
    if (!k)
        return err_set(e, ERR_USAGE,
            "the image %s names no registry, and there is no cluster to ask for one (%s): push to "
            "\"HOST/%s\"",
            ref, why->text, ref);
    return err_set(e, ERR_USAGE,
        "the image %s names no registry, and the context %s has no extension firesteel/registry: "
        "push to \"HOST/%s\"",
        ref, k->context, ref);
}

static int set_names(struct remote *r, const char *ref, const kubeconfig *k, const err *why, err *e)
{
    CLEANUP(oci_ref_done) oci_ref parts = {0};
    if (oci_ref_parse(ref, &parts, e))
        return -1;
    const char *host = parts.host ? parts.host : k ? k->registry : NULL;
    if (!host)
        return no_registry(k, ref, why, e);
    r->to.host = mem_strdup(host);
    r->name = STEAL(parts.name);
    r->tag = parts.tag ? STEAL(parts.tag) : mem_strdup("latest");
    r->ref = str_fmt("%s/%s:%s", host, r->name, r->tag);
    return 0;
}

int remote_find(call *c, const char *ref, bool insecure, struct remote *r, err *e)
{
    err no_cluster = {0};
    const kubeconfig *k = cluster_config(c, &no_cluster);
    *r = (struct remote){
        .to = {.http = bind_http(c, e),
            .canceller = call_canceller(c),
            .deadline = call_deadline(c)},
    };
    if (!r->to.http || set_names(r, ref, k, &no_cluster, e))
        return -1;
    bool cluster = k && shares_server(k, r->to.host);
    r->to.plain = insecure || (!cluster && is_loopback(r->to.host));
    if (cluster ? trust_cluster(c, k, r, e) : docker_credentials(c, r, e))
        return err_wrap(e, "registry %s", r->to.host);
    if (r->password)
        call_secret(c, r->password);
    if (r->token)
        call_secret(c, r->token);
    r->to.user = r->user;
    r->to.password = r->password;
    r->to.token = r->token;
    return 0;
}

void remote_done(struct remote *r)
{
    free((char *)r->to.host);
    free(r->name);
    free(r->tag);
    free(r->ref);
    free(r->user);
    free(r->password);
    free(r->token);
    *r = (struct remote){0};
}
