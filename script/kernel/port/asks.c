// SPDX-License-Identifier: MIT
#include "script/kernel/port/asks.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/protocol/message.h"

struct waiting_ask {
    int64_t number;
    char **choices; // NULL: any text
    bool secret;
    void (*fn)(void *arg, const char *answer);
    void *arg;
    struct waiting_ask *next;
};

struct asks {
    loop *loop;
    port *port;
    bool people;
    void (*changed)(void *arg);
    void *arg;
    struct waiting_ask *first;
    int64_t last;
    const char *why; // of the question that is being withdrawn: nobody can be asked; or NULL
};

asks *asks_new(loop *l, port *p, bool people, void (*changed)(void *arg), void *arg)
{
    asks *a = mem_alloc(sizeof *a);
    *a = (asks){.loop = l, .port = p, .people = people, .changed = changed, .arg = arg};
    return a;
}

static void waiting_free(struct waiting_ask *w)
{
    strv_free(w->choices);
    free(w);
}

void asks_free(asks *a)
{
    while (a->first) {
        struct waiting_ask *w = a->first;
        a->first = w->next;
        waiting_free(w);
    }
    free(a);
}

bool asks_open_now(const asks *a)
{
    return a->first != NULL;
}

static cJSON *event_of(int64_t number, const struct question *q)
{
    cJSON *event = message_new(MESSAGE_ask);
    json_set_int(event, "ask", number);
    json_set_str(event, "question", q->text);
    for (const char *const *c = q->choices; c && *c; c++)
        cJSON_AddItemToArray(json_array_at(event, "choices"), cJSON_CreateString(*c));
    json_set_str(event, "cell", q->cell);
    if (q->effect)
        json_set(event, "effect", cJSON_Duplicate(q->effect, true));
    if (q->secret)
        json_set_bool(event, "secret", true);
    return event;
}

int64_t asks_ask(
    asks *a, const struct question *q, void (*fn)(void *arg, const char *answer), void *arg)
{
    struct waiting_ask *w = mem_alloc(sizeof *w);
    *w = (struct waiting_ask){.number = ++a->last,
        .choices = q->choices ? strv_dup(q->choices) : NULL,
        .secret = q->secret,
        .fn = fn,
        .arg = arg,
        .next = a->first};
    a->first = w;
    port_emit(a->port, event_of(w->number, q));
    a->changed(a->arg);
    return w->number;
}

static struct waiting_ask *find(const asks *a, int64_t number)
{
    struct waiting_ask *w = a->first;
    while (w && w->number != number)
        w = w->next;
    return w;
}

// Ends a question. answer NULL: it was withdrawn.
static void finish(asks *a, struct waiting_ask *w, const char *answer)
{
    struct waiting_ask **at = &a->first;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    cJSON *event = message_new(MESSAGE_answered);
    json_set_int(event, "ask", w->number);
    if (!w->secret)
        json_set_str(event, "value", answer);
    port_emit(a->port, event);
    a->changed(a->arg);
    w->fn(w->arg, answer);
    waiting_free(w);
}

void asks_take_back(asks *a, int64_t number)
{
    struct waiting_ask *w = find(a, number);
    if (w)
        finish(a, w, NULL);
}

static bool is_choice(const struct waiting_ask *w, const char *value)
{
    for (char **c = w->choices; c && *c; c++)
        if (str_eq(*c, value))
            return true;
    return !w->choices;
}

int asks_answer(asks *a, int64_t number, const char *value, err *e)
{
    struct waiting_ask *w = find(a, number);
    if (!w)
        return err_set(e, ERR_NOT_FOUND, "no question %lld waits", (long long)number);
    if (!is_choice(w, value))
        return err_set(e, ERR_INVALID, "\"%s\" is none of the answers to choose from", value);
    finish(a, w, value);
    return 0;
}

int asks_refuse(asks *a, int64_t number, const char *why, err *e)
{
    struct waiting_ask *w = find(a, number);
    if (!w)
        return err_set(e, ERR_NOT_FOUND, "no question %lld waits", (long long)number);
    a->why = why;
    finish(a, w, NULL);
    a->why = NULL;
    return 0;
}

// Another thread that waits for an answer.
struct asking {
    asks *asks;
    const struct question *question;
    int64_t number;
    char *answer, *why; // NULL: no answer; not refused
    loop_pending *pending;
};

static void on_answer(void *arg, const char *answer)
{
    struct asking *a = arg;
    a->answer = mem_strdup(answer);
    a->why = mem_strdup(answer ? NULL : a->asks->why);
    loop_call_finish(a->pending);
}

static void start_ask(loop_pending *pending, void *arg)
{
    struct asking *a = arg;
    a->pending = pending;
    a->number = asks_ask(a->asks, a->question, on_answer, a);
}

static void cancel_ask(loop_pending *pending, void *arg)
{
    struct asking *a = arg;
    asks_take_back(a->asks, a->number);
}

char *asks_person(asks *a, canceller *waits, const struct question *q, err *e)
{
    static const struct loop_call_ops ops = {.start = start_ask, .cancel = cancel_ask};
    if (!a->people) {
        err_set(e, ERR_REFUSED, "%s: nobody can be asked in a headless run", q->text);
        return NULL;
    }
    struct asking asking = {.asks = a, .question = q};
    int called = loop_call(a->loop, waits, &ops, &asking, 0, e);
    AUTO_FREE char *why = asking.why;
    if (called == 0 && !why)
        return asking.answer;
    if (called == 0)
        err_set(e, ERR_REFUSED, "%s: %s", q->text, why);
    free(asking.answer);
    return NULL;
}
