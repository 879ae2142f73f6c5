// SPDX-License-Identifier: MIT
#include "script/kernel/effects/effects.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/effects/call.h"
#include "script/kernel/effects/glances.h"

#include <fnmatch.h>
#include <stdio.h>

// While one shared object is made, with the lock held, another one may be needed.
static void init_recursive(pthread_mutex_t *m)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(m, &kind);
    pthread_mutexattr_destroy(&kind);
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
    fx->env = strv_dup(spec->env);
    fx->ledger = ledger_new();
    fx->place = place_new(fx);
    fx->glances = glances_new(fx);
    init_recursive(&fx->shared_lock);
    pthread_mutex_init(&fx->env_lock, NULL);
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
    pthread_mutex_destroy(&fx->sweep);
    pthread_mutex_destroy(&fx->halting);
    strv_free(fx->env);
    cJSON_Delete(fx->past_children);
    free(fx->run);
    free(fx->notebook);
    free(fx->commit);
    free(fx->refusing_kubeconfig);
    free(fx->sandbox_kubeconfig);
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
    // Everything in a private sandbox was lost with it.
    if (json_bool_or(fold_first(past), "sandbox", false))
        ledger_forget_left(fx->ledger);
}

char *effects_guarded(call *c, const char *context)
{
    const effects *fx = c->effects;
    AUTO_JSON *where = !context && fx->spec.where ? fx->spec.where(c) : NULL;
    const char *name = context ? context : json_str(where, "context");
    if (!name || fx->spec.sandbox)
        return NULL;
    for (const char *const *p = fx->spec.protect; p && *p; p++)
        if (fnmatch(*p, name, 0) == 0)
            return mem_strdup(name);
    return fx->spec.guarded && fx->spec.guarded(c, name) ? mem_strdup(name) : NULL;
}

bool effects_await_sandbox(const effects *fx)
{
    return fx->spec.sandbox && !fx->sandbox_kubeconfig;
}

void effects_use_sandbox(effects *fx, const char *kubeconfig)
{
    fx->sandbox_kubeconfig = mem_strdup(kubeconfig);
    fx->spec.cluster.kubeconfig = fx->sandbox_kubeconfig;
    fx->spec.cluster.context = NULL;
    place_find(fx->place);
}

const struct binding *effects_binding(const effects *fx, const char *name)
{
    for (const struct binding *const *table = fx->spec.bindings; *table; table++)
        for (const struct binding *b = *table; b->name; b++)
            if (str_eq(b->name, name))
                return b;
    return NULL;
}
