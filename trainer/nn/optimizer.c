// SPDX-License-Identifier: MIT
#include "trainer/nn/optimizer.h"

#include "base/buf.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name, *numbers;
} kinds[] = {
#define X(name, text, numbers) {text, numbers},
    OPTIMIZERS(X)
#undef X
};

static const char common[] = "learning_rate weight_decay clipvalue clipnorm global_clipnorm";

static const struct {
    const char *name;
    size_t at; // in optimizer_spec
} numbers[] = {
#define X(name) {#name, offsetof(optimizer_spec, name)},
    OPTIMIZER_NUMBERS(X)
#undef X
};

optimizer_spec optimizer_default(optimizer_kind kind)
{
    optimizer_spec o = {.kind = kind, .learning_rate = 0.001, .epsilon = 1e-7};
    switch (kind) {
    case OPTIMIZER_SGD:
        o.learning_rate = 0.01;
        break;
    case OPTIMIZER_ADAMW:
        o.weight_decay = 0.004;
        // fall through
    case OPTIMIZER_ADAM:
    case OPTIMIZER_LAZY_ADAM:
        o.beta_1 = 0.9;
        o.beta_2 = 0.999;
        break;
    case OPTIMIZER_RMSPROP:
        o.rho = 0.9;
        break;
    case OPTIMIZER_ADAGRAD:
        o.initial_accumulator_value = 0.1;
        break;
    }
    return o;
}

const char *optimizer_name(optimizer_kind kind)
{
    return kinds[kind].name;
}

int optimizer_parse(const char *name, optimizer_kind *kind, err *e)
{
    AUTO_BUF known = {0};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcasecmp(kinds[i].name, name) == 0) {
            *kind = (optimizer_kind)i;
            return 0;
        }
        buf_fmt(&known, "%s%s", i ? ", " : "", kinds[i].name);
    }
    return err_set(e, ERR_USAGE, "unknown optimizer \"%s\" (known: %s)", name, buf_cstr(&known));
}

optimizer_spec optimizer_at(const optimizer_spec *spec, int64_t steps)
{
    optimizer_spec now = *spec;
    if (now.schedule.kind != SCHEDULE_NONE)
        now.learning_rate = schedule_rate(&now.schedule, steps);
    return now;
}

static bool is_word_of(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == 0 || at[n] == ' '))
            return true;
    return false;
}

const char *optimizer_number(optimizer_spec *spec, size_t i, double **value)
{
    for (size_t k = 0; k < ARRAY_LEN(numbers); k++) {
        const char *name = numbers[k].name;
        if (!is_word_of(common, name) && !is_word_of(kinds[spec->kind].numbers, name))
            continue;
        if (i-- == 0) {
            *value = (double *)(void *)((char *)spec + numbers[k].at);
            return name;
        }
    }
    return NULL;
}

// The range of a number, [least, below), by its name.
static int check(const char *name, double value, err *e)
{
    bool share = is_word_of("momentum beta_1 beta_2 rho", name);
    bool positive = strcmp(name, "epsilon") == 0;
    if (value >= 0 && value < (share ? 1 : (double)INFINITY) && !(positive && value <= 0))
        return 0;
    if (positive)
        return err_set(e, ERR_USAGE, "%s must be greater than 0, not %g", name, value);
    return err_set(e, ERR_USAGE, "%s must be at least 0%s, not %g", name,
        share ? " and less than 1" : "", value);
}

int optimizer_check(const optimizer_spec *o, err *e)
{
    double *value;
    const char *name;
    optimizer_spec copy = *o;
    for (size_t i = 0; (name = optimizer_number(&copy, i, &value)); i++)
        if (check(name, *value, e) < 0)
            return -1;
    if (o->schedule.kind != SCHEDULE_NONE && schedule_check(&o->schedule, e) < 0)
        return err_wrap(e, "%s", schedule_name(o->schedule.kind));
    if ((o->clipvalue > 0) + (o->clipnorm > 0) + (o->global_clipnorm > 0) > 1)
        return err_set(
            e, ERR_USAGE, "only one of clipvalue, clipnorm and global_clipnorm can be set");
    return 0;
}

size_t optimizer_slots(const optimizer_spec *o)
{
    switch (o->kind) {
    case OPTIMIZER_SGD:
        return o->momentum > 0;
    case OPTIMIZER_RMSPROP:
        return 1 + (o->momentum > 0) + o->centered;
    case OPTIMIZER_ADAGRAD:
        return 1;
    case OPTIMIZER_ADAM:
    case OPTIMIZER_ADAMW:
    case OPTIMIZER_LAZY_ADAM:
        break;
    }
    return 2;
}

const char *optimizer_slot_name(const optimizer_spec *o, size_t slot)
{
    static const char *const names[][2] = {[OPTIMIZER_SGD] = {"momentum", ""},
        [OPTIMIZER_ADAM] = {"m", "v"},
        [OPTIMIZER_ADAMW] = {"m", "v"},
        [OPTIMIZER_LAZY_ADAM] = {"m", "v"},
        [OPTIMIZER_RMSPROP] = {"velocity", "momentum"},
        [OPTIMIZER_ADAGRAD] = {"accumulator", ""}};
    if (optimizer_is_centered(o) && slot + 1 == optimizer_slots(o))
        return "average_gradient";
    return names[o->kind][slot];
}
