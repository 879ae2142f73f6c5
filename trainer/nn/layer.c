// SPDX-License-Identifier: MIT
#include "trainer/nn/layer.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

static const char *const kinds[] = {
#define X(name, text, id) text,
    LAYER_KINDS(X)
#undef X
};

static const char *const ids[] = {
#define X(name, text, id) id,
    LAYER_KINDS(X)
#undef X
};

static const char *const activations[] = {
#define X(name, text) text,
    ACTIVATIONS(X)
#undef X
};

const char *layer_kind_name(layer_kind kind)
{
    return kinds[kind];
}

const char *layer_kind_id(layer_kind kind)
{
    return ids[kind];
}

const char *activation_name(activation a)
{
    return activations[a];
}

int layer_kind_parse(const char *text, layer_kind *kind, err *e)
{
    int i = str_index(kinds, ARRAY_LEN(kinds), "layer", text, e);
    if (i < 0)
        return -1;
    *kind = (layer_kind)i;
    return 0;
}

int activation_parse(const char *text, activation *a, err *e)
{
    bool none = strcmp(text, "none") == 0;
    text = strcmp(text, "swish") == 0 ? "silu" : text;
    int i = none ? ACTIVATION_LINEAR
                 : str_index(activations, ARRAY_LEN(activations), "activation", text, e);
    if (i < 0)
        return -1;
    *a = (activation)i;
    return 0;
}

bool activation_is_of_output(activation a)
{
    return a != ACTIVATION_GELU && a != ACTIVATION_SILU;
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
    bool shaped = l->kind == LAYER_FLATTEN || l->kind == LAYER_RESHAPE || l->kind == LAYER_INPUT;
    buf_fmt(out, "%s(", kinds[l->kind]);
    if (l->kind == LAYER_EMBEDDING)
        buf_fmt(out, "%zu, ", l->entries);
    if (l->units || l->kind == LAYER_DENSE)
        buf_fmt(out, "%zu", l->units);
    else if (l->kind == LAYER_DROPOUT)
        buf_fmt(out, "%g", (double)l->rate);
    else if (l->kind == LAYER_ACTIVATION)
        buf_str(out, activation_name(l->activation));
    for (int i = 0; shaped && i < l->dims; i++)
        buf_fmt(out, "%s%zu", i ? ", " : "", l->shape[i]);
    if (l->window[0])
        buf_fmt(out, "%s%zu", l->units ? ", " : "", l->window[0]);
    if (l->window[0] && l->window[1])
        buf_fmt(out, "x%zu", l->window[1]);
    buf_char(out, ')');
}
