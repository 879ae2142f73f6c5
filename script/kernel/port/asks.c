// SPDX-License-Identifier: MIT
#include "script/kernel/port/asks.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/session/running.h"
#include "script/protocol/message.h"

struct waiting_ask {
    int64_t number;
    char **choices; // NULL: any text
    bool secret;
    void (*fn)(void *arg, const char *answer);
    void *arg;
    struct waiting_ask *next;
};

int64_t asks_open(
    kernel *k, const struct question *q, void (*fn)(void *arg, const char *answer), void *arg)
{
    struct waiting_ask *a = mem_alloc(sizeof *a);
    *a = (struct waiting_ask){.number = ++k->last_ask,
        .choices = q->choices ? strv_dup(q->choices) : NULL,
        .secret = q->secret,
        .fn = fn,
        .arg = arg,
        .next = k->asks};
    k->asks = a;
    const char *in_cell = q->cell ? q->cell : k->running ? k->running->cell : NULL;
    cJSON *event = message_new(MESSAGE_ask);
    json_set_int(event, "ask", a->number);
    json_set_str(event, "question", q->text);
    for (const char *const *c = q->choices; c && *c; c++)
        cJSON_AddItemToArray(json_array_at(event, "choices"), cJSON_CreateString(*c));
    json_set_str(event, "cell", in_cell);
    if (q->effect)
        json_set(event, "effect", cJSON_Duplicate(q->effect, true));
    if (a->secret)
        json_set_bool(event, "secret", true);
    kernel_emit(k, event);
    running_say_state(k, "asking", NULL);
    return a->number;
}

static struct waiting_ask *find(const kernel *k, int64_t number)
{
    struct waiting_ask *a = k->asks;
    while (a && a->number != number)
        a = a->next;
    return a;
}

// answer NULL: it was taken back.
static void finish(kernel *k, struct waiting_ask *a, const char *answer)
{
    struct waiting_ask **at = &k->asks;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    cJSON *event = message_new(MESSAGE_answered);
    json_set_int(event, "ask", a->number);
    if (!a->secret)
        json_set_str(event, "value", answer);
    kernel_emit(k, event);
    running_say_state(k, k->asks ? "asking" : running_busy(k) ? "busy" : "idle", NULL);
    a->fn(a->arg, answer);
    strv_free(a->choices);
    free(a);
}

void asks_take_back(kernel *k, int64_t number)
{
    struct waiting_ask *a = find(k, number);
    if (a)
        finish(k, a, NULL);
}

static bool is_choice(const struct waiting_ask *a, const char *value)
{
    for (char **c = a->choices; c && *c; c++)
        if (str_eq(*c, value))
            return true;
    return !a->choices;
}

int asks_answer(kernel *k, int64_t number, const char *value, err *e)
{
    struct waiting_ask *a = find(k, number);
    if (!a)
        return err_set(e, ERR_NOT_FOUND, "no question %lld waits", (long long)number);
    if (!is_choice(a, value))
        return err_set(e, ERR_INVALID, "\"%s\" is none of the answers to choose from", value);
    finish(k, a, value);
    return 0;
}

// The Lua thread, which waits for an answer.
struct asking {
    kernel *kernel;
    const struct question *question;
    int64_t number;
    char *answer;
    loop_pending *pending;
};

static void on_answer(void *arg, const char *answer)
{
    struct asking *a = arg;
    a->answer = mem_strdup(answer);
    loop_call_finish(a->pending);
}

static void start_ask(loop_pending *pending, void *arg)
{
    struct asking *a = arg;
    a->pending = pending;
    a->number = asks_open(a->kernel, a->question, on_answer, a);
}

static void cancel_ask(loop_pending *pending, void *arg)
{
    struct asking *a = arg;
    asks_take_back(a->kernel, a->number);
}

char *kernel_ask(kernel *k, const struct question *q, err *e)
{
    static const struct loop_call_ops ops = {.start = start_ask, .cancel = cancel_ask};
    if (k->options->headless) {
        err_set(e, ERR_REFUSED, "%s: nobody can be asked in a headless run", q->text);
        return NULL;
    }
    struct asking asking = {.kernel = k, .question = q};
    if (loop_call(k->loop, k->waits, &ops, &asking, 0, e) == 0)
        return asking.answer;
    free(asking.answer);
    return NULL;
}
