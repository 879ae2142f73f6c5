// SPDX-License-Identifier: MIT
#include "cli/kernel/link.h"

#include "base/os/env.h"

#include <signal.h>

static void *run_loop(void *arg)
{
    loop_run(arg);
    return NULL;
}

static void stop_loop(void *arg)
{
    loop_stop(arg);
}

int link_start(struct link *l, err *e)
{
    *l = (struct link){.loop = loop_new(e)};
    l->http = l->loop ? http_new(l->loop, "firesteel/" FIRESTEEL_VERSION, e) : NULL;
    int number = l->http ? pthread_create(&l->thread, NULL, run_loop, l->loop) : -1;
    l->runs = number == 0;
    return number > 0 ? err_start(e, number, "cannot start a thread") : number;
}

struct client_options link_options(const struct kernel_options *o)
{
    const char *proxy = env_get(o->env, "HTTPS_PROXY"), *none = env_get(o->env, "NO_PROXY");
    return (struct client_options){.kubeconfig_list = o->cluster.kubeconfig,
        .home = env_get(o->env, "HOME"),
        .context = o->cluster.context,
        .namespace_ = o->cluster.namespace_,
        .service_host = env_get(o->env, "KUBERNETES_SERVICE_HOST"),
        .service_port = env_get(o->env, "KUBERNETES_SERVICE_PORT"),
        .https_proxy = proxy ? proxy : env_get(o->env, "https_proxy"),
        .no_proxy = none ? none : env_get(o->env, "no_proxy"),
        .env = o->env};
}

int link_client(struct link *l, const struct kernel_options *options, err *e)
{
    struct client_options all = link_options(options);
    l->client = client_open(l->loop, l->http, &all, e);
    return l->client ? 0 : -1;
}

void link_end(struct link *l)
{
    if (l->runs) {
        loop_post(l->loop, stop_loop, l->loop);
        pthread_join(l->thread, NULL);
    }
    client_close(l->client);
    http_free(l->http);
    loop_free(l->loop);
}

loop_signal *link_signal(struct link *l, int signum, void (*fn)(void *arg, int signum), void *arg)
{
    struct sigaction now = {0};
    sigaction(signum, NULL, &now);
    return now.sa_handler == SIG_IGN ? NULL : loop_signal_new(l->loop, signum, fn, arg, NULL);
}
