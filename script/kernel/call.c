// SPDX-License-Identifier: MIT
#include "script/kernel/call.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/env.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/display.h"
#include "script/protocol/message.h"

#include <string.h>

struct call {
    kernel *kernel;
    execution *execution; // NULL outside of cells (clean)
    struct entry *entry;  // NULL for pure calls
    char **env;           // made on first use
};

struct shared_object {
    char *key;
    void *object;
    void (*drop)(void *object);
    struct shared_object *next;
};

const struct binding *binding_find(const struct kernel_options *o, const char *name)
{
    for (const struct binding *const *table = o->bindings; *table; table++)
        for (const struct binding *b = *table; b->name; b++)
            if (str_eq(b->name, name))
                return b;
    return NULL;
}

// An event of the ledger about an entry.
static cJSON *ledger_event(const struct entry *entry, const char *phase)
{
    cJSON *event = message_new(MESSAGE_ledger);
    json_set_int(event, "entry", entry->number);
    json_set_str(event, "phase", phase);
    return event;
}

static int record(kernel *k, cJSON *event, err *e)
{
    int result = kernel_record(k, event, e);
    return result < 0 ? err_wrap(e, "an effect that cannot be journaled is not done") : result;
}

static int record_intent(struct call *c, const struct binding *b, err *e)
{
    const struct entry *entry = c->entry;
    cJSON *event = ledger_event(entry, "intent");
    json_set_str(event, "cell", c->execution->cell);
    json_set_str(event, "source", entry->source);
    json_set_int(event, "ordinal", entry->ordinal);
    json_set_str(event, "binding", b->name);
    json_set_str(event, "effect", effect_name(b->effect));
    json_set_str(event, "arguments", entry->arguments);
    json_set_str(event, "what", entry->what);
    json_set_bool(event, "undo", b->undo != NULL);
    return record(c->kernel, event, e);
}

// What is journaled is masked, and an entry remembers whether that changed it.
static int record_outcome(struct call *c, const char *phase, const cJSON *result, err *e)
{
    struct entry *entry = c->entry;
    cJSON *copy = result ? cJSON_Duplicate(result, true) : cJSON_CreateNull();
    cJSON_Delete(entry->result);
    entry->result = cJSON_Duplicate(copy, true);
    entry->masked = mask_json(c->kernel->mask, copy);
    cJSON *event = ledger_event(entry, phase);
    json_set(event, "result", copy);
    if (entry->masked)
        json_set_bool(event, "masked", true);
    return record(c->kernel, event, e);
}

// After these nobody knows whether the other side did it: the intent stays open, to be looked up.
static bool is_uncertain(const err *e)
{
    return e->code == ERR_UNAVAILABLE || e->code == ERR_TIMEOUT || e->code == ERR_CANCELLED ||
           e->code == ERR_IO;
}

static void record_failure(struct call *c, const err *why)
{
    if (c->entry->undoable && is_uncertain(why))
        return;
    c->entry->failed = true;
    cJSON *event = ledger_event(c->entry, "failed");
    json_set_str(event, "message", why->text);
    kernel_emit(c->kernel, event);
}

static void arguments_hash(
    const kernel *k, const char *binding, const cJSON *args, char hex[SHA256_HEX])
{
    AUTO_BUF text = {0};
    buf_fmt(&text, "%s %s ", k->salt, binding);
    json_print_canonical(&text, args);
    sha256_hex(text.data, text.len, hex);
}

static char *describe(struct call *c, const struct binding *b, const cJSON *args)
{
    char *what = b->describe ? b->describe(c, args) : NULL;
    return what ? what : mem_strdup(b->name);
}

static int ask_gate(void *arg, const char *question, err *e)
{
    static const char *const choices[] = {"yes", "always", "no", NULL};
    AUTO_FREE char *answer = kernel_ask(arg, question, choices, false, e);
    if (!answer)
        return -1;
    return str_eq(answer, "always") ? 2 : str_eq(answer, "yes");
}

static char *scope(const kernel *k, const cJSON *args)
{
    const char *context = json_str_or(args, "context", k->cluster.context);
    const char *namespace_ = json_str_or(args, "namespace", k->cluster.namespace_);
    return str_fmt("context %s, namespace %s", context ? context : "of the kubeconfig",
        namespace_ ? namespace_ : "default");
}

static int pass_gate(
    kernel *k, const execution *x, effect which, const char *what, const cJSON *args, err *e)
{
    AUTO_FREE char *where = scope(k, args);
    struct gate_request request = {
        .execution = x, .effect = which, .what = what, .scope = where, .ask = ask_gate, .arg = k};
    return gate_pass(k->gate, &request, e);
}

int call_local_gate(kernel *k, execution *x, const char *what, err *e)
{
    return pass_gate(k, x, EFFECT_LOCAL, what, NULL, e);
}

int call_undo(kernel *k, execution *x, struct entry *entry, err *e)
{
    struct call c = {.kernel = k, .execution = x, .entry = entry};
    const struct binding *b = binding_find(k->options, entry->binding);
    const cJSON *recorded = entry_recorded(entry);
    int result = 0;
    if (recorded)
        result = b->undo(&c, recorded, e);
    strv_free(c.env);
    if (result < 0)
        return err_wrap(e, "cannot remove what is left of \"%s\"", entry->what);
    entry->undone = true;
    return record(k, ledger_event(entry, "undone"), e);
}

struct cleanup {
    kernel *kernel;
    execution *execution;
    err *e;
};

static int remove_stale(void *arg, struct entry *entry)
{
    struct cleanup *cleanup = arg;
    AUTO_FREE char *what = str_fmt("remove what the run made before (%s)", entry->what);
    struct gate_request request = {.effect = EFFECT_DESTRUCTIVE,
        .what = what,
        .scope = "what this run made",
        .ask = ask_gate,
        .arg = cleanup->kernel};
    if (gate_pass(cleanup->kernel->gate, &request, cleanup->e) < 0)
        return -1;
    return call_undo(cleanup->kernel, cleanup->execution, entry, cleanup->e);
}

// From here on effects are done; first goes what is left of those that were not verified.
static int end_resuming(kernel *k, execution *x, err *e)
{
    k->resuming = false;
    return ledger_each_stale(k->ledger, remove_stale, &(struct cleanup){k, x, e});
}

// 1 when the call was found and verified (*result to hand out), 0 when it must be done, -1 on an
// error.
static int verify_known(struct call *c, const struct binding *b, const cJSON *args,
    struct entry *known, cJSON **result, err *e)
{
    if (!b->verify || known->failed)
        return 0;
    c->entry = known;
    cJSON *fresh = NULL;
    const cJSON *recorded = known->result ? known->result : NULL;
    int verified = b->verify(c, args, recorded, &fresh, e);
    if (verified < 0)
        return err_wrap(e, "cannot tell whether \"%s\" still holds", known->what);
    // A recorded result with a secret taken out is no result; it needs the one verify has read
    // anew.
    if (verified == 0 || (!fresh && (!recorded || known->masked))) {
        cJSON_Delete(fresh);
        return 0;
    }
    *result = fresh ? fresh : cJSON_Duplicate(recorded, true);
    known->fresh = true;
    c->execution->verified++;
    return record_outcome(c, "verified", *result, e) < 0 ? -1 : 1;
}

static int resume_or_go_on(struct call *c, const struct binding *b, const cJSON *args,
    const char *hash, cJSON **result, err *e)
{
    execution *x = c->execution;
    struct entry *known = ledger_find(c->kernel->ledger, x->hash, x->effects, b->name, hash);
    int verified = known ? verify_known(c, b, args, known, result, e) : 0;
    c->entry = NULL;
    if (verified != 0)
        return verified;
    return end_resuming(c->kernel, x, e);
}

static int do_effect(struct call *c, const struct binding *b, const cJSON *args, const char *what,
    cJSON **result, err *e)
{
    kernel *k = c->kernel;
    execution *x = c->execution;
    char hash[SHA256_HEX];
    arguments_hash(k, b->name, args, hash);
    x->effects++;
    if (k->resuming) {
        int done = resume_or_go_on(c, b, args, hash, result, e);
        if (done != 0)
            return done < 0 ? -1 : 0;
    }
    c->entry = ledger_add(k->ledger, x->hash, x->effects, b->name, hash, what);
    c->entry->fresh = true;
    c->entry->undoable = b->undo != NULL;
    if (record_intent(c, b, e) < 0)
        return -1;
    if (b->start(c, args, result, e) < 0) {
        record_failure(c, e);
        return -1;
    }
    return record_outcome(c, "outcome", *result, e);
}

int call_binding(
    kernel *k, execution *x, const char *name, const cJSON *args, cJSON **result, err *e)
{
    const struct binding *b = binding_find(k->options, name);
    if (!b)
        return err_set(e, ERR_USAGE, "there is no binding \"%s\"", name);
    struct call c = {.kernel = k, .execution = x};
    AUTO_FREE char *what = describe(&c, b, args);
    int done = pass_gate(k, x, b->effect, what, args, e);
    *result = NULL;
    if (done == 0)
        done = b->effect == EFFECT_PURE ? b->start(&c, args, result, e)
                                        : do_effect(&c, b, args, what, result, e);
    strv_free(c.env);
    if (done < 0) {
        cJSON_Delete(*result);
        *result = NULL;
    }
    return done;
}

loop *call_loop(call *c)
{
    return c->kernel->loop;
}

canceller *call_canceller(call *c)
{
    return c->kernel->waits;
}

int64_t call_deadline(call *c)
{
    const execution *x = c->execution;
    return x && x->timeout_ns ? x->started + x->timeout_ns : 0;
}

const char *call_cwd(call *c)
{
    return c->kernel->options->cwd;
}

const char *call_cell(call *c)
{
    return c->execution ? c->execution->cell : "";
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

const char *const *call_env(call *c)
{
    if (!c->env)
        c->env = call_child_env(c->kernel, c->execution);
    return (const char *const *)c->env;
}

void *call_shared(
    call *c, const char *key, void *(*make)(call *c, err *e), void (*drop)(void *), err *e)
{
    kernel *k = c->kernel;
    for (struct shared_object *s = k->shared; s; s = s->next)
        if (str_eq(s->key, key))
            return s->object;
    void *object = make(c, e);
    if (!object)
        return NULL;
    struct shared_object *s = mem_alloc(sizeof *s);
    *s = (struct shared_object){mem_strdup(key), object, drop, k->shared};
    k->shared = s;
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

void call_ledger_partial(call *c, const cJSON *made)
{
    struct entry *entry = c->entry;
    if (!entry)
        return;
    cJSON_Delete(entry->made);
    entry->made = cJSON_IsNull(made) ? NULL : cJSON_Duplicate(made, true);
    cJSON *event = ledger_event(entry, "partial"), *copy = cJSON_Duplicate(made, true);
    mask_json(c->kernel->mask, copy);
    json_set(event, "made", copy);
    kernel_record(c->kernel, event, NULL);
}

static void settle_gone(void *arg, struct entry *entry)
{
    kernel_emit(arg, ledger_event(entry, "undone"));
}

void call_ledger_gone(call *c, const char *uid)
{
    ledger_gone(c->kernel->ledger, uid, settle_gone, c->kernel);
}

display *call_display(call *c, cJSON *data, bool live)
{
    return display_new_held(c->kernel, call_cell(c), data, live);
}
