// SPDX-License-Identifier: MIT
#include "trainer/nn/layer/layer.h"

#include "base/str.h"
#include "trainer/nn/layer/operation.h"

#include <math.h>
#include <string.h>

static const char *const ids[] = {
#define LAYER(name, id, file) #id,
#include "trainer/nn/layer/layers.def"
#undef LAYER
};

enum {
#define X(name, text) ACTIVATION_AT_##name,
    ACTIVATIONS(X)
#undef X
        ACTIVATION_COUNT
};

const char *const activation_names[] = {
#define X(name, text) text,
    ACTIVATIONS(X)
#undef X
        NULL};

const char *layer_kind_name(layer_kind kind)
{
    return op_of(kind)->is.name;
}

const char *layer_kind_id(layer_kind kind)
{
    return ids[kind];
}

const char *activation_name(activation a)
{
    return activation_names[a];
}

int layer_kind_parse(const char *text, layer_kind *kind, err *e)
{
    const char *names[LAYER_KIND_COUNT];
    for (layer_kind k = 0; k < LAYER_KIND_COUNT; k++)
        names[k] = layer_kind_name(k);
    int i = str_index(names, LAYER_KIND_COUNT, "layer", text, e);
    if (i < 0)
        return -1;
    *kind = (layer_kind)i;
    return 0;
}

int activation_choice(const char *text, int *value, err *e)
{
    bool none = strcmp(text, "none") == 0;
    text = strcmp(text, "swish") == 0 ? "silu" : text;
    int i = none ? (int)ACTIVATION_LINEAR
                 : str_index(activation_names, ACTIVATION_COUNT, "activation", text, e);
    *value = i < 0 ? *value : i;
    return i < 0 ? -1 : 0;
}

int activation_parse(const char *text, activation *a, err *e)
{
    int value = 0;
    if (activation_choice(text, &value, e) < 0)
        return -1;
    *a = (activation)value;
    return 0;
}

bool activation_is_of_output(activation a)
{
    return a != ACTIVATION_GELU && a != ACTIVATION_SILU;
}

activation layer_activation(const layer_spec *l)
{
    const attribute *a = attribute_find(&op_of(l->kind)->is, "activation");
    return a && l->own ? *(const activation *)attribute_of(a, l->own) : ACTIVATION_LINEAR;
}

#define SHARE(field, value, of)                                                                    \
    {                                                                                              \
#field, ATTRIBUTE_NUMBER, offsetof(weight_spec, field),                                    \
            .otherwise = value, .most = HUGE_VAL, .open = true,                                    \
            .meaning = "How much " of " counts."                                                   \
    }

const declaration *regularizer_declaration(size_t i)
{
    static const attribute l1[] = {SHARE(l1, 0.01, "the sum of |W|"), {0}};
    static const attribute l2[] = {SHARE(l2, 0.01, "the sum of W²"), {0}};
    static const attribute both[] = {
        SHARE(l1, 0, "the sum of |W|"), SHARE(l2, 0, "the sum of W²"), {0}};
    static const declaration all[REGULARIZERS] = {
        {.name = "L1",
            .other = "l1",
            .size = sizeof(weight_spec),
            .attributes = l1,
            .places = "l1",
            .about = "For kernel_regularizer, bias_regularizer, …: l1·Σ |W| is added to the loss.",
            .formula = "l1·Σ |W| is added to the loss of each batch, also where nothing is "
                       "trained; l1 0.01",
            .source = "Tibshirani 1996",
            .example = "model = nn.Sequential { nn.Dense { 1, input_dim = 2, kernel_regularizer = "
                       "nn.L1 { 0.001 }, bias_regularizer = \"l2\" } }\n"
                       "print(model:count_params()) --> 3"},
        {.name = "L2",
            .other = "l2",
            .size = sizeof(weight_spec),
            .attributes = l2,
            .places = "l2",
            .about = "For kernel_regularizer, bias_regularizer, …: l2·Σ W² is added to the loss.",
            .formula = "l2·Σ W²; l2 0.01",
            .source = "Krogh & Hertz 1992",
            .example = "model = nn.Sequential { nn.Dense { 1, input_dim = 2, kernel_regularizer = "
                       "nn.L2 { 0.001 } } }\n"
                       "print(model:count_params()) --> 3"},
        {.name = "L1L2",
            .other = "l1_l2",
            .size = sizeof(weight_spec),
            .attributes = both,
            .places = "l1 l2",
            .about = "Both of them.",
            .formula = "l1·Σ |W| + l2·Σ W²; both 0",
            .source = "Zou & Hastie 2005",
            .example = "model = nn.Sequential { nn.Dense { 1, input_dim = 2, kernel_regularizer = "
                       "nn.L1L2 { l1 = 0.001, l2 = 0.01 } } }\n"
                       "print(model:count_params()) --> 3"},
    };
    return &all[i];
}

size_t shape_size(const row_shape *s)
{
    size_t n = 1;
    for (int i = 0; i < s->dims; i++)
        if (__builtin_mul_overflow(n, s->size[i], &n))
            return SIZE_MAX;
    return n;
}

void layer_text(const layer_spec *l, buf *out)
{
    const declaration *d = &op_of(l->kind)->is;
    buf_fmt(out, "%s(", d->name);
    if (l->own)
        declaration_text(d, l->own, out);
    buf_char(out, ')');
}
