// SPDX-License-Identifier: MIT
#include "script/kernel/effects/lookups.h"

#include "base/clock.h"
#include "base/mem.h"
#include "script/kernel/effects/call.h"
#include "script/kernel/effects/jobthread.h"

static const int64_t patience = 5 * CLOCK_SEC;

struct lookup {
    lookups *all;
    const struct binding *binding;
    turn turn;
    cJSON *args, *result;
    err error;
    lookups_reply *reply;
    void *arg;
    struct lookup *next;
};

struct lookups {
    effects *effects;
    jobthread *thread;
    struct lookup *first;
    void (*stopped)(void *arg);
    void *stopped_arg;
};

static void lookup_free(struct lookup *q)
{
    struct lookup **at = &q->all->first;
    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    turn_done(&q->turn);
    cJSON_Delete(q->args);
    cJSON_Delete(q->result);
    free(q);
}

// On the thread.
static void call_it(void *arg)
{
    struct lookup *q = arg;
    struct call c = {.effects = q->all->effects, .turn = &q->turn};
    if (turn_stopped(&q->turn) != FAILURE_NONE)
        return;
    q->turn.deadline = clock_mono() + patience;
    call_action(&c, q->binding, q->args, q->binding->name, &q->result, &q->error);
    call_done(&c);
}

static void check_stopped(lookups *l)
{
    void (*fn)(void *arg) = l->first ? NULL : STEAL(l->stopped);
    if (fn)
        fn(l->stopped_arg);
}

static void on_called(void *arg)
{
    struct lookup *q = arg;
    lookups *l = q->all;
    q->reply(q->arg, q->result, q->error.code ? &q->error : NULL);
    lookup_free(q);
    check_stopped(l);
}

lookups *lookups_new(effects *fx)
{
    lookups *l = mem_alloc(sizeof *l);
    *l = (lookups){.effects = fx, .thread = jobthread_new(fx->spec.loop, call_it, on_called)};
    return l;
}

int lookups_ask(
    lookups *l, const char *binding, cJSON *args, lookups_reply *reply, void *arg, err *e)
{
    struct lookup *q = mem_alloc(sizeof *q);
    *q = (struct lookup){.all = l,
        .binding = effects_binding(l->effects, binding),
        .args = args,
        .reply = reply,
        .arg = arg,
        .next = l->first};
    turn_init(&q->turn, "", 0);
    q->turn.is_action = true;
    l->first = q;
    if (jobthread_add(l->thread, q, e) == 0)
        return 0;
    lookup_free(q);
    return -1;
}

void lookups_stop(lookups *l, void (*fn)(void *arg), void *arg)
{
    for (struct lookup *q = l->first; q; q = q->next)
        turn_stop(&q->turn, FAILURE_INTERRUPTED);
    l->stopped = fn;
    l->stopped_arg = arg;
    check_stopped(l);
}

void lookups_free(lookups *l)
{
    if (!l)
        return;
    jobthread_free(l->thread);
    while (l->first)
        lookup_free(l->first);
    free(l);
}
