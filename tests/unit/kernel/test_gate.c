// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/mem.h"
#include "script/kernel/effects/gate.h"
#include "script/kernel/effects/ledger.h"
#include "script/kernel/port/outbox.h"
#include "tests/support/tap.h"

#include <pthread.h>
#include <stdlib.h>

static int answer; // what the person of these tests says
static int asked;

static int ask(void *arg, const struct question *q, err *e)
{
    asked++;
    CHECK_HAS(q->text, "do it? (");
    return answer;
}

static int pass(gate *g, unsigned declared, effect which, const char *scope, err *e)
{
    turn x = {.declared = declared};
    struct gate_request r = {
        .turn = &x, .effect = which, .what = "do it", .scope = scope, .ask = ask};
    return gate_pass(g, &r, e);
}

static unsigned declared(const char *name)
{
    char *effects[] = {(char *)name, NULL};
    return gate_declared(effects);
}

TEST(headless_gate)
{
    err e = {0};
    gate *g = gate_new("cluster", true, &e);
    CHECK_INT(pass(g, 0, EFFECT_PURE, "s", &e), 0);
    CHECK_INT(pass(g, 0, EFFECT_LOCAL, "s", &e), 0);
    CHECK_INT(pass(g, 0, EFFECT_CLUSTER, "s", &e), 0);
    CHECK_INT(pass(g, 0, EFFECT_DESTRUCTIVE, "s", &e), -1);
    CHECK_INT(e.code, ERR_REFUSED);
    CHECK_STR(
        e.text, "do it: the effect is destructive, which is not granted; add --allow destructive");
    CHECK_INT(asked, 0);
    gate_free(g);
    CHECK(!gate_new("cluster,all", true, &e));
    CHECK_INT(e.code, ERR_USAGE);
    g = gate_new(" cluster , destructive", true, &e);
    CHECK_INT(pass(g, 0, EFFECT_DESTRUCTIVE, "s", &e), 0);
    gate_free(g);
}

TEST(declarations_narrow)
{
    err e = {0};
    gate *g = gate_new("cluster,destructive", true, &e);
    unsigned cluster = declared("cluster"), pure = declared("pure");
    CHECK_INT(pass(g, cluster, EFFECT_LOCAL, "s", &e), 0);
    CHECK_INT(pass(g, cluster, EFFECT_CLUSTER, "s", &e), 0);
    CHECK_INT(pass(g, cluster, EFFECT_DESTRUCTIVE, "s", &e), -1);
    CHECK_HAS(e.text, "write effects=\"cluster,destructive\" on its marker line");
    CHECK_INT(pass(g, pure, EFFECT_LOCAL, "s", &e), -1);
    CHECK_HAS(e.text, "write effects=\"local\"");
    CHECK_INT(pass(g, pure, EFFECT_PURE, "s", &e), 0);
    CHECK_INT(gate_declared(NULL), 0);
    gate_free(g);
}

TEST(a_person_is_asked_once_for_a_scope)
{
    err e = {0};
    gate *g = gate_new(NULL, false, &e);
    asked = answer = 0;
    CHECK_INT(pass(g, 0, EFFECT_CLUSTER, "one", &e), -1);
    CHECK_HAS(e.text, "you said no");
    answer = 1;
    CHECK_INT(pass(g, 0, EFFECT_CLUSTER, "one", &e), 0);
    CHECK_INT(pass(g, 0, EFFECT_CLUSTER, "one", &e), 0);
    CHECK_INT(asked, 3);
    answer = 2;
    CHECK_INT(pass(g, 0, EFFECT_CLUSTER, "one", &e), 0);
    CHECK_INT(pass(g, 0, EFFECT_CLUSTER, "one", &e), 0);
    CHECK_INT(asked, 4);
    CHECK_INT(pass(g, 0, EFFECT_CLUSTER, "two", &e), 0);
    CHECK_INT(pass(g, 0, EFFECT_DESTRUCTIVE, "one", &e), 0);
    CHECK_INT(asked, 6);
    gate_free(g);
}

TEST(what_was_granted_for_a_scope_ends_with_the_last_client)
{
    err e = {0};
    gate *g = gate_new(NULL, false, &e);
    asked = 0;
    answer = 2;
    CHECK_INT(pass(g, 0, EFFECT_CLUSTER, "one", &e), 0);
    CHECK_INT(pass(g, 0, EFFECT_CLUSTER, "one", &e), 0);
    CHECK_INT(asked, 1);
    gate_forget(g);
    CHECK_INT(pass(g, 0, EFFECT_CLUSTER, "one", &e), 0); // granted again
    CHECK_INT(pass(g, 0, EFFECT_CLUSTER, "one", &e), 0);
    CHECK_INT(asked, 2);
    gate_free(g);
}

TEST(an_action_is_refused_where_nobody_granted_it)
{
    err e = {0};
    gate *g = gate_new("cluster", true, &e);
    CHECK_INT(gate_action(g, EFFECT_CLUSTER, "do it", NULL, &e), 0);
    CHECK_INT(gate_action(g, EFFECT_DESTRUCTIVE, "do it", NULL, &e), -1);
    CHECK_INT(e.code, ERR_REFUSED);
    CHECK_HAS(e.text, "--allow destructive");
    gate_free(g);
    g = gate_new(NULL, false, &e);
    CHECK_INT(
        gate_action(g, EFFECT_DESTRUCTIVE, "do it", NULL, &e), 0); // the acting person is asked
    gate_free(g);
    AUTO_FREE char *with = gate_question(EFFECT_CLUSTER, "do it", "context c, namespace n");
    AUTO_FREE char *without = gate_question(EFFECT_CLUSTER, "do it in c", NULL);
    CHECK_STR(with, "do it? (cluster, context c, namespace n)");
    CHECK_STR(without, "do it in c? (cluster)");
}

TEST(a_read_only_run_changes_nothing_elsewhere)
{
    err e = {0};
    gate *g = gate_new("cluster,destructive", true, &e);
    gate_restrict(g, true, NULL);
    CHECK_INT(pass(g, 0, EFFECT_LOCAL, "s", &e), 0);
    CHECK_INT(pass(g, 0, EFFECT_CLUSTER, "s", &e), -1);
    CHECK_STR(e.text, "do it: the effect is cluster, and the run is read-only");
    CHECK_INT(gate_action(g, EFFECT_CLUSTER, "do it", NULL, &e), -1);
    gate_free(g);
    g = gate_new(NULL, false, &e);
    gate_restrict(g, true, NULL);
    asked = 0;
    answer = 2;
    CHECK_INT(pass(g, 0, EFFECT_DESTRUCTIVE, "s", &e), -1);
    CHECK_INT(gate_action(g, EFFECT_DESTRUCTIVE, "do it", NULL, &e), -1);
    CHECK_HAS(e.text, "read-only");
    CHECK_INT(asked, 0);
    gate_free(g);
}

static int pass_protected(gate *g, err *e)
{
    struct gate_request r = {
        .effect = EFFECT_CLUSTER, .what = "do it", .scope = "prod", .guarded = "prod", .ask = ask};
    return gate_pass(g, &r, e);
}

TEST(a_protected_context_asks_every_time)
{
    static const char *const other[] = {"other", NULL}, *const prod[] = {"other", "prod", NULL};
    err e = {0};
    gate *g = gate_new("cluster", false, &e); // also where it is granted otherwise
    asked = 0;
    answer = 2;
    CHECK_INT(pass_protected(g, &e), 0);
    CHECK_INT(pass_protected(g, &e), 0);
    CHECK_INT(asked, 2);
    gate_free(g);
    g = gate_new("cluster", true, &e);
    CHECK_INT(pass_protected(g, &e), -1);
    CHECK_STR(e.text, "do it: the context prod is protected; add --allow-protected prod");
    gate_restrict(g, false, other);
    CHECK_INT(pass_protected(g, &e), -1);
    CHECK_INT(gate_action(g, EFFECT_CLUSTER, "do it", "prod", &e), -1);
    gate_restrict(g, false, prod);
    CHECK_INT(pass_protected(g, &e), 0);
    CHECK_INT(gate_action(g, EFFECT_CLUSTER, "do it", "prod", &e), 0);
    CHECK_INT(asked, 2);
    gate_free(g);
    g = gate_new(NULL, true, &e);
    gate_restrict(g, false, prod);
    CHECK_INT(pass_protected(g, &e), -1); // it is no grant by itself
    CHECK_HAS(e.text, "add --allow cluster");
    gate_free(g);
}

TEST(ledger_knows_what_is_left)
{
    ledger *l = ledger_new();
    struct entry *made = ledger_add(
        l, &(struct ledger_key){"hash", "", 1, "k8s.create", "args"}, "create it", true, true);
    struct entry *local =
        ledger_add(l, &(struct ledger_key){"hash", "", 2, "sh", "args"}, "run it", false, false);
    made->fresh = false;          // of the run that is resumed
    CHECK_INT(ledger_left(l), 1); // an intent alone: perhaps
    entry_set_failed(l, made);
    CHECK_INT(ledger_left(l), 0);
    made->failed = false;
    entry_set_result(l, made, json_parse("{\"metadata\":{\"uid\":\"u1\"}}", 27, NULL), false);
    CHECK_INT(ledger_left(l), 1);
    CHECK(ledger_find(l, &(struct ledger_key){"hash", "", 1, "k8s.create", "args"}) == made);
    CHECK(!ledger_find(l, &(struct ledger_key){"hash", "", 1, "k8s.create", "other"}));
    CHECK(!ledger_find(l, &(struct ledger_key){"hash", "", 3, "sh", "args"}));
    CHECK(!ledger_find(l, &(struct ledger_key){"hash", "", 2, "sh", "args"}));
    CHECK_INT(local->number, 2);
    ledger_forget_left(l);
    CHECK_INT(ledger_left(l), 0);
    ledger_free(l);
}

TEST(a_result_takes_the_place_of_what_was_announced)
{
    ledger *l = ledger_new();
    struct entry *made = ledger_add(
        l, &(struct ledger_key){"hash", "", 1, "k8s.create", "args"}, "create it", true, true);
    entry_set_made(l, made, json_parse("{\"name\":\"a\"}", 12, NULL));
    CHECK_STR(json_str(entry_recorded(made), "name"), "a");
    entry_set_result(l, made, json_parse("{\"name\":\"b\"}", 12, NULL), false);
    CHECK_STR(json_str(entry_recorded(made), "name"), "b");
    CHECK(!made->made); // one copy for each effect of a long run
    entry_set_failed(l, made);
    CHECK_INT(ledger_left(l), 1); // done again and failed early: the first one is still there
    entry_set_made(l, made, NULL);
    CHECK_INT(ledger_left(l), 0); // taken back
    ledger_free(l);
}

struct received {
    loop *loop;
    buf text;
    int events, texts;
};

static void on_text(void *arg, const char *cell_id, const char *branch, const char *name,
    const char *bytes, size_t n)
{
    struct received *r = arg;
    r->texts++;
    buf_add(&r->text, bytes, n);
}

static void on_event(void *arg, cJSON *event)
{
    struct received *r = arg;
    r->events++;
    buf_str(&r->text, json_str_or(event, "mark", ""));
    if (json_bool_or(event, "last", false))
        loop_stop(r->loop);
    cJSON_Delete(event);
}

static const struct outbox_ops ops = {.text = on_text, .event = on_event};
static outbox *box;

static void *print_much(void *arg)
{
    for (int i = 0; i < 200000; i++) {
        outbox_text(box, "c", NULL, "stdout", "0123456789abcdef", 16);
        if (i % 50000 == 49999) {
            cJSON *event = cJSON_CreateObject();
            json_set_str(event, "mark", "|");
            outbox_event(box, event);
        }
    }
    cJSON *event = cJSON_CreateObject();
    json_set_bool(event, "last", true);
    outbox_event(box, event);
    return NULL;
}

TEST(outbox_keeps_order_and_joins)
{
    err e = {0};
    struct received r = {.loop = loop_new(&e)};
    pthread_t thread;
    box = outbox_new(r.loop, &ops, &r);
    pthread_create(&thread, NULL, print_much, NULL);
    loop_run(r.loop);
    pthread_join(thread, NULL);
    CHECK_INT(r.text.len, 200000 * 16 + 4);
    CHECK_INT(r.events, 5);
    CHECK(r.texts < 2000);
    for (size_t i = 1; i <= 4; i++)
        CHECK_INT(r.text.data[i * 800001 - 1], '|');
    outbox_free(box);
    buf_done(&r.text);
    loop_free(r.loop);
}

static void stop_later(void *arg)
{
    loop_stop(arg);
}

// Lets the loop do what is posted and due within some ms.
static void run_for(loop *l, uint64_t ms)
{
    loop_timer *t = loop_timer_new(l, stop_later, l);
    loop_timer_start(t, ms, 0);
    loop_run(l);
    loop_timer_free(t);
}

TEST(a_held_outbox_waits_for_its_flush)
{
    struct received r = {.loop = loop_new(NULL)};
    box = outbox_new(r.loop, &ops, &r);
    outbox_hold(box, true);
    cJSON *event = cJSON_CreateObject();
    json_set_str(event, "mark", "|");
    outbox_event(box, event);
    run_for(r.loop, 40);
    CHECK_INT(r.events, 0);
    outbox_hold(box, false);
    outbox_flush(box);
    CHECK_INT(r.events, 1);
    outbox_free(box);
    buf_done(&r.text);
    loop_free(r.loop);
}

static void *print_once(void *arg)
{
    outbox_text(box, "c", NULL, "stdout", "x", 1);
    return NULL;
}

// Text that is expected waits 20 ms for more. false: the system has taken longer than that to look.
static bool look_at_expected_text(void)
{
    struct received r = {.loop = loop_new(NULL)};
    pthread_t thread;
    box = outbox_new(r.loop, &ops, &r);
    outbox_expect(box);
    int64_t began = clock_mono();
    pthread_create(&thread, NULL, print_once, NULL);
    pthread_join(thread, NULL);
    run_for(r.loop, 1);
    bool soon = clock_mono() - began < 20 * CLOCK_MS;
    if (soon)
        CHECK_INT(r.text.len, 0);
    run_for(r.loop, 60);
    CHECK_INT(r.text.len, 1);
    outbox_free(box);
    buf_done(&r.text);
    loop_free(r.loop);
    return soon;
}

// Nobody is woken for it, and it does not wait for the end of its cell.
TEST(expected_text_comes_by_itself)
{
    int tries = 0;
    while (tries < 100 && !look_at_expected_text())
        tries++;
    CHECK(tries < 100);
}

int main(void)
{
    return tap_run();
}
