// SPDX-License-Identifier: MIT
#include "script/kernel/asks.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/protocol/message.h"

// One question under way; it lives on the Lua thread's stack, which waits for it.
struct waiting_ask {
    kernel *kernel;
    int64_t number;
    const char *question;
    const char *const *choices;
    bool secret;
    char *answer;
    loop_pending *pending;
    struct waiting_ask *next;
};

static void say_state(kernel *k, const char *state)
{
    cJSON *event = message_new(MESSAGE_kernel);
    json_set_str(event, "state", state);
    if (k->running)
        json_set_str(event, "cell", k->running->cell);
    kernel_emit(k, event);
}

static void start_ask(loop_pending *pending, void *arg)
{
    struct waiting_ask *a = arg;
    kernel *k = a->kernel;
    a->pending = pending;
    a->number = ++k->last_ask;
    a->next = k->asks;
    k->asks = a;
    cJSON *event = message_new(MESSAGE_ask);
    json_set_int(event, "ask", a->number);
    json_set_str(event, "question", a->question);
    for (const char *const *c = a->choices; c && *c; c++)
        cJSON_AddItemToArray(json_array_at(event, "choices"), cJSON_CreateString(*c));
    if (k->running)
        json_set_str(event, "cell", k->running->cell);
    if (a->secret)
        json_set_bool(event, "secret", true);
    kernel_emit(k, event);
    say_state(k, "asking");
}

static void finish_ask(struct waiting_ask *a)
{
    for (struct waiting_ask **at = &a->kernel->asks; *at; at = &(*at)->next) {
        if (*at != a)
            continue;
        *at = a->next;
        break;
    }
    say_state(a->kernel, "busy");
    loop_call_finish(a->pending);
}

static void cancel_ask(loop_pending *pending, void *arg)
{
    finish_ask(arg);
}

char *kernel_ask(kernel *k, const char *question, const char *const *choices, bool secret, err *e)
{
    static const struct loop_call_ops ops = {.start = start_ask, .cancel = cancel_ask};
    if (k->options->headless) {
        err_set(e, ERR_REFUSED, "%s: nobody can be asked in a headless run", question);
        return NULL;
    }
    struct waiting_ask ask = {
        .kernel = k, .question = question, .choices = choices, .secret = secret};
    if (loop_call(k->loop, k->waits, &ops, &ask, 0, e) == 0)
        return ask.answer;
    free(ask.answer);
    return NULL;
}

static bool is_choice(const struct waiting_ask *a, const char *value)
{
    for (const char *const *c = a->choices; c && *c; c++)
        if (str_eq(*c, value))
            return true;
    return !a->choices;
}

int asks_answer(kernel *k, int64_t number, const char *value, err *e)
{
    struct waiting_ask *a = k->asks;
    while (a && a->number != number)
        a = a->next;
    if (!a)
        return err_set(e, ERR_NOT_FOUND, "no question %lld waits", (long long)number);
    if (!is_choice(a, value))
        return err_set(e, ERR_INVALID, "\"%s\" is none of the answers to choose from", value);
    cJSON *event = message_new(MESSAGE_answered);
    json_set_int(event, "ask", number);
    if (!a->secret)
        json_set_str(event, "value", value);
    kernel_emit(k, event);
    a->answer = mem_strdup(value);
    finish_ask(a);
    return 0;
}
