// SPDX-License-Identifier: MIT
#include "script/kernel/effects/call.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/effects/glances.h"
#include "script/kernel/effects/said.h"
#include "script/protocol/message.h"

#include <stdio.h>
#include <string.h>

// Makes an event of the ledger about an entry.
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
    return result < 0 ? err_wrap(e, "the result of an effect cannot be journaled") : result;
}

static void set_repeats(cJSON *event, const struct binding *b)
{
    if (b->around)
        json_set_bool(event, "repeats", true);
}

static int record_intent(struct call *c, const struct binding *b, err *e)
{
    const struct entry *entry = c->entry;
    cJSON *event = ledger_event(entry, "intent");
    json_set_str(event, "cell", c->turn->cell);
    json_set_str(event, "source", entry->source);
    json_set_str(event, "branch", c->turn->name);
    json_set_str(event, "branch_key", c->turn->key);
    json_set_int(event, "ordinal", entry->ordinal);
    json_set_str(event, "binding", b->name);
    json_set_str(event, "effect", effect_name(b->effect));
    json_set_str(event, "arguments", entry->arguments);
    json_set_str(event, "what", entry->what);
    json_set_bool(event, "undo", b->undo != NULL);
    json_set_bool(event, "announces", b->announces);
    set_repeats(event, b);
    if (entry->mark != entry->number)
        json_set_int(event, "mark", entry->mark);
    int result = port_record(c->effects->spec.port, event, e);
    return result < 0 ? err_wrap(e, "an effect that cannot be journaled is not done") : result;
}

// A result for the journal: masked before it is cut, so that no half of a secret remains.
static cJSON *journaled(
    const struct call *c, const struct binding *b, const cJSON *result, bool *masked)
{
    cJSON *copy = result ? cJSON_Duplicate(result, true) : cJSON_CreateNull();
    *masked = mask_json(port_mask(c->effects->spec.port), copy);
    said_shorten(copy, b->said);
    return copy;
}

// The entry remembers whether masking changed the journaled text.
static int record_outcome(
    struct call *c, const struct binding *b, const char *phase, const cJSON *result, err *e)
{
    struct entry *entry = c->entry;
    bool masked;
    cJSON *copy = journaled(c, b, result, &masked);
    cJSON *kept = cJSON_Duplicate(masked ? result : copy, true);
    said_shorten(kept, b->said);
    entry_set_result(c->effects->ledger, entry, kept, masked);
    cJSON *event = ledger_event(entry, phase);
    json_set(event, "result", copy);
    if (!result)
        set_repeats(event, b);
    if (masked)
        json_set_bool(event, "masked", true);
    if (entry->tidied)
        json_set_bool(event, "undo", false);
    return record(c->effects, event, e);
}

// Is it unknown whether the other side did it? Then the intent stays open, so that a resumed run
// checks.
static bool is_uncertain(const err *e)
{
    return e->code == ERR_UNAVAILABLE || e->code == ERR_TIMEOUT || e->code == ERR_CANCELLED ||
           e->code == ERR_IO;
}

// What was announced and not taken back may exist, whatever the error is.
static bool is_open(const struct call *c, const struct binding *b, const err *why)
{
    return c->entry->midway || (b->verify && !b->announces && is_uncertain(why));
}

static void record_failure(struct call *c, const struct binding *b, const err *why)
{
    bool open = is_open(c, b, why);
    if (!open)
        entry_set_failed(c->effects->ledger, c->entry);
    cJSON *event = ledger_event(c->entry, open ? "unknown" : "failed");
    json_set_str(event, "message", why->text);
    port_emit(c->effects->spec.port, event);
}

// The digest that the journal keeps instead of a value. The salt makes it differ between runs.
static void salted_hash(
    const effects *fx, const char *what, const cJSON *value, char hex[SHA256_HEX])
{
    AUTO_BUF text = {0};
    buf_fmt(&text, "%s %s ", fx->salt, what);
    json_print_canonical(&text, value);
    sha256_hex(text.data, text.len, hex);
}

void call_digest(call *c, const cJSON *value, char hex[SHA256_HEX])
{
    salted_hash(c->effects, "value", value, hex);
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

// The turn that asks, for the gate's callback.
struct asker {
    effects *effects;
    turn *turn;
};

static int ask_gate(void *arg, const struct question *question, err *e)
{
    static const char *const choices[] = {"yes", "always", "no", NULL};
    static const char *const each_time[] = {"yes", "no", NULL};
    const struct asker *asker = arg;
    struct question q = *question;
    q.choices = json_bool_or(q.effect, "protected", false) ? each_time : choices;
    q.cell = asker->turn->cell;
    AUTO_FREE char *answer = asks_person(asker->effects->spec.asks, asker->turn->waits, &q, e);
    if (!answer)
        return -1;
    return str_eq(answer, "always") ? 2 : str_eq(answer, "yes");
}

static int pass_gate(effects *fx, turn *t, effect which, const struct about *about, err *e)
{
    // the other effects are never asked for
    bool elsewhere = which == EFFECT_CLUSTER || which == EFFECT_DESTRUCTIVE;
    AUTO_JSON *details = elsewhere ? place_effect(fx->place, which, about) : NULL;
    AUTO_FREE char *where = elsewhere ? place_text(details) : NULL;
    struct call c = {.effects = fx, .turn = t};
    AUTO_FREE char *guarded = elsewhere ? effects_guarded(&c, about->context) : NULL;
    call_done(&c);
    if (guarded)
        json_set_bool(details, "protected", true);
    struct gate_request request = {.turn = t,
        .effect = which,
        .what = about->what,
        .scope = where,
        .says_where = about->context != NULL,
        .guarded = guarded,
        .details = details,
        .ask = ask_gate,
        .arg = &(struct asker){fx, t}};
    int passed = gate_pass(fx->gate, &request, e);
    if (passed == 0 && elsewhere)
        effects_note_reached(fx, about->what, where);
    return passed;
}

static bool has_cluster(call *c, bool may_ask)
{
    const unsigned elsewhere = 1u << EFFECT_CLUSTER | 1u << EFFECT_DESTRUCTIVE;
    effects *fx = c->effects;
    if (c->turn->declared & elsewhere)
        return call_may_use_cluster(fx, c->turn, call_env(c));
    if (!c->turn->from_elsewhere || !(fx->spec.headless || may_ask))
        return false;
    struct about about = {
        .what =
            (char *)"let programs of this notebook, which declares no effects, use the cluster"};
    return pass_gate(fx, c->turn, EFFECT_CLUSTER, &about, &(err){0}) == 0;
}

void call_note_programs(call *c)
{
    effects *fx = c->effects;
    if (!call_may_use_cluster(fx, c->turn, call_env(c)))
        return;
    AUTO_JSON *details = place_effect(fx->place, EFFECT_CLUSTER, &(struct about){0});
    AUTO_FREE char *where = place_text(details);
    effects_note_reached(fx, "programs of a cell with effects=\"cluster\"", where);
}

bool call_has_cluster(call *c, bool may_ask)
{
    bool granted = has_cluster(c, may_ask);
    if (granted)
        call_note_programs(c);
    return granted;
}

int call_local_gate(effects *fx, turn *t, const char *what, err *e)
{
    return pass_gate(fx, t, EFFECT_LOCAL, &(struct about){.what = (char *)what}, e);
}

void remains_done(struct remains *r)
{
    cJSON_Delete(r->found);
    free(r->text);
    *r = (struct remains){0};
}

// Nothing was announced. Then no request was sent, if the binding announces its requests.
static int find_unannounced(const struct entry *entry, struct remains *out, err *e)
{
    if (!entry->announces)
        return err_set(e, ERR_FAILED,
            "the journal does not tell what it was about to make: look for it by the label "
            "firesteel/run");
    out->text = mem_strdup("no request was sent");
    return 0;
}

int call_find(effects *fx, turn *t, const struct entry *entry, struct remains *out, err *e)
{
    const struct binding *b = effects_binding(fx, entry->binding);
    struct call c = {.effects = fx, .turn = t, .entry = (struct entry *)entry};
    const cJSON *recorded = entry_recorded(entry);
    *out = (struct remains){0};
    int result = recorded ? b->find(&c, recorded, out, e) : find_unannounced(entry, out, e);
    call_done(&c);
    if (result < 0)
        return err_wrap(e, "cannot tell what is left of \"%s\"", entry->what);
    return 0;
}

static int settle(effects *fx, struct entry *entry, const char *text, err *e)
{
    entry_set_undone(fx->ledger, entry);
    cJSON *event = ledger_event(entry, "undone");
    json_set_str(event, "message", text);
    return record(fx, event, e);
}

int call_remove(effects *fx, turn *t, struct entry *entry, const struct remains *remains, err *e)
{
    if (!remains->found)
        return settle(fx, entry, remains->text, e);
    cJSON *event = ledger_event(entry, "removing");
    json_set_str(event, "message", remains->text);
    if (record(fx, event, e) < 0)
        return -1;
    struct call c = {.effects = fx, .turn = t, .entry = entry};
    int result = effects_binding(fx, entry->binding)->undo(&c, remains->found, e);
    call_done(&c);
    if (result < 0)
        return err_wrap(e, "cannot remove what is left of \"%s\"", entry->what);
    return settle(fx, entry, remains->text, e);
}

struct cleanup {
    struct asker asker;
    const char *below; // limits it to the turn with this key and its branches
    const char *anew;  // limits it to this cell's; NULL: all cells
    err *e;
};

static int pass_removal(struct cleanup *cleanup, const struct entry *entry, const char *found)
{
    AUTO_FREE char *what = str_fmt("remove what the run made before: %s (%s)", found, entry->what);
    struct gate_request request = {.effect = EFFECT_DESTRUCTIVE,
        .what = what,
        .scope = "what this run made",
        .ask = ask_gate,
        .arg = &cleanup->asker};
    return gate_pass(cleanup->asker.effects->gate, &request, cleanup->e);
}

// Leaves out what a branch may still verify.
static int remove_stale(void *arg, struct entry *entry)
{
    struct cleanup *cleanup = arg;
    effects *fx = cleanup->asker.effects;
    turn *t = cleanup->asker.turn;
    if (!turn_key_is_below(entry->branch, cleanup->below))
        return 0;
    if (cleanup->anew ? !str_eq(entry->cell, cleanup->anew) : turn_is_verifying(t, entry->branch))
        return 0;
    CLEANUP(remains_done) struct remains remains = {0};
    if (call_find(fx, t, entry, &remains, cleanup->e) < 0 ||
        (remains.found && pass_removal(cleanup, entry, remains.text) < 0))
        return -1;
    return call_remove(fx, t, entry, &remains, cleanup->e);
}

static atomic_int *resume_of(effects *fx, turn *t)
{
    return t->parent ? &t->resume : &fx->resume;
}

void call_branch(effects *fx, turn *t)
{
    atomic_store(&t->resume, atomic_load(resume_of(fx, t->parent)));
}

void call_joined(effects *fx, turn *parent, enum resume branch)
{
    int on = RESUME_ON;
    if (branch != RESUME_ON)
        atomic_compare_exchange_strong(resume_of(fx, parent), &on, RESUME_ENDS);
}

bool call_resumes(effects *fx, turn *t)
{
    return atomic_load(resume_of(fx, t)) == RESUME_ON;
}

// From now on, effects of this turn are done, not verified. First removes what is left of those
// that were not verified.
static int end_resuming(effects *fx, turn *t, err *e)
{
    atomic_store(resume_of(fx, t), RESUME_OFF);
    pthread_mutex_lock(&fx->sweep);
    struct cleanup own = {{fx, t}, turn_key(t), NULL, e};
    int done = ledger_each_stale(fx->ledger, remove_stale, &own);
    pthread_mutex_unlock(&fx->sweep);
    return done;
}

// A cell that runs anew: before its first effect, in whichever branch, removes what only this cell
// had made.
static int begin_anew(effects *fx, turn *t, err *e)
{
    turn *root = t->root;
    pthread_mutex_lock(&fx->sweep);
    struct cleanup own = {{fx, t}, turn_key(root), root->cell, e};
    int done = root->swept ? 0 : ledger_each_stale(fx->ledger, remove_stale, &own);
    root->swept = done == 0;
    pthread_mutex_unlock(&fx->sweep);
    return done;
}

static bool is_elsewhere(effect which)
{
    return which == EFFECT_CLUSTER || which == EFFECT_DESTRUCTIVE;
}

static bool is_entry_elsewhere(void *arg, const struct entry *entry)
{
    const struct binding *b = effects_binding(arg, entry->binding);
    return b && is_elsewhere(b->effect);
}

// Does the cell declare, or do its effects so far show, that it reaches beyond this machine?
static bool reaches_elsewhere(const struct call *c)
{
    const unsigned elsewhere = 1u << EFFECT_CLUSTER | 1u << EFFECT_DESTRUCTIVE;
    return (c->turn->declared & elsewhere) ||
           ledger_any(c->effects->ledger, c->turn->source, is_entry_elsewhere, c->effects);
}

static int refuse_repeat(
    const struct call *c, const struct binding *b, const struct entry *known, err *e)
{
    return err_set(e, ERR_REFUSED,
        "cannot tell whether \"%s\" was done: %s, so it is not done again by itself; when doing it "
        "again is right, add --redo \"%s\"",
        known->what,
        b->around ? "its programs have used the cluster, and nothing tells what they did"
        : is_elsewhere(b->effect) ? "nothing on the cluster tells of it"
                                  : "it declares no inputs= and outputs=, and its cell has effects "
                                    "on the cluster",
        c->turn->title ? c->turn->title : c->turn->cell);
}

// Is the result the same as the journal's earlier one?
static bool is_as_recorded(
    const struct call *c, const struct binding *b, const cJSON *recorded, const cJSON *result)
{
    bool masked;
    AUTO_JSON *now = journaled(c, b, result, &masked);
    return json_equal(now, recorded);
}

// Repeats a known call, as the same entry. Later calls are verified only if the result is the same
// as before, or there was none.
static int repeat(
    struct call *c, const struct binding *b, const cJSON *args, cJSON **result, err *e)
{
    struct entry *known = c->entry;
    const cJSON *before = known->result;
    if (record(c->effects, ledger_event(known, "again"), e) < 0)
        return -1;
    entry_set_fresh(c->effects->ledger, known);
    c->turn->root->repeated++;
    if (b->start(c, args, result, e) < 0) {
        record_failure(c, b, e);
        return -1;
    }
    bool same = !before || b->around || is_as_recorded(c, b, before, *result);
    if (record_outcome(c, b, "outcome", *result, e) < 0)
        return -1;
    return same || end_resuming(c->effects, c->turn, e) == 0 ? 1 : -1;
}

// The verdict of `verify` on a known call; -1 on an error.
static int judge(struct call *c, const struct binding *b, const cJSON *args, cJSON **fresh, err *e)
{
    const struct entry *known = c->entry;
    const cJSON *recorded = entry_recorded(known);
    if (!b->verify || (known->failed && !b->around))
        return VERDICT_NO;
    if (!recorded)
        recorded = known->result; // no result, but an outcome
    if (!recorded && b->announces) {
        struct remains none = {0};
        int found = find_unannounced(known, &none, e);
        remains_done(&none);
        return found < 0 ? -1 : VERDICT_NO;
    }
    return b->verify(c, args, recorded, fresh, e);
}

// Returns 1 if the call was found and verified, or repeated (*result is to be returned); 0 if it
// must be done; -1 on an error.
static int verify_known(struct call *c, const struct binding *b, const cJSON *args,
    struct entry *known, cJSON **result, err *e)
{
    c->entry = known;
    cJSON *fresh = NULL;
    int verdict = judge(c, b, args, &fresh, e);
    if (verdict < 0)
        return err_wrap(e, "cannot tell whether \"%s\" still holds", known->what);
    if (verdict == VERDICT_REPEAT && (b->around || reaches_elsewhere(c)) && !c->turn->redo)
        return refuse_repeat(c, b, known, e);
    verdict = verdict == VERDICT_AGAIN ? VERDICT_REPEAT : verdict;
    // A recorded result from which masking removed a secret cannot be returned: repeats a local
    // effect instead.
    bool whole = fresh || (known->result && !known->masked);
    if (verdict == VERDICT_YES && !whole)
        verdict = is_elsewhere(b->effect) ? VERDICT_NO : VERDICT_REPEAT;
    if (verdict != VERDICT_YES) {
        cJSON_Delete(fresh);
        return verdict == VERDICT_REPEAT && (known->result || b->around)
                   ? repeat(c, b, args, result, e)
                   : 0;
    }
    *result = fresh ? fresh : cJSON_Duplicate(known->result, true);
    entry_set_fresh(c->effects->ledger, known);
    c->turn->root->verified++;
    return record_outcome(c, b, "verified", *result, e) < 0 ? -1 : 1;
}

// A refusal ends resuming: a cell that catches the error can have no further effects.
static int resume_or_go_on(struct call *c, const struct binding *b, const cJSON *args,
    struct entry *known, cJSON **result, err *e)
{
    ERR_GUARD(e);
    effects *fx = c->effects;
    int verified = known ? verify_known(c, b, args, known, result, e) : 0;
    c->entry = NULL;
    if (verified == 0)
        verified = end_resuming(fx, c->turn, e);
    else if (verified > 0)
        c->entry = known;
    if (verified < 0 && e->code == ERR_REFUSED) {
        pthread_mutex_lock(&fx->halting);
        fx->halted = *e;
        pthread_mutex_unlock(&fx->halting);
    }
    return verified;
}

static int check_halted(effects *fx, err *e)
{
    pthread_mutex_lock(&fx->halting);
    err halted = fx->halted;
    pthread_mutex_unlock(&fx->halting);
    return halted.code ? err_set(e, halted.code, "%s", halted.text) : 0;
}

static int do_effect(struct call *c, const struct binding *b, const cJSON *args, const char *what,
    cJSON **result, err *e)
{
    effects *fx = c->effects;
    turn *t = c->turn;
    struct entry *known = NULL;
    char hash[SHA256_HEX];
    salted_hash(fx, b->name, args, hash);
    t->ordinal++;
    t->root->effects++;
    if (check_halted(fx, e) < 0)
        return -1;
    const struct ledger_key key = {
        t->source, turn_key(t), t->is_action ? 0 : t->ordinal, b->name, hash};
    enum resume resume = t->is_action ? RESUME_OFF : (enum resume)atomic_load(resume_of(fx, t));
    if (resume != RESUME_OFF && t->root->anew) {
        if (begin_anew(fx, t, e) < 0)
            return -1;
    } else if (resume != RESUME_OFF) { // a resumed run does not repeat actions
        known = resume == RESUME_ON ? ledger_find(fx->ledger, &key) : NULL;
        int done = resume_or_go_on(c, b, args, known, result, e);
        if (done != 0)
            return done < 0 ? -1 : 0;
    }
    c->entry = ledger_add(fx->ledger, &key, what, b->undo != NULL, b->announces);
    if (known && !known->result) // the earlier request may still succeed; the same mark avoids a
                                 // second object
        c->entry->mark = known->mark;
    if (record_intent(c, b, e) < 0)
        return -1;
    if (b->start(c, args, result, e) < 0) {
        record_failure(c, b, e);
        return -1;
    }
    return record_outcome(c, b, "outcome", *result, e);
}

// Call it when nothing of this call waits for the cluster. Waits that place_lost cancelled are
// allowed again, unless the turn has to end.
static void leave_cluster(struct call *c)
{
    turn *t = c->turn;
    if (t->is_action || !place_left(c->effects->place, t))
        return;
    canceller_reset(t->waits);
    if (turn_stopped(t) != FAILURE_NONE)
        canceller_cancel(t->waits);
}

// Without a workbench nobody sees it.
static void keep_for_looks(
    struct call *c, const struct binding *b, const cJSON *args, const cJSON *result)
{
    if (b->look && result && !c->turn->is_action && !c->effects->spec.headless)
        glances_add(c->effects->glances, c->turn, b, args, result, c->entry);
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
        place_why_lost(c->effects->place, &why); // this is the real reason
    if (c->asked_server && (done == 0 || why.code == ERR_UNAVAILABLE))
        place_heard(c->effects->place, done == 0 ? NULL : &why, clock_wall());
    if (done == 0) {
        keep_for_looks(c, b, args, *result);
        return 0;
    }
    cJSON_Delete(STEAL(*result));
    return err_set(e, why.code, "%s", why.text);
}

// Variables for programs, ranks and pods: the values of those with a secret's name are registered
// as secrets.
static void register_env(effects *fx, const cJSON *env)
{
    const cJSON *variable;
    if (!cJSON_IsObject(env))
        return;
    cJSON_ArrayForEach(variable, env)
    {
        AUTO_FREE char *value =
            cJSON_IsString(variable) ? mem_strdup(variable->valuestring) : json_to_str(variable);
        mask_add_named(port_mask(fx->spec.port), variable->string, value);
    }
}

int call_binding(
    effects *fx, turn *t, char **env, const char *name, const cJSON *args, cJSON **result, err *e)
{
    const struct binding *b = effects_binding(fx, name);
    *result = NULL;
    struct call c = {.effects = fx, .turn = t, .env = env};
    if (!b) {
        call_done(&c);
        return err_set(e, ERR_USAGE, "there is no binding \"%s\"", name);
    }
    register_env(fx, json_get(args, "env"));
    struct about about = call_about(&c, b, args);
    leave_cluster(&c); // a question may take long, and does not wait for the cluster
    int done = c.cluster_lost ? -1 : pass_gate(fx, t, b->effect, &about, e);
    if (c.cluster_lost) // do not ask a person about an effect that cannot be done
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

int call_ledger_partial(call *c, const cJSON *made, err *e)
{
    struct entry *entry = c->entry;
    if (!entry)
        return 0;
    entry_set_made(
        c->effects->ledger, entry, cJSON_IsNull(made) ? NULL : cJSON_Duplicate(made, true));
    cJSON *event = ledger_event(entry, "partial"), *copy = cJSON_Duplicate(made, true);
    mask_json(port_mask(c->effects->spec.port), copy);
    json_set(event, "made", copy);
    return record(c->effects, event, e);
}

void call_ledger_tidied(call *c)
{
    if (c->entry)
        entry_set_tidied(c->effects->ledger, c->entry);
}

// The common end of all marks of a run. It differs between runs, and the salt cannot be computed
// from it.
static void run_mark(const effects *fx, char hex[SHA256_HEX])
{
    AUTO_FREE char *text = str_fmt("mark %s", fx->salt);
    sha256_hex(text, strlen(text), hex);
    hex[16] = '\0';
}

const char *call_mark(call *c)
{
    char hex[SHA256_HEX];
    if (!c->entry)
        return NULL;
    run_mark(c->effects, hex);
    snprintf(c->mark, sizeof c->mark, "%lld-%s", (long long)c->entry->mark, hex);
    return c->mark;
}

bool call_is_marked(call *c, const char *mark)
{
    char hex[SHA256_HEX];
    const char *tail = mark ? strchr(mark, '-') : NULL;
    run_mark(c->effects, hex);
    return tail && str_eq(tail + 1, hex);
}

bool call_changed_later(call *c, const char *uid, cJSON *set)
{
    return ledger_changed_later(c->effects->ledger, c->entry, uid, set);
}

int call_drift(call *c, const cJSON *fields, err *e)
{
    bool accepted = c->effects->spec.accept_drift;
    AUTO_BUF names = {0};
    const cJSON *field;
    cJSON_ArrayForEach(field, fields)
    {
        buf_fmt(&names, "%s%s", names.len ? ", " : "", field->valuestring);
    }
    cJSON *event = ledger_event(c->entry, "drift");
    json_set(event, "fields", cJSON_Duplicate(fields, true));
    json_set_bool(event, "accepted", accepted);
    json_set_str(event, "message", c->entry->what);
    if (record(c->effects, event, e) < 0)
        return -1;
    if (accepted)
        return 0;
    return err_set(e, ERR_REFUSED,
        "it has been changed since: %s; put that back, or go on with it as it is by --accept-drift",
        buf_cstr(&names));
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
