// SPDX-License-Identifier: MIT
#include "script/kernel/session/checks.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/cells/compile.h"
#include "script/kernel/effects/call.h"
#include "script/kernel/effects/jobthread.h"
#include "script/notebook/lua/locals.h"

#include <stdlib.h>
#include <string.h>

static const int64_t patience = 10 * CLOCK_SEC; // time for a whole check
enum { WAITING = 20 };                          // checks that wait, of all clients

// A check that a client waits for. It belongs to the loop's thread, but while it is worked on.
struct job {
    checks *checks;
    notebook *nb;
    bool *wanted;
    int64_t peer;
    cJSON *message, *reply;
    turn turn;
    struct job *next;
};

struct checks {
    effects *effects;
    server *server;
    jobthread *thread;
    struct job *jobs;
    size_t n;
    void (*stopped)(void *arg);
    void *stopped_arg;
};

static void job_free(struct job *j)
{
    struct job **at = &j->checks->jobs;
    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    j->checks->n--;
    turn_done(&j->turn);
    if (j->nb)
        notebook_free(j->nb);
    free(j->wanted);
    cJSON_Delete(j->message);
    cJSON_Delete(j->reply);
    free(j);
}

// What the binding finds in texts of other languages.
static void add_findings(struct job *j, struct faults *all)
{
    effects *fx = j->checks->effects;
    const struct binding *b = effects_binding(fx, "language.check");
    AUTO_JSON *texts = compile_texts(j->nb, j->wanted), *result = NULL;
    AUTO_JSON *args = cJSON_CreateObject();
    struct call c = {.effects = fx, .turn = &j->turn};
    if (b && texts->child && turn_stopped(&j->turn) == FAILURE_NONE) {
        json_set(args, "texts", STEAL(texts));
        if (effects_in_sandbox(fx))
            json_set_bool(args, "cluster", true);
        b->start(&c, args, &result, NULL);
        faults_add_findings(all, j->nb, result);
    }
    call_done(&c);
}

static cJSON *reply_of(const struct job *j, const struct faults *all)
{
    cJSON *reply = cJSON_CreateObject(), *cells = json_object_at(reply, "found");
    for (size_t i = 0; i < notebook_count(j->nb); i++) {
        const cell *of = notebook_cell(j->nb, i);
        char hash[SHA256_HEX];
        if (!j->wanted[i])
            continue;
        cell_digest(of->source, strlen(of->source), hash);
        cJSON *one = json_object_at(cells, of->id), *list = json_array_at(one, "faults");
        json_set_str(one, "hash", hash);
        for (size_t k = 0; k < all->n; k++)
            if (all->list[k].cell == (long)i)
                cJSON_AddItemToArray(list, faults_json(&all->list[k]));
    }
    return reply;
}

// Fields and values for the cursor; the text is the message's, since it is typed just now.
static cJSON *look_up(struct job *j)
{
    effects *fx = j->checks->effects;
    bool inspects = message_type_of(j->message) == MESSAGE_inspect;
    const struct binding *b =
        effects_binding(fx, inspects ? "language.inspect" : "language.complete");
    AUTO_JSON *args = cJSON_CreateObject();
    struct call c = {.effects = fx, .turn = &j->turn};
    cJSON *result = NULL;
    AUTO_FREE char *text = mem_strdup(json_str_or(j->message, "source", ""));
    if (text[0] == '%') // the line of a magic
        text[0] = '#';
    json_set_str(args, "text", text);
    json_set_int(args, "cursor", json_int_or(j->message, "cursor", 0));
    if (effects_in_sandbox(fx))
        json_set_bool(args, "cluster", true);
    if (b)
        b->start(&c, args, &result, NULL);
    call_done(&c);
    return result;
}

static void work(void *arg)
{
    struct job *j = arg;
    CLEANUP(faults_done) struct faults all = {0};
    if (turn_stopped(&j->turn) != FAILURE_NONE)
        return;
    j->turn.deadline = clock_mono() + patience;
    if (message_type_of(j->message) != MESSAGE_check) {
        j->reply = look_up(j);
        return;
    }
    compile_check_some(j->nb, j->wanted, &all);
    locals_check(j->nb, j->wanted, &all);
    add_findings(j, &all);
    faults_sort(&all);
    j->reply = reply_of(j, &all);
}

static void check_stopped(checks *c)
{
    void (*fn)(void *arg) = c->jobs ? NULL : STEAL(c->stopped);
    if (fn)
        fn(c->stopped_arg);
}

static void on_done(void *arg)
{
    static const err gone = {ERR_UNAVAILABLE, "the kernel ends"},
                     none = {ERR_NOT_FOUND, "nothing is known about it"};
    struct job *j = arg;
    checks *c = j->checks;
    peer *p = server_peer(c->server, j->peer);
    if (p && j->reply && !json_bool_or(j->reply, "found", true)) {
        server_refuse(p, j->message, &none);
    } else if (p && j->reply) {
        mask_json(port_mask(c->effects->spec.port), j->reply);
        server_reply(p, j->message, STEAL(j->reply));
    } else if (p) {
        server_refuse(p, j->message, &gone);
    }
    job_free(j);
    check_stopped(c);
}

checks *checks_new(effects *fx, server *s)
{
    checks *c = mem_alloc(sizeof *c);
    *c =
        (checks){.effects = fx, .server = s, .thread = jobthread_new(fx->spec.loop, work, on_done)};
    return c;
}

// Those that the message names, or all.
static bool *wanted_of(const notebook *nb, const cJSON *ids)
{
    size_t n = notebook_count(nb), at;
    bool *wanted = mem_array(n + 1, sizeof *wanted);
    const cJSON *id;
    for (size_t i = 0; i < n; i++)
        wanted[i] = !ids;
    cJSON_ArrayForEach(id, ids)
    {
        if (cJSON_IsString(id) && notebook_find(nb, id->valuestring, &at))
            wanted[at] = true;
    }
    return wanted;
}

static int add_job(checks *c, notebook *nb, peer *p, const cJSON *message, err *e)
{
    struct job *j = mem_alloc(sizeof *j);
    *j = (struct job){.checks = c,
        .nb = nb,
        .wanted = nb ? wanted_of(nb, json_get(message, "cells")) : NULL,
        .peer = server_number(p),
        .message = cJSON_Duplicate(message, true),
        .next = c->jobs};
    turn_init(&j->turn, "", 0);
    j->turn.is_action = true;
    c->jobs = j;
    c->n++;
    if (jobthread_add(c->thread, j, e) == 0)
        return 1;
    job_free(j);
    return -1;
}

int checks_check(checks *c, const notebook *nb, peer *p, const cJSON *message, err *e)
{
    notebook *copy = c->n < WAITING ? notebook_copy(nb) : NULL;
    if (!copy)
        return err_set(e, ERR_UNAVAILABLE, "too much is checked already");
    return add_job(c, copy, p, message, e);
}

int checks_look_up(checks *c, const notebook *nb, peer *p, const cJSON *message, err *e)
{
    size_t i;
    const char *id = json_str(message, "cell");
    if (!id || !notebook_find(nb, id, &i) || !compile_is_yaml(nb, i))
        return 0;
    if (c->n >= WAITING)
        return err_set(e, ERR_UNAVAILABLE, "too much is checked already");
    return add_job(c, NULL, p, message, e);
}

void checks_stop(checks *c, void (*fn)(void *arg), void *arg)
{
    for (struct job *j = c->jobs; j; j = j->next)
        turn_stop(&j->turn, FAILURE_INTERRUPTED);
    c->stopped = fn;
    c->stopped_arg = arg;
    check_stopped(c);
}

void checks_free(checks *c)
{
    if (!c)
        return;
    jobthread_free(c->thread);
    while (c->jobs)
        job_free(c->jobs);
    free(c);
}
