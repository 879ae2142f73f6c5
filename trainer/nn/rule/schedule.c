// SPDX-License-Identifier: MIT
#include "trainer/nn/rule/schedule.h"

#include "base/buf.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

// Files have them in this order, and always both ways to count steps.
#define NUMBER(field, ...)                                                                         \
    {                                                                                              \
#field, ATTRIBUTE_NUMBER, offsetof(schedule, field), .most = HUGE_VAL, .open = true,       \
                                                             __VA_ARGS__                           \
    }
#define INITIAL                                                                                    \
    NUMBER(initial_learning_rate, .required = true, .meaning = "The rate of the first step.")
#define STEPS(field)                                                                               \
    NUMBER(field, .required = true, .positive = true, .meaning = "How many steps it takes.")
#define COUNTED(stairs, cycles)                                                                    \
    {"staircase", ATTRIBUTE_BOOL, offsetof(schedule, staircase), .no_option = !(stairs),           \
        .meaning = "Whether it changes after whole decay_steps alone."},                           \
    {                                                                                              \
        "cycle", ATTRIBUTE_BOOL, offsetof(schedule, cycle),                                        \
            .no_option = !(cycles), .meaning = "Whether it begins again after decay_steps."        \
    }
#define ALPHA NUMBER(alpha, .meaning = "The share of the rate that stays at the end.")

static const attribute decay[] = {INITIAL, STEPS(decay_steps),
    NUMBER(decay_rate, .required = true, .meaning = "How much of it stays, or how fast it goes."),
    COUNTED(true, false), {0}};
static const attribute polynomial[] = {INITIAL, STEPS(decay_steps),
    NUMBER(end_learning_rate, .otherwise = 0.0001, .meaning = "The rate at the end."),
    NUMBER(power, .otherwise = 1, .meaning = "1: along a line."), COUNTED(false, true), {0}};
static const attribute cosine_[] = {INITIAL, STEPS(decay_steps), ALPHA,
    {"warmup_target", ATTRIBUTE_NUMBER, offsetof(schedule, warmup_target), .otherwise = -1,
        .signature = "", .meaning = "The rate after the warm-up; without it there is none."},
    NUMBER(warmup_steps, .meaning = "How many steps the warm-up takes."), COUNTED(false, false),
    {0}};
static const attribute restarts[] = {INITIAL, STEPS(first_decay_steps), ALPHA,
    {"t_mul", ATTRIBUTE_NUMBER, offsetof(schedule, t_mul), .otherwise = 2, .least = 1,
        .most = HUGE_VAL, .open = true, .meaning = "So many times as long is each next turn."},
    NUMBER(m_mul, .otherwise = 1, .meaning = "So many times as high is its beginning."),
    COUNTED(false, false), {0}};
static const attribute piecewise[] = {
    {"boundaries", ATTRIBUTE_LUA, .required = true, .meaning = "Steps at which the rate changes."},
    {"values", ATTRIBUTE_LUA, .required = true, .meaning = "Rates, one more."},
    COUNTED(false, false), {0}};
static const attribute none[] = {COUNTED(false, false), {0}};

static const declaration kinds[] = {
    [SCHEDULE_NONE] = {.name = "", .size = sizeof(schedule), .attributes = none},
    [SCHEDULE_EXPONENTIAL] = {.name = "ExponentialDecay",
        .size = sizeof(schedule),
        .attributes = decay,
        .places = "initial_learning_rate decay_steps decay_rate",
        .checked_later = true,
        .about = "A learning rate: initial · decay_rate^(step/decay_steps); "
                 "nn.optimizers.schedules has it, too.",
        .formula = "i·decay_rate^(s/d); `staircase`: s/d rounded down",
        .source = "Keras 3",
        .example = "optimizer = nn.Adam { nn.ExponentialDecay { 0.01, decay_steps = 100, "
                   "decay_rate = 0.9 } }"},
    [SCHEDULE_INVERSE_TIME] = {.name = "InverseTimeDecay",
        .size = sizeof(schedule),
        .attributes = decay,
        .places = "initial_learning_rate decay_steps decay_rate",
        .checked_later = true,
        .about = "A learning rate: initial/(1 + decay_rate·step/decay_steps).",
        .formula = "i/(1 + decay_rate·s/d); `staircase`: s/d rounded down",
        .source = "Keras 3",
        .example = "optimizer = nn.Adam { nn.InverseTimeDecay { 0.01, decay_steps = 100, "
                   "decay_rate = 0.5 } }"},
    [SCHEDULE_POLYNOMIAL] = {.name = "PolynomialDecay",
        .size = sizeof(schedule),
        .attributes = polynomial,
        .places = "initial_learning_rate decay_steps end_learning_rate power",
        .checked_later = true,
        .about = "A learning rate that falls to its end along a power.",
        .formula = "(i - end)·(1 - min(s, d)/d)^power + end; `cycle`: d is the next multiple of it",
        .source = "Keras 3",
        .example = "optimizer = nn.Adam { nn.PolynomialDecay { 0.01, decay_steps = 100 } }"},
    [SCHEDULE_COSINE] = {.name = "CosineDecay",
        .size = sizeof(schedule),
        .attributes = cosine_,
        .places = "initial_learning_rate decay_steps alpha warmup_target warmup_steps",
        .checked_later = true,
        .about = "A learning rate that falls along half a cosine, after a warm-up.",
        .formula = "i·((1 - alpha)·(1 + cos π·min(s, d)/d)/2 + alpha); with `warmup_target` first "
                   "in `warmup_steps` from i up to it, then from it",
        .source = "Loshchilov & Hutter, arXiv 1608.03983",
        .example = "optimizer = nn.Adam { nn.CosineDecay { 0.01, decay_steps = 100, warmup_target "
                   "= 0.1, warmup_steps = 10 } }"},
    [SCHEDULE_RESTARTS] = {.name = "CosineDecayRestarts",
        .size = sizeof(schedule),
        .attributes = restarts,
        .places = "initial_learning_rate first_decay_steps t_mul m_mul alpha",
        .checked_later = true,
        .about = "A learning rate that falls along a cosine again and again.",
        .formula =
            "the same again and again, each `t_mul` times as long and from `m_mul` times the rate",
        .source = "Loshchilov & Hutter, arXiv 1608.03983",
        .example =
            "optimizer = nn.Adam { nn.CosineDecayRestarts { 0.01, first_decay_steps = 100 } }"},
    [SCHEDULE_PIECEWISE] = {.name = "PiecewiseConstantDecay",
        .size = sizeof(schedule),
        .attributes = piecewise,
        .places = "boundaries values",
        .checked_later = true,
        .about = "A learning rate of steps: values[k] up to boundaries[k].",
        .formula = "values[k] while boundaries[k-1] < s ≤ boundaries[k]",
        .source = "Keras 3",
        .example = "optimizer = nn.Adam { nn.PiecewiseConstantDecay { { 100, 200 }, { 0.1, 0.01, "
                   "0.001 } } }"},
};

const declaration *schedule_declaration(schedule_kind kind)
{
    return &kinds[kind];
}

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
    schedule s = {0};
    declaration_defaults(&kinds[kind], &s);
    s.kind = kind;
    return s;
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
    return declaration_check(&kinds[s->kind], s, e) < 0 ? -1 : check_pieces(s, e);
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
