// SPDX-License-Identifier: MIT
// The services that bindings have of a call.
#include "base/clock.h"
#include "base/env.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/effects/call.h"
#include "script/kernel/effects/place.h"
#include "script/kernel/port/display.h"

#include <string.h>

struct shared_object {
    char *key;
    void *object;
    void (*drop)(void *object);
    struct shared_object *next;
};

loop *call_loop(call *c)
{
    return c->kernel->loop;
}

canceller *call_canceller(call *c)
{
    return c->waits;
}

int64_t call_deadline(call *c)
{
    return c->deadline;
}

bool call_is_action(call *c)
{
    return c->is_action;
}

const char *call_cwd(call *c)
{
    return c->kernel->options->cwd;
}

const char *call_cell(call *c)
{
    return c->cell;
}

const char *call_run(call *c)
{
    return c->kernel->run;
}

const struct call_paths *call_paths(call *c)
{
    return &c->kernel->paths;
}

const struct call_cluster *call_cluster(call *c)
{
    return &c->kernel->cluster;
}

char **call_child_env(kernel *k, const execution *x)
{
    char **env = strv_dup((const char *const *)k->env);
    unsigned elsewhere = 1u << EFFECT_CLUSTER | 1u << EFFECT_DESTRUCTIVE;
    if (!x || !(x->declared & elsewhere))
        return env_set(env, "KUBECONFIG", k->refusing_kubeconfig);
    return k->cluster.kubeconfig ? env_set(env, "KUBECONFIG", k->cluster.kubeconfig) : env;
}

// An action may run while the Lua thread has the environment: it gets the one of the start.
const char *const *call_env(call *c)
{
    if (c->is_action)
        return c->kernel->options->env;
    if (!c->env)
        c->env = call_child_env(c->kernel, c->execution);
    return (const char *const *)c->env;
}

static struct shared_object *find_shared(const kernel *k, const char *key)
{
    struct shared_object *s = k->shared;
    while (s && !str_eq(s->key, key))
        s = s->next;
    return s;
}

// The lock is held while one is made, which may need another: it is recursive.
void *call_shared(
    call *c, const char *key, void *(*make)(call *c, err *e), void (*drop)(void *), err *e)
{
    kernel *k = c->kernel;
    pthread_mutex_lock(&k->shared_lock);
    struct shared_object *s = find_shared(k, key);
    void *object = s ? s->object : make(c, e);
    if (!s && object) {
        s = mem_alloc(sizeof *s);
        *s = (struct shared_object){mem_strdup(key), object, drop, k->shared};
        k->shared = s;
    }
    pthread_mutex_unlock(&k->shared_lock);
    return object;
}

void call_drop_shared(kernel *k)
{
    while (k->shared) {
        struct shared_object *s = k->shared;
        k->shared = s->next;
        s->drop(s->object);
        free(s->key);
        free(s);
    }
}

void call_secret(call *c, const char *secret)
{
    mask_add(c->kernel->mask, secret, strlen(secret));
}

void call_output(call *c, const char *name, const char *bytes, size_t n)
{
    outbox_text(c->kernel->outbox, call_cell(c), name, bytes, n);
}

display *call_display(call *c, cJSON *data, bool live)
{
    return display_new_held(c->kernel, call_cell(c), data, live);
}

display *call_log(call *c, const char *title, err *e)
{
    return display_new_log(c->kernel, call_cell(c), title, e);
}

void call_asks_server(call *c, bool does)
{
    c->asked_server = does;
}

void call_server_away(call *c, const err *reason)
{
    place_heard(c->kernel->place, reason, 0);
}
