// SPDX-License-Identifier: MIT
#include "trainer/nn/rule/optimizer.h"

#include "base/buf.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>
#include <strings.h>

// Files have them in this order.
#define NUMBER(field, ...)                                                                         \
    {                                                                                              \
#field, ATTRIBUTE_NUMBER, offsetof(optimizer_spec, field), .most = HUGE_VAL, .open = true, \
                                                                   __VA_ARGS__                     \
    }
#define SHARE(field, ...)                                                                          \
    {                                                                                              \
#field, ATTRIBUTE_NUMBER, offsetof(optimizer_spec, field), .most = 1, .open = true,        \
                                                                   __VA_ARGS__                     \
    }
#define RATE(value)                                                                                \
    {                                                                                              \
        "learning_rate", ATTRIBUTE_RATE, offsetof(optimizer_spec, learning_rate),                  \
            .otherwise = value, .most = HUGE_VAL, .open = true,                                    \
            .meaning = "A number, or a schedule, as nn.CosineDecay { 0.1, 1000 }."                 \
    }
#define EPSILON                                                                                    \
    NUMBER(epsilon, .otherwise = 1e-7, .positive = true, .signature = "1e-7",                      \
        .meaning = "Keeps a small gradient from a long step.")
#define BETAS                                                                                      \
    SHARE(beta_1, .otherwise = 0.9, .meaning = "How much of the mean gradient stays in a step."),  \
        SHARE(beta_2, .otherwise = 0.999,                                                          \
            .meaning = "How much of the mean squared gradient stays in a step.")
#define MOMENTUM SHARE(momentum, .meaning = "How much of a step goes on in the next one.")
#define COMMON(decay)                                                                              \
    NUMBER(weight_decay, .otherwise = decay,                                                       \
        .meaning = "So much of each weight, times the learning rate, is taken away in a step."),   \
        NUMBER(clipvalue, .signature = "", .meaning = "No number of a gradient is larger."),       \
        NUMBER(clipnorm, .signature = "", .meaning = "No weight's gradient is longer."),           \
        NUMBER(global_clipnorm, .signature = "",                                                   \
            .meaning = "All gradients together are not longer."),                                  \
    {                                                                                              \
        "groups", ATTRIBUTE_LUA,                                                                   \
            .signature = "{}",                                                                     \
            .meaning =                                                                             \
                "Weights that follow it otherwise: { { \"dense\", \"*/bias\", weight_decay = "     \
                "0 }, … }; learning_rate_multiplier, weight_decay, trainable."                   \
    }

static const attribute sgd[] = {RATE(0.01), MOMENTUM, COMMON(0),
    {"nesterov", ATTRIBUTE_BOOL, offsetof(optimizer_spec, nesterov),
        .meaning = "Whether the step looks ahead along the momentum."},
    {0}};
static const attribute adam[] = {RATE(0.001), BETAS, EPSILON, COMMON(0), {0}};
static const attribute adamw[] = {RATE(0.001), BETAS, EPSILON, COMMON(0.004), {0}};
static const attribute rmsprop[] = {RATE(0.001), MOMENTUM,
    SHARE(
        rho, .otherwise = 0.9, .meaning = "How much of the mean squared gradient stays in a step."),
    EPSILON, COMMON(0),
    {"centered", ATTRIBUTE_BOOL, offsetof(optimizer_spec, centered),
        .meaning = "Whether the gradient's variance divides, not its mean square."},
    {0}};
static const attribute adagrad[] = {RATE(0.001), EPSILON,
    NUMBER(initial_accumulator_value, .otherwise = 0.1, .meaning = "What the sums begin with."),
    COMMON(0), {0}};

static const declaration kinds[] = {
    [OPTIMIZER_SGD] = {.name = "SGD",
        .size = sizeof(optimizer_spec),
        .attributes = sgd,
        .places = "learning_rate momentum nesterov",
        .checked_later = true,
        .about = "Stochastic gradient descent.",
        .formula = "v ← momentum·v - lr·g; w ← w + v (momentum 0: w ← w - lr·g); `nesterov`: w ← w "
                   "+ momentum·v - lr·g",
        .source = "Sutskever and others 2013",
        .example = "optimizer = nn.SGD { 0.1, momentum = 0.9, nesterov = true }"},
    [OPTIMIZER_ADAM] = {.name = "Adam",
        .size = sizeof(optimizer_spec),
        .attributes = adam,
        .places = "learning_rate beta_1 beta_2 epsilon",
        .checked_later = true,
        .about = "The optimizer Adam; groups: of weights that follow it otherwise, { { \"dense\", "
                 "\"*/bias\", learning_rate_multiplier =, weight_decay =, trainable = } }.",
        .formula =
            "m ← β1·m + (1-β1)·g; v ← β2·v + (1-β2)·g²; w ← w - lr·√(1-β2ᵗ)/(1-β1ᵗ)·m/(√v + ε)",
        .source = "Kingma & Ba, arXiv 1412.6980, before section 2.1",
        .example = "model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }\n"
                   "model:compile { optimizer = nn.Adam { 0.01, clipnorm = 1 }, loss = \"mse\" }\n"
                   "print(model.learning_rate) --> 0.01"},
    [OPTIMIZER_ADAMW] = {.name = "AdamW",
        .size = sizeof(optimizer_spec),
        .attributes = adamw,
        .places = "learning_rate weight_decay beta_1 beta_2 epsilon",
        .checked_later = true,
        .about = "Adam with decoupled weight decay.",
        .formula = "Adam with weight_decay 0.004",
        .source = "Loshchilov & Hutter, arXiv 1711.05101",
        .example = "optimizer = nn.AdamW { learning_rate = 0.001, weight_decay = 0.01 }"},
    [OPTIMIZER_RMSPROP] = {.name = "RMSprop",
        .size = sizeof(optimizer_spec),
        .attributes = rmsprop,
        .places = "learning_rate rho momentum epsilon centered",
        .checked_later = true,
        .about = "The optimizer RMSprop.",
        .formula = "v ← ρ·v + (1-ρ)·g²; w ← w - lr·g/√(v + ε); with `momentum`: m ← momentum·m + "
                   "lr·g/√(v + ε), w ← w - m; `centered`: a ← ρ·a + (1-ρ)·g, and v - a² instead of "
                   "v (Graves, arXiv 1308.0850)",
        .source = "Tieleman & Hinton 2012",
        .example = "optimizer = nn.RMSprop { 0.01, momentum = 0.9 }"},
    [OPTIMIZER_ADAGRAD] = {.name = "Adagrad",
        .size = sizeof(optimizer_spec),
        .attributes = adagrad,
        .places = "learning_rate initial_accumulator_value epsilon",
        .checked_later = true,
        .about = "The optimizer Adagrad.",
        .formula = "a ← a + g², from `initial_accumulator_value`; w ← w - lr·g/√(a + ε)",
        .source = "Duchi, Hazan, Singer 2011",
        .example = "optimizer = nn.Adagrad { 0.1 }"},
    [OPTIMIZER_LAZY_ADAM] = {.name = "LazyAdam",
        .size = sizeof(optimizer_spec),
        .attributes = adam,
        .places = "learning_rate beta_1 beta_2 epsilon",
        .checked_later = true,
        .about = "Adam that leaves rows of Embeddings alone which a batch does not name, as "
                 "TensorFlow Addons's.",
        .formula = "Adam; of an Embedding's table only the rows that the batch names change: w, m, "
                   "v and their weight decay",
        .source = "TensorFlow Addons, LazyAdam; PyTorch, SparseAdam",
        .example = "model = nn.Sequential { nn.Embedding { 1000, 8, input_shape = { 2 } }, "
                   "nn.Flatten {}, nn.Dense { 1 } }\n"
                   "model:compile { optimizer = nn.LazyAdam { 0.01 }, loss = \"mse\" }"},
};

const declaration *optimizer_declaration(optimizer_kind kind)
{
    return &kinds[kind];
}

optimizer_spec optimizer_default(optimizer_kind kind)
{
    optimizer_spec o = {0};
    declaration_defaults(&kinds[kind], &o);
    o.kind = kind;
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

int optimizer_check(const optimizer_spec *o, err *e)
{
    if (declaration_check(&kinds[o->kind], o, e) < 0)
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
