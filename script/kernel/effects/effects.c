// SPDX-License-Identifier: MIT
#include "script/kernel/effects/effects.h"

#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/owner.h"
#include "base/str.h"
#include "script/kernel/effects/call.h"
#include "script/kernel/effects/glances.h"

#include <fnmatch.h>
#include <stdio.h>

// Recursive, because making one shared object may need another one.
static void init_recursive(pthread_mutex_t *m)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(m, &kind);
    pthread_mutexattr_destroy(&kind);
}

// Takes env.
static void surround(
    effects *fx, char **env, const struct call_cluster *cluster, const char *kubeconfig)
{
    struct surroundings *now = mem_alloc(sizeof *now);
    *now = (struct surroundings){.cluster = *cluster,
        .env = env,
        .kubeconfig = mem_strdup(kubeconfig),
        .before = atomic_load(&fx->around)};
    now->cluster.kubeconfig = now->kubeconfig;
    atomic_store(&fx->around, now);
}

static void free_surroundings(effects *fx)
{
    for (struct surroundings *s = atomic_load(&fx->around), *before; s; s = before) {
        before = s->before;
        strv_free(s->env);
        free(s->kubeconfig);
        free(s);
    }
}

effects *effects_new(const struct effects_spec *spec, err *e)
{
    gate *g = gate_new(spec->allow, spec->headless, e);
    if (!g)
        return NULL;
    gate_restrict(g, spec->read_only, spec->allow_protected);
    effects *fx = mem_alloc(sizeof *fx);
    fx->spec = *spec;
    fx->gate = g;
    atomic_init(&fx->in_sandbox, spec->sandbox);
    fx->env = strv_dup(spec->env);
    surround(fx, strv_dup(spec->env), &spec->cluster, spec->cluster.kubeconfig);
    fx->ledger = ledger_new();
    fx->place = place_new(fx);
    fx->glances = glances_new(fx);
    init_recursive(&fx->shared_lock);
    pthread_mutex_init(&fx->env_lock, NULL);
    pthread_mutex_init(&fx->temps_lock, NULL);
    pthread_mutex_init(&fx->sweep, NULL);
    pthread_mutex_init(&fx->halting, NULL);
    return fx;
}

void effects_free(effects *fx)
{
    glances_free(fx->glances);
    gate_free(fx->gate);
    ledger_free(fx->ledger);
    place_free(fx->place);
    pthread_mutex_destroy(&fx->shared_lock);
    pthread_mutex_destroy(&fx->env_lock);
    pthread_mutex_destroy(&fx->temps_lock);
    while (fx->temp_n > 0)
        owner_temp_remove(&fx->temps[--fx->temp_n]);
    free(fx->temps);
    pthread_mutex_destroy(&fx->sweep);
    pthread_mutex_destroy(&fx->halting);
    strv_free(fx->env);
    cJSON_Delete(fx->past_children);
    free(fx->run);
    free(fx->notebook);
    free(fx->commit);
    free(atomic_load(&fx->reached));
    free(fx->refusing_kubeconfig);
    free_surroundings(fx);
    free(fx);
}

static bool is_undoable(void *arg, const char *binding)
{
    const struct binding *b = effects_binding(arg, binding);
    return b && b->undo;
}

void effects_load_past(effects *fx, const fold *past, const cJSON *parameters)
{
    AUTO_JSON *before = fold_params(past);
    if (parameters && json_equal(before, parameters))
        fx->past_children = fold_past_children(past);
    ledger_load(fx->ledger, past, is_undoable, fx);
    snprintf(fx->salt, sizeof fx->salt, "%s", json_str_or(fold_first(past), "salt", ""));
    // A private sandbox takes all its objects with it.
    if (json_bool_or(fold_first(past), "sandbox", false))
        ledger_forget_left(fx->ledger);
}

char *effects_guarded(call *c, const char *context)
{
    const effects *fx = c->effects;
    AUTO_JSON *where = !context && fx->spec.where ? fx->spec.where(c) : NULL;
    const char *name = context ? context : json_str(where, "context");
    if (!name || effects_in_sandbox(fx))
        return NULL;
    for (const char *const *p = fx->spec.protect; p && *p; p++)
        if (fnmatch(*p, name, 0) == 0)
            return mem_strdup(name);
    return fx->spec.guarded && fx->spec.guarded(c, name) ? mem_strdup(name) : NULL;
}

bool effects_await_sandbox(const effects *fx)
{
    return fx->spec.sandbox && !fx->has_sandbox;
}

void effects_use_sandbox(effects *fx, const char *kubeconfig)
{
    const struct surroundings *now = atomic_load(&fx->around);
    struct call_cluster cluster = now->cluster;
    cluster.context = NULL;
    if (!fx->spec.sandbox) // what was said belongs to the cluster before
        cluster.namespace_ = cluster.registry = NULL;
    surround(fx, strv_dup((const char *const *)now->env), &cluster, kubeconfig);
    fx->has_sandbox = true;
    atomic_store(&fx->in_sandbox, true);
    atomic_store(&fx->cluster_recorded, false);
    place_moved(fx->place);
}

bool effects_in_sandbox(const effects *fx)
{
    return atomic_load(&fx->in_sandbox);
}

void effects_note_reached(effects *fx, const char *what, const char *where)
{
    if (effects_reached(fx) || effects_in_sandbox(fx))
        return;
    char *none = NULL, *text = str_fmt("%s in %s", what, where);
    if (!atomic_compare_exchange_strong(&fx->reached, &none, text))
        free(text);
}

const char *effects_reached(const effects *fx)
{
    return atomic_load(&fx->reached);
}

// Variables that a cell has set are not the old terminal's, and stay.
static void give_variable(effects *fx, char ***given, const cJSON *v)
{
    const char *value = cJSON_IsString(v) ? v->valuestring : NULL;
    const char *before = env_get((const char *const *)*given, v->string);
    if (str_eq(before, value))
        return;
    pthread_mutex_lock(&fx->env_lock);
    if (str_eq(env_get((const char *const *)fx->env, v->string), before))
        fx->env = env_set(fx->env, v->string, value);
    pthread_mutex_unlock(&fx->env_lock);
    *given = env_set(*given, v->string, value);
}

bool effects_use_terminal(effects *fx, const cJSON *environment, const char *kubeconfig)
{
    const struct surroundings *before = atomic_load(&fx->around);
    char **env = strv_dup((const char *const *)before->env);
    bool stays = effects_in_sandbox(fx) || fx->spec.kubeconfig_given;
    bool moves = !stays && !str_eq(before->kubeconfig, kubeconfig);
    const cJSON *v;
    cJSON_ArrayForEach(v, environment)
    {
        give_variable(fx, &env, v);
    }
    surround(fx, env, &before->cluster, moves ? kubeconfig : before->kubeconfig);
    if (moves)
        place_find(fx->place);
    return moves;
}

const struct binding *effects_binding(const effects *fx, const char *name)
{
    for (const struct binding *const *table = fx->spec.bindings; *table; table++)
        for (const struct binding *b = *table; b->name; b++)
            if (str_eq(b->name, name))
                return b;
    return NULL;
}
