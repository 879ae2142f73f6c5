// SPDX-License-Identifier: MIT
#include "script/api/image/remote.h"

#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/client/connect/proxy.h"
#include "k8s/image/registry/auth.h"
#include "k8s/image/registry/trust.h"
#include "script/api/core/process.h"
#include "script/api/k8s/cluster.h"

#include <string.h>

#define HUB "registry-1.docker.io" // Docker Hub: docker.io has no registry itself

enum { CONFIG_LIMIT = 4 << 20, HELPER_WORDS = 200 };

static const char *setting(call *c, const char *name)
{
    const char *value = env_get(call_env(c), name);
    return value && *value ? value : NULL;
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

// Docker Hub's logins are kept under an older address.
static const char *login_key(const char *host)
{
    return str_eq(host, HUB) ? "https://index.docker.io/v1/" : host;
}

struct helper_words {
    buf answer, rest; // stdout, stderr
};

static void on_helper_words(void *arg, int fd, const char *bytes, size_t n)
{
    struct helper_words *words = arg;
    buf_add(fd == 1 ? &words->answer : &words->rest, bytes, n);
}

// Why a helper gave no login, for messages: it says so on either stream. That it has none for this
// host needs no words; an answer that looks like a login is one, whatever the helper's exit.
static char *helper_refusal(const char *path, const char *helper, const struct helper_words *words)
{
    const char *answer = words->answer.len ? buf_cstr(&words->answer) : "";
    bool quoted = *answer && !strchr(answer, '{');
    const char *said = quoted ? answer : words->rest.len ? buf_cstr(&words->rest) : "";
    if (strstr(said, "credentials not found"))
        return NULL;
    struct str_short line = str_short_line(said, HELPER_WORDS);
    return str_fmt("%s of %s failed%s%s", helper, path, *line.text ? ": " : "", line.text);
}

static int ask_helper(call *c, const char *path, struct remote *r, auth_credentials *found, err *e)
{
    const char *const argv[] = {found->helper, "get", NULL};
    const char *key = login_key(r->to.host);
    struct process_result result = {0};
    struct helper_words words = {0};
    int status = process_run(c,
        &(struct process_spec){.argv = argv,
            .env = call_env(c),
            .input = key,
            .input_n = strlen(key),
            .quiet = true,
            .output = on_helper_words,
            .arg = &words},
        &result, e);
    if (status == 0 && result.code == 0) {
        status = auth_take_answer(buf_cstr(&words.answer), words.answer.len, found, e);
    } else if (status == 0 && !r->login_from) { // the registry decides whether it needs one
        r->login_from = helper_refusal(path, found->helper, &words);
    }
    buf_done(&result.output);
    buf_done(&words.answer);
    buf_done(&words.rest);
    return status;
}

// Takes the login from a file, if it has one for our host.
static int file_credentials(call *c, const char *path, struct remote *r, err *e)
{
    AUTO_BUF text = {0};
    if (r->user || r->identity || r->token || path_read(path, &text, CONFIG_LIMIT, NULL))
        return 0;
    AUTO_JSON *config = auth_parse(buf_cstr(&text), text.len, e);
    CLEANUP(auth_credentials_done) auth_credentials found = {0};
    if (!config || auth_find(config, r->to.host, r->name, &found, e) ||
        (found.helper && ask_helper(c, path, r, &found, e)))
        return err_wrap(e, "%s", path);
    if (found.user || found.identity || found.token) {
        free(r->login_from);
        r->login_from = mem_strdup(path);
    }
    r->user = STEAL(found.user);
    r->password = STEAL(found.password);
    r->identity = STEAL(found.identity);
    r->token = STEAL(found.token);
    return 0;
}

static char *config_home(call *c)
{
    const char *config = setting(c, "XDG_CONFIG_HOME"), *home = setting(c, "HOME");
    return config ? mem_strdup(config) : home ? path_join(home, ".config") : NULL;
}

// docker's file first, then podman's: where `docker login` and `podman login` keep logins.
static int find_credentials(call *c, struct remote *r, err *e)
{
    const char *docker = setting(c, "DOCKER_CONFIG"), *home = setting(c, "HOME"),
               *named = setting(c, "REGISTRY_AUTH_FILE"), *runtime = setting(c, "XDG_RUNTIME_DIR");
    AUTO_FREE char *config = config_home(c);
    char *paths[] = {named ? mem_strdup(named) : NULL,
        docker ? path_join(docker, "config.json")
        : home ? path_join(home, ".docker/config.json")
               : NULL,
        runtime ? path_join(runtime, "containers/auth.json") : NULL,
        config ? path_join(config, "containers/auth.json") : NULL};
    int status = 0;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        if (status == 0 && paths[i])
            status = file_credentials(c, paths[i], r, e);
        free(paths[i]);
    }
    return status;
}

static bool is_loopback(const char *host)
{
    return str_starts(host, "127.") || str_starts(host, "[::1]") || str_eq(host, "localhost") ||
           str_starts(host, "localhost:");
}

// The registry that a person chose for this run, and what the kubeconfig says about it.
struct choice {
    oci_registry registry; // host NULL: none
    const struct kube_registry *known;
};

static void choice_done(struct choice *o)
{
    oci_registry_done(&o->registry);
}

static int choose(call *c, const kubeconfig *k, struct choice *o, err *e)
{
    const struct call_cluster *cluster = call_cluster(c);
    const char *named = cluster ? cluster->registry : NULL, *known = k ? k->registry.host : NULL;
    *o = (struct choice){0};
    if (known && oci_registry_parse(known, &o->registry, e))
        return err_wrap(e, "%s: the extension firesteel/registry", k->source);
    if (known)
        o->known = &k->registry;
    if (!named)
        return 0;
    oci_registry chosen;
    if (oci_registry_parse(named, &chosen, e))
        return err_wrap(e, "--registry");
    if (!str_eq(chosen.host, o->registry.host))
        o->known = NULL;
    oci_registry_done(&o->registry);
    o->registry = chosen;
    return 0;
}

static int no_registry(const kubeconfig *k, const char *ref, const err *why, err *e)
{
    if (!k)
        return err_set(e, ERR_USAGE,
            "the image %s names no registry, and there is no cluster to ask for one (%s): run with "
            "--registry HOST, or push to \"HOST/%s\"",
            ref, why->text, ref);
    return err_set(e, ERR_USAGE,
        "the image %s names no registry, and the context %s has no extension firesteel/registry: "
        "run with --registry HOST, or push to \"HOST/%s\"",
        ref, k->context, ref);
}

static bool is_hub(const char *host)
{
    return str_eq(host, "docker.io") || str_eq(host, "index.docker.io");
}

static int set_names(struct remote *r, const char *ref, const struct choice *o, err *e)
{
    CLEANUP(oci_ref_done) oci_ref parts = {0};
    if (oci_ref_parse(ref, &parts, e))
        return -1;
    const char *host = parts.host ? parts.host : o->registry.host;
    bool hub = is_hub(host);
    bool library = hub && !strchr(parts.name, '/');
    const char *prefix = parts.host ? NULL : o->registry.prefix;
    r->prefix = mem_strdup(prefix);
    r->to.host = mem_strdup(hub ? HUB : host);
    r->name = str_fmt(
        "%s%s%s%s", prefix ? prefix : "", prefix ? "/" : "", library ? "library/" : "", parts.name);
    r->tag = mem_strdup(parts.digest ? parts.digest : parts.tag ? parts.tag : "latest");
    r->place = str_fmt("%s/%s", host, r->name);
    r->ref = str_fmt("%s%c%s", r->place, parts.digest ? '@' : ':', r->tag);
    return 0;
}

static int use_authority(struct remote *r, const struct http_tls_options *o, err *e)
{
    r->to.tls = http_tls_new(r->to.http, o, e);
    return r->to.tls ? 0 : -1;
}

// What the kubeconfig's extension says about this registry.
static int trust_extension(const struct choice *o, const char *source, struct remote *r, err *e)
{
    const struct kube_registry *known = o->known;
    AUTO_BUF ca = {0};
    r->to.insecure |= known->insecure;
    if (known->ca_data)
        buf_add(&ca, known->ca_data, known->ca_data_n);
    else if (known->ca_file && path_read(known->ca_file, &ca, CONFIG_LIMIT, e))
        return err_wrap(e, "%s: the extension firesteel/registry", source);
    if (!ca.len)
        return 0;
    r->ca_from = mem_strdup(known->ca_file ? known->ca_file : source);
    return use_authority(r, &(struct http_tls_options){.ca = ca.data, .ca_n = ca.len}, e);
}

static struct trust_places places_of(call *c, const char *config)
{
    return (struct trust_places){.config = config,
        .etc = "/etc",
        .registries_conf = setting(c, "CONTAINERS_REGISTRIES_CONF")};
}

void remote_registries(call *c, struct registries *out)
{
    AUTO_FREE char *config = config_home(c);
    struct trust_places places = places_of(c, config);
    registries_find(out, &places);
}

// What docker's and containers' settings say about it.
static int trust_machine(call *c, const char *host, struct remote *r, err *e)
{
    AUTO_FREE char *config = config_home(c);
    CLEANUP(trust_done) struct trust t = {0};
    struct trust_places places = places_of(c, config);
    if (trust_find(&places, host, &t, e))
        return -1;
    r->to.insecure |= t.insecure;
    bool strict = !r->to.insecure && !is_loopback(host);
    const char *file = strict ? setting(c, "SSL_CERT_FILE") : NULL; // as Go's programs take it
    if (!t.ca.len && file && path_read(file, &t.ca, CONFIG_LIMIT, e))
        return err_wrap(e, "SSL_CERT_FILE");
    r->ca_from = t.ca_from ? STEAL(t.ca_from) : t.ca.len ? mem_strdup(file) : NULL;
    if (!t.ca.len && !t.cert.len)
        return 0;
    return use_authority(r,
        &(struct http_tls_options){.ca = t.ca.data,
            .ca_n = t.ca.len,
            .cert = t.cert.data,
            .cert_n = t.cert.len,
            .key = t.key.data,
            .key_n = t.key.len},
        e);
}

static int trust_registry(
    call *c, const kubeconfig *k, const struct choice *o, struct remote *r, err *e)
{
    bool chosen = str_eq(o->registry.host, r->to.host);
    r->to.plain = chosen && o->registry.plain;
    if (r->to.plain)
        return 0;
    if (chosen && o->known && trust_extension(o, k->source, r, e))
        return -1;
    if (!r->to.tls && trust_machine(c, r->to.host, r, e))
        return -1;
    r->to.insecure |= is_loopback(r->to.host) && !r->to.tls;
    if (!r->to.insecure || r->to.tls)
        return 0; // an authority that was given is asked first
    return use_authority(r, &(struct http_tls_options){.insecure = true}, e);
}

static void set_secrets(call *c, struct remote *r)
{
    if (r->password)
        call_secret(c, r->password);
    if (r->token)
        call_secret(c, r->token);
    if (r->identity)
        call_secret(c, r->identity);
    r->to.identity = r->identity;
    r->to.user = r->user;
    r->to.password = r->password;
    r->to.token = r->token;
}

static void set_proxy(call *c, struct remote *r)
{
    const char *https = setting(c, "HTTPS_PROXY"), *none = setting(c, "NO_PROXY");
    AUTO_FREE char *url = str_fmt("https://%s", r->to.host);
    r->to.proxy = r->proxy = proxy_for(
        url, https ? https : setting(c, "https_proxy"), none ? none : setting(c, "no_proxy"));
}

static void tell_login(void *arg, const char *words)
{
    AUTO_FREE char *line = str_fmt("%s\n", words);
    call_output(arg, "stdout", line, strlen(line));
}

int remote_find(call *c, const char *ref, bool insecure, struct remote *r, err *e)
{
    err no_cluster = {0};
    const kubeconfig *k = cluster_config(c, &no_cluster);
    CLEANUP(choice_done) struct choice chosen = {0};
    *r = (struct remote){
        .to = {.http = bind_http(c, e),
            .canceller = call_canceller(c),
            .deadline = call_deadline(c),
            .insecure = insecure,
            .told = tell_login,
            .told_arg = c},
    };
    if (!r->to.http || choose(c, k, &chosen, e))
        return -1;
    CLEANUP(oci_ref_done) oci_ref parts = {0};
    if (oci_ref_parse(ref, &parts, e))
        return -1;
    if (!parts.host && !chosen.registry.host)
        return no_registry(k, ref, &no_cluster, e);
    if (set_names(r, ref, &chosen, e))
        return -1;
    bool cluster = k && shares_server(k, r->to.host);
    if (cluster ? trust_cluster(c, k, r, e)
                : trust_registry(c, k, &chosen, r, e) || find_credentials(c, r, e))
        return err_wrap(e, "registry %s", r->to.host);
    r->to.ca_from = r->ca_from;
    r->to.login_from = r->login_from;
    set_secrets(c, r);
    set_proxy(c, r);
    return 0;
}

char *remote_name_of(const struct remote *r, const char *ref)
{
    CLEANUP(oci_ref_done) oci_ref parts = {0};
    if (oci_ref_parse(ref, &parts, NULL))
        return NULL;
    if (!parts.host)
        return str_fmt("%s%s%s", r->prefix ? r->prefix : "", r->prefix ? "/" : "", parts.name);
    const char *host = is_hub(parts.host) ? HUB : parts.host;
    return str_eq(host, r->to.host) ? mem_strdup(parts.name) : NULL;
}

void remote_done(struct remote *r)
{
    char *strings[] = {(char *)r->to.host, r->name, r->tag, r->ref, r->place, r->prefix, r->user,
        r->password, r->identity, r->token, r->proxy, r->ca_from, r->login_from};
    for (size_t i = 0; i < ARRAY_LEN(strings); i++)
        free(strings[i]);
    *r = (struct remote){0};
}
