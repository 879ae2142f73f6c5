// SPDX-License-Identifier: MIT
// The services that a call offers to bindings.
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/owner.h"
#include "base/str.h"
#include "script/journal/compare/lastgood.h"
#include "script/journal/jupyter.h"
#include "script/journal/plain.h"
#include "script/kernel/effects/call.h"
#include "script/protocol/message.h"

#include <string.h>

struct shared_object {
    char *key;
    void *object;
    void (*drop)(void *object);
    struct shared_object *next;
};

loop *call_loop(call *c)
{
    return c->effects->spec.loop;
}

canceller *call_canceller(call *c)
{
    return c->turn->waits;
}

bool call_goes_on(void *c)
{
    return !canceller_is_cancelled(call_canceller(c));
}

int64_t call_deadline(call *c)
{
    return c->turn->deadline;
}

bool call_is_action(call *c)
{
    return c->turn->is_action;
}

const char *call_cwd(call *c)
{
    return c->effects->spec.cwd;
}

const char *call_run(call *c)
{
    return c->effects->run;
}

const char *call_notebook(call *c)
{
    return c->effects->notebook;
}

const char *call_commit(call *c)
{
    return c->effects->commit;
}

bool call_is_hidden(const char *text)
{
    return strstr(text, MASK_TEXT) != NULL;
}

bool call_is_captured(call *c)
{
    return c->turn->captured;
}

const struct call_paths *call_paths(call *c)
{
    return &c->effects->spec.paths;
}

const struct call_cluster *call_cluster(call *c)
{
    const struct surroundings *now = atomic_load(&c->effects->around);
    return &now->cluster;
}

// Refuses programs in a protected context: nobody could see what they do there.
bool call_may_use_cluster(effects *fx, const turn *t, const char *const *env)
{
    unsigned elsewhere = 1u << EFFECT_CLUSTER | 1u << EFFECT_DESTRUCTIVE;
    if (!(t->declared & elsewhere) || gate_is_read_only(fx->gate))
        return false;
    struct call c = {.effects = fx, .turn = (turn *)t, .env = strv_dup(env)};
    AUTO_FREE char *guarded = effects_guarded(&c, NULL);
    call_done(&c);
    return !guarded || gate_allows_protected(fx->gate, guarded);
}

// The environment, with the KUBECONFIG that fits the cell's declaration.
char **call_child_env(effects *fx, const turn *t)
{
    pthread_mutex_lock(&fx->env_lock);
    char **env = strv_dup((const char *const *)fx->env);
    pthread_mutex_unlock(&fx->env_lock);
    const struct surroundings *now = atomic_load(&fx->around);
    const char *kubeconfig = now->cluster.kubeconfig;
    if (!call_may_use_cluster(fx, t, (const char *const *)env))
        return env_set(env, "KUBECONFIG", fx->refusing_kubeconfig);
    return kubeconfig ? env_set(env, "KUBECONFIG", kubeconfig) : env;
}

char **call_lasting_env(call *c)
{
    return env_set(strv_dup(call_env(c)), "KUBECONFIG", c->effects->refusing_kubeconfig);
}

const char *call_runtime(call *c)
{
    return c->effects->spec.runtime;
}

bool call_is_headless(call *c)
{
    return c->effects->spec.headless;
}

char *call_ask(call *c, const char *question, bool secret, err *e)
{
    struct question q = {.text = question, .cell = c->turn->cell, .secret = secret};
    char *answer = asks_person(c->effects->spec.asks, c->turn->waits, &q, e);
    if (answer && secret)
        call_secret(c, answer);
    return answer;
}

void call_failed(call *c, cJSON *foreign)
{
    cJSON_Delete(c->turn->foreign);
    c->turn->foreign = foreign;
}

void call_used(call *c, cJSON *used)
{
    cJSON_Delete(c->turn->used);
    c->turn->used = used;
}

int call_serve(call *c, const char *hook, cJSON *args, cJSON **result, err *e)
{
    effects *fx = c->effects;
    *result = NULL;
    int done = c->turn->parent || c->turn->is_action || !fx->serve
                   ? err_set(e, ERR_USAGE, "only a cell itself can be called by its program")
                   : fx->serve(fx->serve_arg, hook, args, result, e);
    cJSON_Delete(args);
    return done;
}

// An action may run while the Lua thread uses the environment, so it gets the terminal's.
const char *const *call_env(call *c)
{
    const struct surroundings *now = atomic_load(&c->effects->around);
    if (c->turn->is_action)
        return (const char *const *)now->env;
    if (!c->env)
        c->env = call_child_env(c->effects, c->turn);
    return (const char *const *)c->env;
}

static struct shared_object *find_shared(const effects *fx, const char *key)
{
    struct shared_object *s = fx->shared;
    while (s && !str_eq(s->key, key))
        s = s->next;
    return s;
}

// Holds the lock while it makes an object. Making it may need another object: so the lock is
// recursive.
void *call_shared(
    call *c, const char *key, void *(*make)(call *c, err *e), void (*drop)(void *), err *e)
{
    effects *fx = c->effects;
    pthread_mutex_lock(&fx->shared_lock);
    struct shared_object *s = find_shared(fx, key);
    void *object = s ? s->object : make(c, e);
    if (!s && object) {
        s = mem_alloc(sizeof *s);
        *s = (struct shared_object){mem_strdup(key), object, drop, fx->shared};
        fx->shared = s;
    }
    pthread_mutex_unlock(&fx->shared_lock);
    return object;
}

void effects_drop_shared(effects *fx)
{
    while (fx->shared) {
        struct shared_object *s = fx->shared;
        fx->shared = s->next;
        s->drop(s->object);
        free(s->key);
        free(s);
    }
}

void call_secret(call *c, const char *secret)
{
    mask_add(port_mask(c->effects->spec.port), secret, strlen(secret));
}

static void keep_secret(void *arg, const char *secret)
{
    mask_add(arg, secret, strlen(secret));
}

call_secret_fn *call_secrets(call *c, void **arg)
{
    *arg = port_mask(c->effects->spec.port);
    return keep_secret;
}

bool call_is_secret(call *c, const char *text)
{
    AUTO_BUF masked = {0};
    return mask_text(port_mask(c->effects->spec.port), text, strlen(text), &masked);
}

void call_output(call *c, const char *name, const char *bytes, size_t n)
{
    port_text(c->effects->spec.port, c->turn->cell, c->turn->name, name, bytes, n);
}

display *call_display(call *c, cJSON *data, bool live)
{
    return displays_add_held(
        c->effects->spec.displays, c->turn->client, c->turn->cell, c->turn->name, data, live);
}

void call_work(call *c, struct work *w, const char *what, enum work_unit unit, const char *noun)
{
    work_begin(w, what, unit, noun);
    call_work_shown(c, w);
}

void call_work_shown(call *c, struct work *w)
{
    works_begin(c->effects->spec.works, w, c->turn->cell, c->turn->name);
}

void call_work_end(call *c, struct work *w)
{
    works_end(c->effects->spec.works, w);
}

cJSON *call_bundle(const cJSON *data, const cJSON *metadata)
{
    cJSON *bundle = cJSON_IsObject(data) ? cJSON_Duplicate(data, true) : cJSON_CreateObject();
    AUTO_BUF text = {0};
    if (!json_str(bundle, "text/plain")) {
        plain_stand_in(bundle, &text);
        json_set_str(bundle, "text/plain", buf_cstr(&text));
    }
    if (cJSON_IsObject(metadata) && metadata->child)
        json_set(bundle, JUPYTER_METADATA, cJSON_Duplicate(metadata, true));
    return bundle;
}

void call_clear(call *c)
{
    cJSON *event = message_new(MESSAGE_cleared);
    displays_end_of(c->effects->spec.displays, c->turn->cell);
    json_set_str(event, "cell", c->turn->cell);
    port_emit(c->effects->spec.port, event);
}

void call_result(call *c, cJSON *data)
{
    displays_add_result(c->effects->spec.displays, c->turn->cell, c->turn->name, data);
}

display *call_log(call *c, const char *title, bool folded, err *e)
{
    return displays_add_log(
        c->effects->spec.displays, c->turn->client, c->turn->cell, c->turn->name, title, folded, e);
}

int call_reach_cluster(call *c, err *e)
{
    c->cluster_lost = place_reach(c->effects->place, c->turn, e) < 0;
    return c->cluster_lost ? -1 : 0;
}

void call_asks_server(call *c, bool does)
{
    c->asked_server = does;
}

void call_server_away(call *c, const err *reason)
{
    place_heard(c->effects->place, reason, 0);
}

static void record(effects *fx, const char *of, const char *branch, const char *kind,
    const char *name, cJSON *value)
{
    cJSON *event = message_new(MESSAGE_recorded);
    json_set_str(event, "cell", of);
    json_set_str(event, "branch", branch);
    json_set_str(event, "kind", kind);
    json_set_str(event, "name", name);
    json_set(event, "value", value);
    port_emit(fx->spec.port, event);
}

void call_recorded(call *c, const char *kind, const char *name, cJSON *value)
{
    record(c->effects, c->turn->cell, c->turn->name, kind, name, value);
}

static void record_of_run(void *arg, const char *kind, const char *name, cJSON *value)
{
    effects *fx = arg;
    if (fx->over)
        cJSON_Delete(value);
    else
        record(fx, "", NULL, kind, name, value);
}

call_record_fn *call_recorder(call *c, void **arg)
{
    *arg = c->effects;
    return record_of_run;
}

char *call_last_good(call *c)
{
    const journal *j = port_journal(c->effects->spec.port);
    AUTO_JSON *found = j ? lastgood_find(journal_path(j), c->turn->cell) : NULL;
    return lastgood_say(found);
}

char *call_temp(call *c, const char *name, const char *parent, err *e)
{
    effects *fx = c->effects;
    const char *temp = env_get(call_env(c), "TMPDIR");
    AUTO_FREE char *prefix = str_fmt("firesteel-%s-", name);
    struct owner_temp made;
    parent = parent ? parent : temp && *temp ? temp : "/tmp";
    if (owner_temp_make(&made, fx->spec.runtime, parent, prefix, e) < 0)
        return NULL;
    if (fx->spec.remove_at_end)
        fx->spec.remove_at_end(made.path);
    pthread_mutex_lock(&fx->temps_lock);
    fx->temps = mem_resize(fx->temps, fx->temp_n + 1, sizeof *fx->temps);
    fx->temps[fx->temp_n++] = made;
    char *path = mem_strdup(made.path);
    pthread_mutex_unlock(&fx->temps_lock);
    return path;
}

void call_drop_temp(call *c, const char *path)
{
    effects *fx = c->effects;
    struct owner_temp found = {.owner = -1};
    pthread_mutex_lock(&fx->temps_lock);
    for (size_t i = 0; path && i < fx->temp_n && !found.path; i++)
        if (str_eq(fx->temps[i].path, path)) {
            found = fx->temps[i];
            fx->temps[i] = fx->temps[--fx->temp_n];
        }
    pthread_mutex_unlock(&fx->temps_lock);
    owner_temp_remove(&found);
    if (path && fx->spec.removed)
        fx->spec.removed(path);
}

bool call_knows_cluster(call *c)
{
    return atomic_load(&c->effects->cluster_recorded);
}

void call_learned_cluster(call *c, cJSON *cluster)
{
    cJSON *event = message_new(MESSAGE_learned);
    json_set(event, "cluster", cluster);
    if (atomic_exchange(&c->effects->cluster_recorded, true))
        cJSON_Delete(event);
    else
        port_emit(c->effects->spec.port, event);
}
