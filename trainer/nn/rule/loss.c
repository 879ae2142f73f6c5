// SPDX-License-Identifier: MIT
#include "trainer/nn/rule/loss.h"

#include "base/buf.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name, *alias;
} losses[] = {
#define X(name, text, alias) {text, alias},
    LOSSES(X)
#undef X
};

#define LOGITS                                                                                     \
    {                                                                                              \
        "from_logits", ATTRIBUTE_BOOL, offsetof(loss_options, from_logits),                        \
            .meaning = "Whether outputs are taken before softmax or sigmoid."                      \
    }

static const attribute nothing[] = {{0}};
static const attribute logits[] = {LOGITS, {0}};
static const attribute smoothed[] = {LOGITS,
    {"label_smoothing", ATTRIBUTE_NUMBER, offsetof(loss_options, label_smoothing), .most = HUGE_VAL,
        .meaning = "So much of each target goes to all outputs alike."},
    {0}};
static const attribute huber[] = {
    {"delta", ATTRIBUTE_NUMBER, offsetof(loss_options, delta), .most = HUGE_VAL, .signature = "1",
        .meaning = "From where on it is linear."},
    {0}};

static const declaration declared[] = {
    [LOSS_SPARSE_CATEGORICAL_CROSSENTROPY] = {.name = "SparseCategoricalCrossentropy",
        .size = sizeof(loss_options),
        .checked_later = true,
        .attributes = logits,
        .places = "from_logits",
        .about = "A loss with options; others are told by name.",
        .formula = "-log p[y], y a class number",
        .source = "Bridle 1990",
        .example =
            "model = nn.Sequential { nn.Dense { 3, input_dim = 2 } }\n"
            "model:compile { loss = nn.SparseCategoricalCrossentropy { from_logits = true } }"},
    [LOSS_CATEGORICAL_CROSSENTROPY] = {.name = "CategoricalCrossentropy",
        .size = sizeof(loss_options),
        .checked_later = true,
        .attributes = smoothed,
        .places = "from_logits label_smoothing",
        .about = "A loss with options.",
        .formula = "-Σ y·log p; `label_smoothing` s: y ← y·(1-s) + s/outputs",
        .source = "Bridle 1990; label_smoothing: Szegedy and others, arXiv 1512.00567",
        .example =
            "model = nn.Sequential { nn.Dense { 3, input_dim = 2, activation = \"softmax\" } }\n"
            "model:compile { loss = nn.CategoricalCrossentropy { label_smoothing = 0.1 } }"},
    [LOSS_BINARY_CROSSENTROPY] = {.name = "BinaryCrossentropy",
        .size = sizeof(loss_options),
        .checked_later = true,
        .attributes = smoothed,
        .places = "from_logits label_smoothing",
        .about = "A loss with options.",
        .formula = "mean -y·log p - (1-y)·log(1-p); `label_smoothing` s: y ← y·(1-s) + s/2",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }\n"
                   "model:compile { loss = nn.BinaryCrossentropy { from_logits = true } }"},
    [LOSS_MEAN_SQUARED_ERROR] = {.name = "MeanSquaredError",
        .size = sizeof(loss_options),
        .checked_later = true,
        .attributes = nothing,
        .about = "As \"mean_squared_error\".",
        .formula = "mean (y-p)²",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }\n"
                   "model:compile { loss = nn.MeanSquaredError {} }"},
    [LOSS_MEAN_ABSOLUTE_ERROR] = {.name = "MeanAbsoluteError",
        .size = sizeof(loss_options),
        .checked_later = true,
        .attributes = nothing,
        .about = "As \"mean_absolute_error\".",
        .formula = "mean |y-p|",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }\n"
                   "model:compile { loss = nn.MeanAbsoluteError {} }"},
    [LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR] = {.name = "MeanAbsolutePercentageError",
        .size = sizeof(loss_options),
        .checked_later = true,
        .attributes = nothing,
        .about = "As \"mean_absolute_percentage_error\".",
        .formula = "100 · mean |y-p|/max(|y|, 1e-7)",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }\n"
                   "model:compile { loss = nn.MeanAbsolutePercentageError {} }"},
    [LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR] = {.name = "MeanSquaredLogarithmicError",
        .size = sizeof(loss_options),
        .checked_later = true,
        .attributes = nothing,
        .about = "As \"mean_squared_logarithmic_error\".",
        .formula = "mean (log(max(y, 1e-7)+1) - log(max(p, 1e-7)+1))²",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }\n"
                   "model:compile { loss = nn.MeanSquaredLogarithmicError {} }"},
    [LOSS_HUBER] = {.name = "Huber",
        .size = sizeof(loss_options),
        .checked_later = true,
        .attributes = huber,
        .places = "delta",
        .about = "A loss that is squared near its target and linear far from it.",
        .formula = "mean of (y-p)²/2 where |y-p| ≤ `delta`, else delta·|y-p| - delta²/2",
        .source = "Huber 1964",
        .example = "model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }\n"
                   "model:compile { loss = nn.Huber { delta = 0.5 } }"},
    [LOSS_LOG_COSH] = {.name = "LogCosh",
        .size = sizeof(loss_options),
        .checked_later = true,
        .attributes = nothing,
        .about = "As \"log_cosh\".",
        .formula = "mean log cosh(p-y)",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }\n"
                   "model:compile { loss = nn.LogCosh {} }"},
    [LOSS_POISSON] = {.name = "Poisson",
        .size = sizeof(loss_options),
        .checked_later = true,
        .attributes = nothing,
        .about = "As \"poisson\".",
        .formula = "mean p - y·log(p + 1e-7)",
        .source = "Keras 3",
        .example = "model = nn.Sequential { nn.Dense { 1, input_dim = 2 } }\n"
                   "model:compile { loss = nn.Poisson {} }"},
    [LOSS_RMSPE] = {.name = "",
        .size = sizeof(loss_options),
        .checked_later = true,
        .attributes = nothing,
        .formula = "√ mean ((y-p)/y)² over all y of the batch that are not 0; Keras has none",
        .source = "Kaggle, Rossmann store sales"},
};

const char *loss_alias(loss_kind kind)
{
    return losses[kind].alias;
}

const declaration *loss_declaration(loss_kind kind)
{
    return &declared[kind];
}

const char *loss_name(loss_kind kind)
{
    return losses[kind].name;
}

int loss_parse(const char *name, loss_kind *kind, err *e)
{
    AUTO_BUF known = {0};
    for (size_t i = 0; i < ARRAY_LEN(losses); i++) {
        if (strcmp(losses[i].name, name) == 0 || (*name && strcmp(losses[i].alias, name) == 0)) {
            *kind = (loss_kind)i;
            return 0;
        }
        const char *alias = losses[i].alias;
        buf_fmt(&known, "%s%s%s%s%s", i ? ", " : "", losses[i].name, *alias ? " (" : "", alias,
            *alias ? ")" : "");
    }
    return err_set(e, ERR_USAGE, "unknown loss \"%s\" (known: %s)", name, buf_cstr(&known));
}
