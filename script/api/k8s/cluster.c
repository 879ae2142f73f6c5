// SPDX-License-Identifier: MIT
#include "script/api/k8s/cluster.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/client/kinds/known.h"
#include "script/api/bindings.h"

#include <pthread.h>
#include <unistd.h>

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

struct client_options bind_options(call *c)
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
    struct client_options options = bind_options(c);
    options.secrets.fn = call_secrets(c, &options.secrets.arg);
    return h ? client_open(call_loop(c), h, &options, e) : NULL;
}

cJSON *k8s_where(call *c)
{
    struct client_options options = bind_options(c);
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

// What a person knows of kinds beside kinds/builtin.c: $FIRESTEEL_KINDS, or kinds.yaml in the
// folder of settings.
static char *kinds_file(call *c)
{
    const char *named = setting(c, "FIRESTEEL_KINDS"), *config = setting(c, "XDG_CONFIG_HOME"),
               *home = setting(c, "HOME");
    AUTO_FREE char *folder = config && *config ? mem_strdup(config)
                             : home            ? path_join(home, ".config")
                                               : NULL;
    if (named && *named)
        return mem_strdup(named);
    AUTO_FREE char *usual = folder ? path_join(folder, "firesteel/kinds.yaml") : NULL;
    return usual && access(usual, F_OK) == 0 ? STEAL(usual) : NULL;
}

// Any pointer but NULL: it is done once.
static void *read_kinds(call *c, err *e)
{
    static char done;
    AUTO_FREE char *file = kinds_file(c);
    AUTO_BUF text = {0};
    if (file && (path_read(file, &text, 1 << 20, e) != 0 ||
                    known_add(buf_cstr(&text), text.len, file, e) != 0))
        return NULL;
    return &done;
}

static void keep_kinds(void *done)
{
}

int bind_kinds(call *c, err *e)
{
    return call_shared(c, "kinds", read_kinds, keep_kinds, e) ? 0 : -1;
}

static void drop_client(void *c)
{
    client_close(c);
}

// Where the kubeconfig is found changes with the terminal that joins the kernel: what watches by
// the one before goes on there.
client *bind_client(call *c, err *e)
{
    const char *list = call_cluster(c)->kubeconfig;
    AUTO_FREE char *key = str_fmt("client by %s", list ? list : "");
    if (call_reach_cluster(c, e) < 0 || bind_kinds(c, e) < 0)
        return NULL;
    return call_shared(c, key, make_client, drop_client, e);
}

// The clients of other contexts, each made when somebody first looks there.
struct other {
    char *context, *kubeconfig;
    client *client;
    struct other *next;
};
struct others {
    pthread_mutex_t lock; // actions make them, questions read their names
    struct other *first;
};

static void *make_others(call *c, err *e)
{
    struct others *all = mem_alloc(sizeof *all);
    pthread_mutex_init(&all->lock, NULL);
    return all;
}

static void drop_others(void *arg)
{
    struct others *all = arg;
    while (all->first) {
        struct other *o = all->first;
        all->first = o->next;
        client_close(o->client);
        free(o->context);
        free(o->kubeconfig);
        free(o);
    }
    pthread_mutex_destroy(&all->lock);
    free(all);
}

static client *make_other(call *c, const char *context, err *e)
{
    http *h = bind_http(c, e);
    struct client_options options = bind_options(c);
    options.context = context;
    options.namespace_ = NULL; // that of the chosen one
    options.secrets.fn = call_secrets(c, &options.secrets.arg);
    return h ? client_open(call_loop(c), h, &options, e) : NULL;
}

static client *find_other(call *c, struct others *all, const char *context, err *e)
{
    struct other *o = all->first;
    const char *list = call_cluster(c)->kubeconfig;
    while (o && !(str_eq(o->context, context) && str_eq(o->kubeconfig, list)))
        o = o->next;
    if (o)
        return o->client;
    client *made = make_other(c, context, e);
    if (!made)
        return NULL;
    o = mem_alloc(sizeof *o);
    *o = (struct other){mem_strdup(context), mem_strdup(list), made, all->first};
    all->first = o;
    return made;
}

client *bind_client_of(call *c, const char *context, err *e)
{
    client *chosen = context ? bind_client(c, NULL) : bind_client(c, e);
    if (!context || (chosen && str_eq(client_config(chosen)->context, context)))
        return chosen;
    struct others *all = call_shared(c, "clients of other contexts", make_others, drop_others, e);
    if (!all)
        return NULL;
    pthread_mutex_lock(&all->lock);
    client *found = find_other(c, all, context, e);
    pthread_mutex_unlock(&all->lock);
    return found;
}

// The first failure has no time yet that is worth telling.
static void say_away(void *arg, const err *reason, int64_t since)
{
    AUTO_BUF line = {0};
    int64_t lasts = clock_mono() - since;
    call_server_away(arg, reason);
    buf_fmt(&line, "%s; trying again", reason->text);
    if (lasts >= 100 * CLOCK_MS) {
        buf_str(&line, " for ");
        duration_format(&line, lasts);
    }
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
