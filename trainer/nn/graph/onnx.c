// SPDX-License-Identifier: MIT
#include "trainer/nn/graph/onnx.h"

#include "base/data/wire.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

// Opset 17 is the first with LayerNormalization, and its ONNX, 1.12 of 2022, writes IR version 8:
// so every runtime since then reads the files. Nothing of a later one is needed: gelu, which is an
// operator since 20, is written by its formula.
enum { IR_VERSION = 8, OPSET = 17 };

// onnx.proto: the numbers of the fields, types of attributes and of elements.
enum {
    MODEL_IR = 1,
    MODEL_PRODUCER = 2,
    MODEL_VERSION = 3,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    OPSET_VERSION = 2
};
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_TENSOR = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_F = 2,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_S = 4,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20
};
enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_STRING = 3, TYPE_INTS = 7 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, TENSOR_ELEMENT = 1, TENSOR_SHAPE = 2 };
enum { SHAPE_DIM = 1, DIM_VALUE = 1, DIM_PARAM = 2 };
enum { ELEMENT_FLOAT = 1, ELEMENT_INT64 = 7 };

static const size_t none = SIZE_MAX;

struct value {
    char *name;
    size_t step;  // that computes it; none: an input, a weight, a constant
    bool indices; // INT64
};

struct step {
    const char *type;
    size_t n;
    onnx_value *x, y;
    buf attributes;
    bool is_output; // of the model
};

struct onnx {
    const graph *g;
    const float *values;
    size_t here;           // the node of the graph that operations work on
    onnx_value (*form)[2]; // [g->n], by layout
    onnx_value *weight;    // [g->parameters]
    size_t n, room;
    struct value *value;
    size_t steps, steps_room;
    struct step *step;
    buf tensors, inputs, outputs; // fields of the graph
};

onnx *onnx_new(const graph *g, const float *values)
{
    onnx *o = mem_alloc(sizeof *o);
    o->g = g;
    o->values = values;
    o->form = mem_array(g->n, sizeof *o->form);
    for (size_t i = 0; i < g->n; i++)
        o->form[i][ONNX_LAST] = o->form[i][ONNX_FIRST] = none;
    o->weight = mem_array(g->parameters + 1, sizeof *o->weight);
    for (size_t i = 0; i < g->parameters; i++)
        o->weight[i] = none;
    return o;
}

void onnx_free(onnx *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->n; i++)
        free(o->value[i].name);
    for (size_t i = 0; i < o->steps; i++) {
        free(o->step[i].x);
        buf_done(&o->step[i].attributes);
    }
    free(o->value);
    free(o->step);
    free(o->form);
    free(o->weight);
    buf_done(&o->tensors);
    buf_done(&o->inputs);
    buf_done(&o->outputs);
    free(o);
}

void onnx_at(onnx *o, size_t i)
{
    o->here = i;
}

static bool is_taken(const onnx *o, const char *name)
{
    for (size_t i = 0; i < o->n; i++)
        if (strcmp(o->value[i].name, name) == 0)
            return true;
    return false;
}

// The name, with a number behind it where another value has it.
static char *free_name(const onnx *o, const char *wanted)
{
    buf name = {0};
    size_t number = 0;
    utf8_clean(&name, wanted, strlen(wanted));
    size_t length = name.len;
    while (is_taken(o, buf_cstr(&name))) {
        name.len = length;
        buf_fmt(&name, "_%zu", ++number);
    }
    buf_str(&name, "");
    return buf_take(&name);
}

static onnx_value add_value(onnx *o, const char *name, size_t step, bool indices)
{
    char *own = free_name(o, name);
    if (o->n == o->room)
        o->value = mem_resize(o->value, o->room = 2 * o->room + 64, sizeof *o->value);
    o->value[o->n] = (struct value){own, step, indices};
    return o->n++;
}

// A value of the layer: dense/Gemm.
static onnx_value add_own(onnx *o, const char *what, size_t step, bool indices)
{
    AUTO_BUF name = {0};
    buf_fmt(&name, "%s/%s", o->g->node[o->here].layer->name, what);
    return add_value(o, buf_cstr(&name), step, indices);
}

onnx_value onnx_node(onnx *o, const char *type, size_t n, const onnx_value *x)
{
    if (o->steps == o->steps_room)
        o->step = mem_resize(o->step, o->steps_room = 2 * o->steps_room + 64, sizeof *o->step);
    onnx_value y = add_own(o, type, o->steps, false);
    o->step[o->steps++] =
        (struct step){.type = type, .n = n, .x = mem_dup(x, n * sizeof *x), .y = y};
    return y;
}

static void add_attribute(onnx *o, const char *name, int type, buf *value)
{
    AUTO_BUF field = {0};
    wire_text(&field, ATTRIBUTE_NAME, name);
    buf_add(&field, value->data, value->len);
    wire_int(&field, ATTRIBUTE_TYPE, type);
    wire_bytes(&o->step[o->steps - 1].attributes, NODE_ATTRIBUTE, field.data, field.len);
}

void onnx_set_int(onnx *o, const char *field, int64_t value)
{
    AUTO_BUF bytes = {0};
    wire_int(&bytes, ATTRIBUTE_I, value);
    add_attribute(o, field, TYPE_INT, &bytes);
}

void onnx_set_float(onnx *o, const char *field, double value)
{
    AUTO_BUF bytes = {0};
    wire_float(&bytes, ATTRIBUTE_F, (float)value);
    add_attribute(o, field, TYPE_FLOAT, &bytes);
}

void onnx_set_text(onnx *o, const char *field, const char *value)
{
    AUTO_BUF bytes = {0};
    wire_text(&bytes, ATTRIBUTE_S, value);
    add_attribute(o, field, TYPE_STRING, &bytes);
}

void onnx_set_ints(onnx *o, const char *field, size_t n, const int64_t *values)
{
    AUTO_BUF bytes = {0};
    for (size_t i = 0; i < n; i++)
        wire_int(&bytes, ATTRIBUTE_INTS, values[i]);
    add_attribute(o, field, TYPE_INTS, &bytes);
}

// The two layouts of a node's output are one for rows of one dimension. A Transpose makes the other
// one when it is first wanted.
static onnx_value form_of(onnx *o, size_t i, onnx_layout layout)
{
    int dims = o->g->node[i].out.dims;
    int64_t to[TENSOR_MAX_DIMS + 1] = {0};
    onnx_value *form = o->form[i];
    if (form[layout] != none)
        return form[layout];
    if (dims < 2)
        return form[layout] = form[!layout];
    for (int d = 1; d <= dims; d++)
        to[d] = layout == ONNX_LAST ? d % dims + 1 : (d + dims - 2) % dims + 1;
    form[layout] = ONNX_NODE(o, "Transpose", form[!layout]);
    onnx_set_ints(o, "perm", (size_t)dims + 1, to);
    return form[layout];
}

onnx_value onnx_take(onnx *o, size_t i, onnx_layout layout)
{
    return form_of(o, o->g->node[o->here].input[i], layout);
}

onnx_layout onnx_given(const onnx *o)
{
    const node *n = &o->g->node[o->here];
    for (size_t i = 0; i < n->inputs; i++)
        if (o->g->node[n->input[i]].out.dims < 2 || o->form[n->input[i]][ONNX_FIRST] == none)
            return ONNX_LAST;
    return ONNX_FIRST;
}

onnx_value onnx_indices(onnx *o, size_t i)
{
    onnx_value x = onnx_take(o, i, ONNX_LAST);
    if (o->value[x].indices)
        return x;
    x = ONNX_NODE(o, "Cast", x);
    onnx_set_int(o, "to", ELEMENT_INT64);
    return x;
}

// The head of a tensor of so many bytes, which the caller adds.
static void begin_tensor(
    onnx *o, onnx_value v, int element, int dims, const size_t *shape, size_t bytes)
{
    AUTO_BUF head = {0};
    for (int i = 0; i < dims; i++)
        wire_int(&head, TENSOR_DIMS, (int64_t)shape[i]);
    wire_int(&head, TENSOR_TYPE, element);
    wire_text(&head, TENSOR_NAME, o->value[v].name);
    wire_head(&head, TENSOR_RAW, bytes);
    wire_head(&o->tensors, GRAPH_TENSOR, head.len + bytes);
    buf_add(&o->tensors, head.data, head.len);
    buf_reserve(&o->tensors, bytes);
}

onnx_value onnx_weight(onnx *o, size_t i, const int *order)
{
    static const int plain[] = {0, 1, 2, 3};
    size_t number = o->g->node[o->here].first + i;
    const parameter *p = &o->g->parameter[number];
    size_t shape[4] = {0}, step[4] = {0}, each = 1, from[4];
    int dims = p->as.dims;
    order = order ? order : plain;
    if (o->weight[number] != none) // the layer was called before
        return o->weight[number];
    for (int d = dims; d-- > 0; each *= p->as.shape[d])
        from[d] = each; // how far apart the numbers of dimension d are here
    for (int d = 0; d < dims; d++) {
        shape[d] = p->as.shape[order[d]];
        step[d] = from[order[d]];
    }
    onnx_value v = o->weight[number] = add_own(o, p->as.name, none, false);
    begin_tensor(o, v, ELEMENT_FLOAT, dims, shape, each * sizeof(float));
    for (size_t k = 0; k < each; k++) {
        size_t rest = k, at = 0;
        for (int d = dims; d-- > 0; rest /= shape[d])
            at += rest % shape[d] * step[d];
        const float *from_run = &o->values[parameter_at(p, at / p->columns, at % p->columns)];
        buf_add(&o->tensors, from_run, sizeof *from_run);
    }
    return v;
}

onnx_value onnx_constant(onnx *o, const char *name, float value)
{
    onnx_value v = add_own(o, name, none, false);
    begin_tensor(o, v, ELEMENT_FLOAT, 0, NULL, sizeof value);
    buf_add(&o->tensors, &value, sizeof value);
    return v;
}

onnx_value onnx_filled(onnx *o, const char *name, size_t n, float value)
{
    onnx_value v = add_own(o, name, none, false);
    begin_tensor(o, v, ELEMENT_FLOAT, 1, &n, n * sizeof value);
    for (size_t i = 0; i < n; i++)
        buf_add(&o->tensors, &value, sizeof value);
    return v;
}

onnx_value onnx_floats(onnx *o, const char *name, size_t n, const float *values)
{
    onnx_value v = add_own(o, name, none, false);
    begin_tensor(o, v, ELEMENT_FLOAT, 1, &n, n * sizeof *values);
    buf_add(&o->tensors, values, n * sizeof *values);
    return v;
}

onnx_value onnx_list(onnx *o, const char *name, size_t n, const int64_t *values)
{
    onnx_value v = add_own(o, name, none, true);
    begin_tensor(o, v, ELEMENT_INT64, 1, &n, n * sizeof *values);
    buf_add(&o->tensors, values, n * sizeof *values);
    return v;
}

void onnx_give(onnx *o, onnx_value y, onnx_layout layout)
{
    o->form[o->here][layout] = y;
}

// An input or output of the model: any number of rows of this shape.
static void add_end(buf *out, int field, const struct value *v, const row_shape *row)
{
    AUTO_BUF shape = {0}, typed = {0}, type = {0}, info = {0};
    for (int i = -1; i < row->dims; i++) {
        AUTO_BUF dim = {0};
        if (i < 0)
            wire_text(&dim, DIM_PARAM, "batch");
        else
            wire_int(&dim, DIM_VALUE, (int64_t)row->size[i]);
        wire_bytes(&shape, SHAPE_DIM, dim.data, dim.len);
    }
    wire_int(&typed, TENSOR_ELEMENT, v->indices ? ELEMENT_INT64 : ELEMENT_FLOAT);
    wire_bytes(&typed, TENSOR_SHAPE, shape.data, shape.len);
    wire_bytes(&type, TYPE_TENSOR, typed.data, typed.len);
    wire_text(&info, VALUE_NAME, v->name);
    wire_bytes(&info, VALUE_TYPE, type.data, type.len);
    wire_bytes(out, field, info.data, info.len);
}

void onnx_input(onnx *o, size_t i, const char *name, bool indices)
{
    onnx_value v = add_value(o, name, none, indices);
    o->form[i][ONNX_LAST] = v;
    add_end(&o->inputs, GRAPH_INPUT, &o->value[v], &o->g->node[i].out);
}

// The value is given the name, unless it is an input or has the name of another output.
void onnx_same(onnx *o, size_t i, size_t j)
{
    memcpy(o->form[i], o->form[j], sizeof o->form[i]);
}

void onnx_output(onnx *o, size_t i, const char *name)
{
    onnx_at(o, i);
    onnx_value v = form_of(o, i, ONNX_LAST);
    if (o->value[v].step == none || o->step[o->value[v].step].is_output)
        v = ONNX_NODE(o, "Identity", v);
    o->step[o->value[v].step].is_output = true;
    char *own = free_name(o, name);
    free(o->value[v].name);
    o->value[v].name = own;
    add_end(&o->outputs, GRAPH_OUTPUT, &o->value[v], &o->g->node[i].out);
}

static void add_step(const onnx *o, const struct step *s, buf *all)
{
    AUTO_BUF fields = {0};
    for (size_t i = 0; i < s->n; i++)
        wire_text(&fields, NODE_INPUT, o->value[s->x[i]].name);
    wire_text(&fields, NODE_OUTPUT, o->value[s->y].name);
    wire_text(&fields, NODE_NAME, o->value[s->y].name);
    wire_text(&fields, NODE_TYPE, s->type);
    buf_add(&fields, s->attributes.data, s->attributes.len);
    wire_bytes(all, GRAPH_NODE, fields.data, fields.len);
}

void onnx_finish(const onnx *o, const char *name, buf *out)
{
    AUTO_BUF all = {0}, opset = {0}, text = {0};
    utf8_clean(&text, name, strlen(name));
    for (size_t i = 0; i < o->steps; i++)
        add_step(o, &o->step[i], &all);
    wire_text(&all, GRAPH_NAME, buf_cstr(&text));
    wire_int(&opset, OPSET_VERSION, OPSET);
    wire_int(out, MODEL_IR, IR_VERSION);
    wire_text(out, MODEL_PRODUCER, "firesteel");
    wire_text(out, MODEL_VERSION, FIRESTEEL_VERSION);
    wire_bytes(out, MODEL_OPSET, opset.data, opset.len);
    wire_head(out, MODEL_GRAPH, all.len + o->tensors.len + o->inputs.len + o->outputs.len);
    buf_add(out, all.data, all.len);
    buf_add(out, o->tensors.data, o->tensors.len);
    buf_add(out, o->inputs.data, o->inputs.len);
    buf_add(out, o->outputs.data, o->outputs.len);
}
