// SPDX-License-Identifier: MIT
#include "script/bind/cluster.h"

#include "base/clock.h"
#include "base/env.h"
#include "script/bind/bindings.h"

static const char *setting(call *c, const char *name)
{
    return env_get(call_env(c), name);
}

// A proxy's variable may have upper or lower case; the lower-case name is the older one.
static const char *proxy_setting(call *c, const char *upper, const char *lower)
{
    const char *value = setting(c, upper);
    return value && *value ? value : setting(c, lower);
}

static void *make_http(call *c, err *e)
{
    return http_new(call_loop(c), "firesteel/" FIRESTEEL_VERSION, e);
}

static void drop_http(void *h)
{
    http_free(h);
}

http *bind_http(call *c, err *e)
{
    return call_shared(c, "http", make_http, drop_http, e);
}

static struct client_options options_of(call *c)
{
    const struct call_cluster *chosen = call_cluster(c);
    return (struct client_options){.kubeconfig_list = chosen ? chosen->kubeconfig : NULL,
        .home = setting(c, "HOME"),
        .context = chosen ? chosen->context : NULL,
        .namespace_ = chosen ? chosen->namespace_ : NULL,
        .service_host = setting(c, "KUBERNETES_SERVICE_HOST"),
        .service_port = setting(c, "KUBERNETES_SERVICE_PORT"),
        .https_proxy = proxy_setting(c, "HTTPS_PROXY", "https_proxy"),
        .no_proxy = proxy_setting(c, "NO_PROXY", "no_proxy"),
        .env = call_env(c)};
}

static void *make_client(call *c, err *e)
{
    http *h = bind_http(c, e);
    struct client_options options = options_of(c);
    options.secrets.fn = call_secrets(c, &options.secrets.arg);
    return h ? client_open(call_loop(c), h, &options, e) : NULL;
}

cJSON *k8s_where(call *c)
{
    struct client_options options = options_of(c);
    kubeconfig *k = kubeconfig_load(&options, NULL);
    if (!k)
        return NULL;
    cJSON *where = cJSON_CreateObject();
    json_set_str(where, "context", k->context);
    json_set_str(where, "namespace", k->namespace_);
    json_set_str(where, "server", k->server);
    kubeconfig_free(k);
    return where;
}

static void drop_client(void *c)
{
    client_close(c);
}

client *bind_client(call *c, err *e)
{
    if (call_reach_cluster(c, e) < 0)
        return NULL;
    return call_shared(c, "client", make_client, drop_client, e);
}

static void say_away(void *arg, const err *reason, int64_t since)
{
    AUTO_BUF line = {0};
    call_server_away(arg, reason);
    buf_fmt(&line, "%s; trying again for ", reason->text);
    duration_format(&line, clock_mono() - since);
    buf_char(&line, '\n');
    call_output(arg, "stderr", line.data, line.len);
}

struct patience bind_patience(call *c)
{
    call_asks_server(c, true);
    bool now = call_is_action(c);
    return (struct patience){.canceller = call_canceller(c),
        .deadline = call_deadline(c),
        .retry_ns = now ? -1 : 0,
        .away = now ? NULL : say_away,
        .arg = c};
}
