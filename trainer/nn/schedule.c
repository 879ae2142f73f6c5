// SPDX-License-Identifier: MIT
#include "trainer/nn/schedule.h"

#include "base/buf.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name, *numbers;
} kinds[] = {
#define X(name, text, numbers) {text, numbers},
    SCHEDULES(X)
#undef X
};

static const struct {
    const char *name;
    size_t at; // in schedule
} numbers[] = {
#define X(name) {#name, offsetof(schedule, name)},
    SCHEDULE_NUMBERS(X)
#undef X
};

int schedule_parse(const char *name, schedule_kind *kind, err *e)
{
    AUTO_BUF known = {0};
    for (size_t i = 1; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            *kind = (schedule_kind)i;
            return 0;
        }
        buf_fmt(&known, "%s%s", i > 1 ? ", " : "", kinds[i].name);
    }
    return err_set(e, ERR_USAGE, "unknown schedule \"%s\" (known: %s)", name, buf_cstr(&known));
}

const char *schedule_name(schedule_kind kind)
{
    return kinds[kind].name;
}

schedule schedule_default(schedule_kind kind)
{
    schedule s = {.kind = kind, .power = 1, .t_mul = 2, .m_mul = 1, .warmup_target = -1};
    s.end_learning_rate = 0.0001;
    return s;
}

static bool has(schedule_kind kind, const char *word)
{
    size_t n = strlen(word);
    const char *list = kinds[kind].numbers;
    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == 0 || at[n] == ' '))
            return true;
    return false;
}

const char *schedule_number(schedule *s, size_t i, double **value)
{
    for (size_t k = 0; k < ARRAY_LEN(numbers); k++)
        if (has(s->kind, numbers[k].name) && i-- == 0) {
            *value = (double *)(void *)((char *)s + numbers[k].at);
            return numbers[k].name;
        }
    return NULL;
}

static int check_pieces(const schedule *s, err *e)
{
    if (s->kind != SCHEDULE_PIECEWISE)
        return 0;
    if (s->pieces < 1 || s->pieces > SCHEDULE_PIECES)
        return err_set(e, ERR_USAGE, "%s takes 1 to %d values, and a boundary less",
            schedule_name(s->kind), SCHEDULE_PIECES);
    for (size_t i = 0; i < s->pieces; i++) {
        if (!(s->value[i] >= 0 && isfinite(s->value[i])))
            return err_set(e, ERR_USAGE, "values must be at least 0, not %g", s->value[i]);
        if (i > 1 && !(s->boundary[i - 1] > s->boundary[i - 2]))
            return err_set(e, ERR_USAGE, "boundaries must ascend");
    }
    return 0;
}

int schedule_check(const schedule *s, err *e)
{
    schedule copy = *s;
    double *value;
    const char *name;
    for (size_t i = 0; (name = schedule_number(&copy, i, &value)); i++) {
        bool divides = strcmp(name, "decay_steps") == 0 || strcmp(name, "first_decay_steps") == 0;
        bool open = strcmp(name, "warmup_target") == 0;
        if (divides && !(*value > 0 && isfinite(*value)))
            return err_set(e, ERR_USAGE, "%s must be greater than 0, not %g", name, *value);
        if (!isfinite(*value) || (*value < 0 && !open))
            return err_set(e, ERR_USAGE, "%s must be at least 0, not %g", name, *value);
    }
    if (s->kind == SCHEDULE_RESTARTS && s->t_mul < 1)
        return err_set(e, ERR_USAGE, "t_mul must be at least 1, not %g", s->t_mul);
    return check_pieces(s, e);
}

static double cosine(double from, double done, double alpha, double height)
{
    return from * ((1 - alpha) * 0.5 * height * (1 + cos(M_PI * done)) + alpha);
}

static double cosine_rate(const schedule *s, double step)
{
    if (s->warmup_target < 0)
        return cosine(
            s->initial_learning_rate, fmin(step, s->decay_steps) / s->decay_steps, s->alpha, 1);
    if (step < s->warmup_steps)
        return s->initial_learning_rate +
               step / s->warmup_steps * (s->warmup_target - s->initial_learning_rate);
    double done = fmin(step - s->warmup_steps, s->decay_steps) / s->decay_steps;
    return cosine(s->warmup_target, done, s->alpha, 1);
}

static double restarts_rate(const schedule *s, double step)
{
    double done = step / s->first_decay_steps, restart;
    if (s->t_mul == 1) {
        restart = floor(done);
        done -= restart;
    } else {
        restart = floor(log(1 - done * (1 - s->t_mul)) / log(s->t_mul));
        double length = pow(s->t_mul, restart);
        done = (done - (1 - length) / (1 - s->t_mul)) / length;
    }
    return cosine(s->initial_learning_rate, done, s->alpha, pow(s->m_mul, restart));
}

static double polynomial_rate(const schedule *s, double step)
{
    double length = s->decay_steps;
    if (s->cycle)
        length *= step > 0 ? ceil(step / length) : 1;
    double left = 1 - fmin(step, length) / length;
    return (s->initial_learning_rate - s->end_learning_rate) * pow(left, s->power) +
           s->end_learning_rate;
}

static double piecewise_rate(const schedule *s, double step)
{
    size_t i = 0;
    while (i + 1 < s->pieces && step > s->boundary[i])
        i++;
    return s->value[i];
}

double schedule_rate(const schedule *s, int64_t steps)
{
    double step = (double)steps, done = step / s->decay_steps;
    done = s->staircase ? floor(done) : done;
    switch (s->kind) {
    case SCHEDULE_EXPONENTIAL:
        return s->initial_learning_rate * pow(s->decay_rate, done);
    case SCHEDULE_INVERSE_TIME:
        return s->initial_learning_rate / (1 + s->decay_rate * done);
    case SCHEDULE_POLYNOMIAL:
        return polynomial_rate(s, step);
    case SCHEDULE_COSINE:
        return cosine_rate(s, step);
    case SCHEDULE_RESTARTS:
        return restarts_rate(s, step);
    case SCHEDULE_PIECEWISE:
        return piecewise_rate(s, step);
    case SCHEDULE_NONE:
        break;
    }
    return 0;
}
