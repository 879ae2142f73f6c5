// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/sandbox.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/sandbox/api/api.h"
#include "k8s/sandbox/api/objects/bootstrap.h"
#include "k8s/sandbox/api/objects/defaults.h"
#include "k8s/sandbox/api/tls.h"
#include "k8s/sandbox/api/watch.h"

#include <string.h>
#include <unistd.h>

#define NAME "firesteel-sandbox"

struct sandbox {
    loop *loop;
    char *dir, *version, *kubeconfig;
    const char *context; // its name in the kubeconfig
    char token[65];
    struct tls tls;
    store *store;
    kinds *kinds;
    logs *logs;
    http_server *http;
    bootstrap *bootstrap;
    struct api_context api;
    loop_timer *dispatcher; // runs at once, but outside of the change to the store
    bool is_due;
};

static int64_t now(void *arg)
{
    return clock_wall();
}

static void dispatch(void *arg)
{
    sandbox *s = arg;
    s->is_due = false;
    store_dispatch(s->store);
}

static void wake(void *arg)
{
    sandbox *s = arg;
    if (!s->is_due)
        loop_timer_start(s->dispatcher, 0, 0);
    s->is_due = true;
}

static void complete(void *arg, const struct kind *k, cJSON *json)
{
    sandbox *s = arg;
    defaults_set(s->store, k, json, NULL);
}

static int open_parts(sandbox *s, const struct sandbox_options *o, err *e)
{
    if (path_make_dirs(s->dir, 0700, e) != 0 || tls_make(&s->tls, clock_wall(), e) != 0)
        return -1;
    random_hex(s->token, 32);
    s->store = store_new(
        &(struct store_options){.now = now, .wake = wake, .complete = complete, .arg = s});
    s->kinds = kinds_new();
    s->logs = logs_new(s->store);
    s->bootstrap = bootstrap_new(
        s->store, s->kinds, &(struct bootstrap_options){s->tls.ca, o->version, SANDBOX_NODE});
    s->api = (struct api_context){
        s->loop, s->store, s->kinds, s->logs, watches_new(s->loop, s->store), s->version};
    s->http = http_open(
        s->loop, &(struct http_options){o->port, s->tls.certificate, s->tls.key, s->token}, e);
    if (!s->http)
        return -1;
    http_route(s->http, "/", &api_handler, &s->api);
    return 0;
}

sandbox *sandbox_open(loop *l, const struct sandbox_options *o, err *e)
{
    sandbox *s = mem_alloc(sizeof *s);
    s->loop = l;
    s->dispatcher = loop_timer_new(l, dispatch, s);
    s->dir = mem_strdup(o->dir);
    s->version = mem_strdup(o->version);
    s->context = o->processes ? NAME "-processes" : NAME;
    s->kubeconfig = path_join(o->dir, "kubeconfig");
    if (open_parts(s, o, e) == 0)
        return s;
    sandbox_close(s);
    return NULL;
}

void sandbox_close(sandbox *s)
{
    if (!s)
        return;
    http_close(s->http);
    watches_free(s->api.watches);
    bootstrap_free(s->bootstrap);
    logs_free(s->logs);
    store_free(s->store);
    loop_timer_free(s->dispatcher);
    kinds_free(s->kinds);
    tls_done(&s->tls);
    unlink(s->kubeconfig);
    free(s->kubeconfig);
    free(s->version);
    free(s->dir);
    free(s);
}

// {name: NAME, KEY: {…}}, appended to a list as its only entry.
static cJSON *entry(cJSON *config, const char *list, const char *name, const char *key)
{
    cJSON *o = cJSON_CreateObject();
    json_set_str(o, "name", name);
    cJSON_AddItemToArray(json_array_at(config, list), o);
    return json_object_at(o, key);
}

// Tells where an image name without a host is looked up: in the registry on the server's own port.
static void add_registry(cJSON *holder, const char *host)
{
    cJSON *o = cJSON_CreateObject();
    json_set_str(o, "name", "firesteel/registry");
    json_set_str(json_object_at(o, "extension"), "host", host);
    cJSON_AddItemToArray(json_array_at(holder, "extensions"), o);
}

int sandbox_ready(sandbox *s, err *e)
{
    AUTO_JSON *config = cJSON_CreateObject();
    AUTO_BUF ca = {0}, text = {0};
    AUTO_FREE char *host = str_fmt("127.0.0.1:%u", http_port(s->http));
    AUTO_FREE char *server = str_fmt("https://%s", host);
    base64_encode(&ca, s->tls.ca, strlen(s->tls.ca));
    json_set_str(config, "apiVersion", "v1");
    json_set_str(config, "kind", "Config");
    json_set_str(config, "current-context", s->context);
    cJSON *cluster = entry(config, "clusters", NAME, "cluster");
    json_set_str(cluster, "server", server);
    json_set_str(cluster, "certificate-authority-data", buf_cstr(&ca));
    add_registry(cluster, host);
    cJSON *context = entry(config, "contexts", s->context, "context");
    json_set_str(context, "cluster", NAME);
    json_set_str(context, "user", NAME);
    json_set_str(context, "namespace", "default");
    add_registry(context, host);
    json_set_str(entry(config, "users", NAME, "user"), "token", s->token);
    yaml_print(&text, config);
    return path_write(s->kubeconfig, buf_cstr(&text), text.len, 0600, e);
}

loop *sandbox_loop(const sandbox *s)
{
    return s->loop;
}

store *sandbox_store(const sandbox *s)
{
    return s->store;
}

logs *sandbox_logs(const sandbox *s)
{
    return s->logs;
}

http_server *sandbox_http(const sandbox *s)
{
    return s->http;
}

const char *sandbox_dir(const sandbox *s)
{
    return s->dir;
}

const char *sandbox_kubeconfig(const sandbox *s)
{
    return s->kubeconfig;
}
