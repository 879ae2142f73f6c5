// SPDX-License-Identifier: MIT
#include "script/kernel/effects/call.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/protocol/message.h"

#include <string.h>

// An event of the ledger about an entry.
static cJSON *ledger_event(const struct entry *entry, const char *phase)
{
    cJSON *event = message_new(MESSAGE_ledger);
    json_set_int(event, "entry", entry->number);
    json_set_str(event, "phase", phase);
    return event;
}

void call_done(struct call *c)
{
    strv_free(c->env);
}

static int record(effects *fx, cJSON *event, err *e)
{
    int result = port_record(fx->spec.port, event, e);
    return result < 0 ? err_wrap(e, "an effect that cannot be journaled is not done") : result;
}

static int record_intent(struct call *c, const struct binding *b, err *e)
{
    const struct entry *entry = c->entry;
    cJSON *event = ledger_event(entry, "intent");
    json_set_str(event, "cell", c->turn->cell);
    json_set_str(event, "source", entry->source);
    json_set_int(event, "ordinal", entry->ordinal);
    json_set_str(event, "binding", b->name);
    json_set_str(event, "effect", effect_name(b->effect));
    json_set_str(event, "arguments", entry->arguments);
    json_set_str(event, "what", entry->what);
    json_set_bool(event, "undo", b->undo != NULL);
    return record(c->effects, event, e);
}

// What is journaled is masked, and an entry remembers whether that changed it.
static int record_outcome(struct call *c, const char *phase, const cJSON *result, err *e)
{
    struct entry *entry = c->entry;
    cJSON *copy = result ? cJSON_Duplicate(result, true) : cJSON_CreateNull();
    cJSON *whole = cJSON_Duplicate(copy, true);
    bool masked = mask_json(port_mask(c->effects->spec.port), copy);
    entry_set_result(c->effects->ledger, entry, whole, masked);
    cJSON *event = ledger_event(entry, phase);
    json_set(event, "result", copy);
    if (masked)
        json_set_bool(event, "masked", true);
    return record(c->effects, event, e);
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
    entry_set_failed(c->effects->ledger, c->entry);
    cJSON *event = ledger_event(c->entry, "failed");
    json_set_str(event, "message", why->text);
    port_emit(c->effects->spec.port, event);
}

static void arguments_hash(
    const effects *fx, const char *binding, const cJSON *args, char hex[SHA256_HEX])
{
    AUTO_BUF text = {0};
    buf_fmt(&text, "%s %s ", fx->salt, binding);
    json_print_canonical(&text, args);
    sha256_hex(text.data, text.len, hex);
}

struct about call_about(struct call *c, const struct binding *b, const cJSON *args)
{
    struct about about = {0};
    if (b->describe)
        b->describe(c, args, &about);
    if (!about.what)
        about.what = mem_strdup(b->name);
    return about;
}

void about_done(struct about *about)
{
    free(about->what);
    free(about->object);
    free(about->context);
    free(about->namespace_);
}

// Whose turn asks, for a callback of the gate.
struct asker {
    effects *effects;
    turn *turn;
};

static int ask_gate(void *arg, const struct question *question, err *e)
{
    static const char *const choices[] = {"yes", "always", "no", NULL};
    const struct asker *asker = arg;
    struct question q = *question;
    q.choices = choices;
    q.cell = asker->turn->cell;
    AUTO_FREE char *answer = asks_person(asker->effects->spec.asks, asker->turn->waits, &q, e);
    if (!answer)
        return -1;
    return str_eq(answer, "always") ? 2 : str_eq(answer, "yes");
}

static int pass_gate(effects *fx, turn *t, effect which, const struct about *about, err *e)
{
    bool elsewhere = which == EFFECT_CLUSTER || which == EFFECT_DESTRUCTIVE; // else never asked for
    AUTO_JSON *details = elsewhere ? place_effect(fx->place, which, about) : NULL;
    AUTO_FREE char *where = elsewhere ? place_text(details) : NULL;
    struct gate_request request = {.turn = t,
        .effect = which,
        .what = about->what,
        .scope = where,
        .says_where = about->context != NULL,
        .details = details,
        .ask = ask_gate,
        .arg = &(struct asker){fx, t}};
    return gate_pass(fx->gate, &request, e);
}

int call_local_gate(effects *fx, turn *t, const char *what, err *e)
{
    return pass_gate(fx, t, EFFECT_LOCAL, &(struct about){.what = (char *)what}, e);
}

int call_undo(effects *fx, turn *t, struct entry *entry, err *e)
{
    struct call c = {.effects = fx, .turn = t, .entry = entry};
    const struct binding *b = effects_binding(fx, entry->binding);
    const cJSON *recorded = entry_recorded(entry);
    int result = 0;
    if (recorded)
        result = b->undo(&c, recorded, e);
    call_done(&c);
    if (result < 0)
        return err_wrap(e, "cannot remove what is left of \"%s\"", entry->what);
    entry_set_undone(fx->ledger, entry);
    return record(fx, ledger_event(entry, "undone"), e);
}

struct cleanup {
    struct asker asker;
    err *e;
};

static int remove_stale(void *arg, struct entry *entry)
{
    struct cleanup *cleanup = arg;
    effects *fx = cleanup->asker.effects;
    AUTO_FREE char *what = str_fmt("remove what the run made before (%s)", entry->what);
    struct gate_request request = {.effect = EFFECT_DESTRUCTIVE,
        .what = what,
        .scope = "what this run made",
        .ask = ask_gate,
        .arg = &cleanup->asker};
    if (gate_pass(fx->gate, &request, cleanup->e) < 0)
        return -1;
    return call_undo(fx, cleanup->asker.turn, entry, cleanup->e);
}

// From here on effects are done; first goes what is left of those that were not verified.
static int end_resuming(effects *fx, turn *t, err *e)
{
    fx->resuming = false;
    return ledger_each_stale(fx->ledger, remove_stale, &(struct cleanup){{fx, t}, e});
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
    c->turn->verified++;
    return record_outcome(c, "verified", *result, e) < 0 ? -1 : 1;
}

static int resume_or_go_on(struct call *c, const struct binding *b, const cJSON *args,
    const char *hash, cJSON **result, err *e)
{
    turn *t = c->turn;
    struct entry *known = ledger_find(c->effects->ledger, t->source, t->effects, b->name, hash);
    int verified = known ? verify_known(c, b, args, known, result, e) : 0;
    c->entry = NULL;
    if (verified != 0)
        return verified;
    return end_resuming(c->effects, t, e);
}

static int do_effect(struct call *c, const struct binding *b, const cJSON *args, const char *what,
    cJSON **result, err *e)
{
    effects *fx = c->effects;
    turn *t = c->turn;
    char hash[SHA256_HEX];
    arguments_hash(fx, b->name, args, hash);
    t->effects++;
    if (fx->resuming && !t->is_action) { // an action is nothing that a resumed run repeats
        int done = resume_or_go_on(c, b, args, hash, result, e);
        if (done != 0)
            return done < 0 ? -1 : 0;
    }
    c->entry = ledger_add(
        fx->ledger, t->source, t->is_action ? 0 : t->effects, b->name, hash, what, b->undo != NULL);
    if (record_intent(c, b, e) < 0)
        return -1;
    if (b->start(c, args, result, e) < 0) {
        record_failure(c, e);
        return -1;
    }
    return record_outcome(c, "outcome", *result, e);
}

// Nothing of this call waits for the cluster now. What place_lost cancelled may wait for other
// things again, unless the turn has to end.
static void leave_cluster(struct call *c)
{
    turn *t = c->turn;
    if (t->is_action || !place_left(c->effects->place))
        return;
    canceller_reset(t->waits);
    if (turn_stopped(t) != FAILURE_NONE)
        canceller_cancel(t->waits);
}

static int perform(struct call *c, const struct binding *b, const cJSON *args, const char *what,
    cJSON **result, err *e)
{
    err why = {0};
    *result = NULL;
    int done = b->effect == EFFECT_PURE ? b->start(c, args, result, &why)
                                        : do_effect(c, b, args, what, result, &why);
    leave_cluster(c);
    if (c->asked_server && (why.code == ERR_CANCELLED || why.code == ERR_UNAVAILABLE))
        place_why_lost(c->effects->place, &why); // that is why
    if (c->asked_server && (done == 0 || why.code == ERR_UNAVAILABLE))
        place_heard(c->effects->place, done == 0 ? NULL : &why, clock_wall());
    if (done == 0)
        return 0;
    cJSON_Delete(STEAL(*result));
    return err_set(e, why.code, "%s", why.text);
}

int call_binding(effects *fx, turn *t, const char *name, const cJSON *args, cJSON **result, err *e)
{
    const struct binding *b = effects_binding(fx, name);
    *result = NULL;
    if (!b)
        return err_set(e, ERR_USAGE, "there is no binding \"%s\"", name);
    struct call c = {.effects = fx, .turn = t};
    struct about about = call_about(&c, b, args);
    leave_cluster(&c); // a question may take long, and is no wait for it
    int done = c.cluster_lost ? -1 : pass_gate(fx, t, b->effect, &about, e);
    if (c.cluster_lost) // nobody is asked about what cannot be done
        place_why_lost(fx->place, e);
    if (done == 0)
        done = perform(&c, b, args, about.what, result, e);
    about_done(&about);
    call_done(&c);
    return done;
}

int call_action(struct call *c, const struct binding *b, const cJSON *args, const char *what,
    cJSON **result, err *e)
{
    return perform(c, b, args, what, result, e);
}

void call_ledger_partial(call *c, const cJSON *made)
{
    struct entry *entry = c->entry;
    if (!entry)
        return;
    entry_set_made(
        c->effects->ledger, entry, cJSON_IsNull(made) ? NULL : cJSON_Duplicate(made, true));
    cJSON *event = ledger_event(entry, "partial"), *copy = cJSON_Duplicate(made, true);
    mask_json(port_mask(c->effects->spec.port), copy);
    json_set(event, "made", copy);
    port_record(c->effects->spec.port, event, NULL);
}

static void settle_gone(void *arg, struct entry *entry)
{
    const effects *fx = arg;
    port_emit(fx->spec.port, ledger_event(entry, "undone"));
}

void call_ledger_gone(call *c, const char *uid)
{
    ledger_gone(c->effects->ledger, uid, settle_gone, c->effects);
}
