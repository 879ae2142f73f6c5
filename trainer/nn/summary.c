// SPDX-License-Identifier: MIT
// Keras's table of layers, shapes and parameters.
#include "trainer/nn/internal.h"

static const node *node_of(const model *m, size_t layer)
{
    for (size_t i = 0; m->graph && i < m->graph->n; i++)
        if (m->graph->node[i].layer == &m->layer[layer])
            return &m->graph->node[i];
    return NULL;
}

// "(None, 28, 28)"; "?" while nobody knows.
static void output_shape(const model *m, size_t layer, buf *out)
{
    const node *n = node_of(m, layer);
    if (!n) {
        const layer_spec *l = &m->layer[layer];
        l->kind == LAYER_DENSE ? buf_fmt(out, "(None, %zu)", l->units) : buf_str(out, "?");
        return;
    }
    buf_str(out, "(None");
    for (int d = 0; d < n->out.dims; d++)
        buf_fmt(out, ", %zu", n->out.size[d]);
    buf_char(out, ')');
}

static size_t numbers_of(const model *m, size_t layer, bool fixed)
{
    size_t sum = 0;
    for (size_t i = 0; m->graph && i < m->graph->parameters; i++) {
        const parameter *p = &m->graph->parameter[i];
        sum += p->layer == layer && p->as.fixed == fixed ? p->rows * p->columns : 0;
    }
    return sum;
}

// "dense (Dense)"
static void layer_name(const layer_spec *l, buf *out)
{
    buf_fmt(out, "%s (%s)", l->name, layer_kind_name(l->kind));
}

// The width of the first column.
static int name_width(const model *m)
{
    size_t width = 28;
    for (size_t i = 0; i < m->n; i++) {
        AUTO_BUF name = {0};
        layer_name(&m->layer[i], &name);
        width = name.len > width ? name.len : width;
    }
    return (int)width;
}

static void row(const model *m, size_t i, int width, buf *out)
{
    AUTO_BUF name = {0}, shape = {0}, from = {0};
    const layer_spec *l = &m->layer[i];
    layer_name(l, &name);
    output_shape(m, i, &shape);
    for (size_t k = 0; k < l->froms; k++)
        buf_fmt(&from, "%s%s", k ? ", " : "", m->layer[l->from[k]].name);
    buf_fmt(out, " %-*s %-20s %10zu", width, buf_cstr(&name), buf_cstr(&shape),
        numbers_of(m, i, false) + numbers_of(m, i, true));
    if (m->input_count)
        buf_fmt(out, "  %s", from.len ? buf_cstr(&from) : "-");
    buf_char(out, '\n');
}

void model_summary(const model *m, buf *out)
{
    size_t trained = 0, fixed = 0;
    int width = name_width(m);
    buf_fmt(out, "Model: \"%s\"\n %-*s %-20s %10s%s\n",
        m->input_count ? "functional" : "sequential", width, "Layer (type)", "Output Shape",
        "Param #", m->input_count ? "  Connected to" : "");
    // As Keras, without the input of a row of layers.
    size_t first = !m->input_count && m->layer[0].kind == LAYER_INPUT;
    for (size_t i = first; i < m->n; i++) {
        row(m, i, width, out);
        trained += numbers_of(m, i, false);
        fixed += numbers_of(m, i, true);
    }
    buf_fmt(out, "Total params: %zu\n", trained + fixed);
    if (fixed)
        buf_fmt(out, "Trainable params: %zu\nNon-trainable params: %zu\n", trained, fixed);
}
