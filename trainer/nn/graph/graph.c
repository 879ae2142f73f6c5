// SPDX-License-Identifier: MIT
#include "trainer/nn/graph/graph.h"

#include "base/mem.h"
#include "trainer/nn/layer/layers.h"

#include <math.h>
#include <string.h>

// This keeps all products of sizes far from overflow.
static const size_t values_max = (size_t)1 << 34;

static const char *name_of(const node *n)
{
    return n->layer ? n->layer->name : "the input";
}

// Adds one more node; those that it takes are numbers of nodes.
static node *add(graph *g, const op *what, const layer_spec *l, size_t number, size_t inputs)
{
    node *n = &g->node[g->n++];
    *n = (node){.op = what,
        .layer = l,
        .number = number,
        .inputs = inputs,
        .owner = g->n - 1,
        .id = g->n - 1};
    n->input = mem_array(inputs ? inputs : 1, sizeof *n->input);
    return n;
}

enum { ECHO = OP_PARTS, MADE }; // in graph.made, of each layer

static size_t parts_of(const layer_spec *l)
{
    return op_of_layer(l)->parts ? OP_PARTS : 1;
}

// The same for a part of a layer, or the layer itself where it is one.
static node *add_part(graph *g, const layer_spec *l, size_t number, size_t part, size_t inputs)
{
    const op *whole = op_of_layer(l);
    layer_spec *made = &g->made[number * MADE];
    if (!whole->parts)
        return add(g, whole, l, number, inputs);
    if (part == 0) {
        void *own[OP_PARTS];
        for (size_t k = 0; k < OP_PARTS; k++)
            own[k] = mem_alloc(whole->is.size);
        whole->parts(l, made, own);
    }
    return add(g, op_of_layer(&made[part]), &made[part], number, inputs);
}

static int check_inputs(const node *n, err *e)
{
    if (n->inputs >= n->op->least && n->inputs <= n->op->most)
        return 0;
    return err_set(e, ERR_USAGE, "%s expects %s%zu input%s, got %zu", name_of(n),
        n->op->most > n->op->least ? "at least " : "", n->op->least, n->op->least == 1 ? "" : "s",
        n->inputs);
}

static int infer(const graph *g, node *n, err *e)
{
    ERR_GUARD(e);
    AUTO_FREE row_shape *in = mem_array(n->inputs ? n->inputs : 1, sizeof *in);
    AUTO_BUF shape = {0};
    for (size_t i = 0; i < n->inputs; i++)
        in[i] = g->node[n->input[i]].out;
    if (check_inputs(n, e) < 0)
        return -1;
    if (n->op->infer(n->layer, n->inputs, in, &n->out, e) < 0) {
        AUTO_BUF text = {0};
        buf_str(&text, e->text);
        return err_set(e, e->code, "%s %s", name_of(n), buf_cstr(&text));
    }
    size_t size = shape_size(&n->out);
    n->remat = n->layer && n->layer->remat && size >= n->layer->remat;
    if (size >= 1 && size <= OP_UNITS_MAX)
        return 0;
    shape_text(n->out.dims, n->out.size, &shape);
    return err_set(e, ERR_LIMIT, "%s would have rows of shape %s", name_of(n), buf_cstr(&shape));
}

static size_t columns_of(const op_parameter *p)
{
    return p->shape[p->dims - 1];
}

// The parameters of the layer's first call.
static int share_parameters(graph *g, node *n, size_t owner, err *e)
{
    op_parameter found[OP_PARAMETERS];
    AUTO_BUF has = {0}, needs = {0};
    const node *first = &g->node[owner];
    n->owner = owner;
    n->first = first->first;
    n->parameters = first->parameters;
    if (n->op->parameters)
        n->op->parameters(n->layer, &g->node[n->input[0]].out, found);
    for (size_t i = 0; i < n->parameters; i++) {
        parameter *p = &g->parameter[n->first + i];
        p->shared = true;
        shape_text(p->as.dims, p->as.shape, &has);
        shape_text(found[i].dims, found[i].shape, &needs);
        if (strcmp(buf_cstr(&has), buf_cstr(&needs)) != 0)
            return err_set(e, ERR_USAGE, "%s uses the weights of %s, whose %s has shape %s, not %s",
                name_of(n), name_of(first), p->as.name, buf_cstr(&has), buf_cstr(&needs));
        buf_clear(&has);
        buf_clear(&needs);
    }
    return 0;
}

static int add_parameters(graph *g, node *n, err *e)
{
    op_parameter found[OP_PARAMETERS];
    if (!n->op->parameters)
        return 0;
    n->first = g->parameters;
    n->parameters = n->op->parameters(n->layer, &g->node[n->input[0]].out, found);
    g->parameter = mem_resize(g->parameter, g->parameters + n->parameters, sizeof *g->parameter);
    for (size_t i = 0; i < n->parameters; i++) {
        parameter p = {
            .as = found[i], .layer = n->number, .rows = 1, .columns = columns_of(&found[i])};
        for (int d = 0; d + 1 < found[i].dims; d++)
            if (__builtin_mul_overflow(p.rows, found[i].shape[d], &p.rows))
                p.rows = values_max;
        size_t wide = found[i].panels ? op_round(p.columns, 16) : p.columns;
        if (__builtin_mul_overflow(p.rows, wide, &p.size) || p.size > values_max)
            p.size = values_max;
        p.size = op_round(p.size, 16);
        g->numbers += p.size < values_max ? p.rows * p.columns : values_max;
        g->values += p.size;
        g->parameter[g->parameters++] = p;
    }
    return g->values < values_max
               ? 0
               : err_set(e, ERR_LIMIT, "%s: the model would have too many weights", name_of(n));
}

// What the layer says of its weights.
static int find_said(const layer_spec *l, parameter *p, err *e)
{
    const op *own = op_of(l->kind);
    for (size_t i = 0; i < LAYER_WEIGHTS && own->weight[i].option; i++) {
        err why = {0};
        if (strcmp(own->weight[i].parameter, p->as.name) != 0)
            continue;
        p->said = &l->weight[i];
        if (initializer_check(&p->said->start, p->as.dims, &why) < 0)
            return err_set(
                e, why.code, "%s: %s_initializer: %s", l->name, own->weight[i].option, why.text);
        if (!(p->said->l1 >= 0 && p->said->l1 < HUGE_VAL && p->said->l2 >= 0 &&
                p->said->l2 < HUGE_VAL))
            return err_set(e, ERR_USAGE, "%s: %s_regularizer: l1 and l2 must be 0 or more", l->name,
                own->weight[i].option);
    }
    return 0;
}

// The kernel of a part has a name of its own.
static int add_part_parameters(graph *g, const layer_spec *l, node *n, size_t part, err *e)
{
    const op *whole = op_of_layer(l);
    if (add_parameters(g, n, e) < 0)
        return -1;
    if (whole->parts)
        g->parameter[n->first].as.name = whole->part_kernel[part];
    for (size_t i = 0; i < n->parameters; i++)
        if (find_said(l, &g->parameter[n->first + i], e) < 0)
            return -1;
    return 0;
}

// Trained parameters first: updates and allreduce take them as one run.
static void place(graph *g)
{
    size_t at = 0;
    for (int fixed = 0; fixed < 2; fixed++) {
        for (size_t i = 0; i < g->parameters; i++) {
            parameter *p = &g->parameter[i];
            if (p->as.fixed != fixed)
                continue;
            p->at = at;
            at += p->size;
        }
        g->trained = fixed ? g->trained : at;
    }
}

// Which weights a layer has is said by its options that leave some out.
static bool has_same_weights(const layer_spec *l, const layer_spec *other)
{
    const declaration *d = &op_of(l->kind)->is;
    for (const attribute *a = attribute_next(d, NULL); a; a = attribute_next(d, a))
        if (a->type == ATTRIBUTE_NOT &&
            *(const bool *)attribute_of(a, l->own) != *(const bool *)attribute_of(a, other->own))
            return false;
    return true;
}

// The layer whose weights another one uses comes before it, is of its kind, and has its own.
static int check_shares(const layer_spec *layers, size_t number, err *e)
{
    const layer_spec *l = &layers[number];
    if (!l->shares ||
        (l->shares <= number && layers[l->shares - 1].kind == l->kind &&
            !layers[l->shares - 1].shares && has_same_weights(l, &layers[l->shares - 1])))
        return 0;
    return err_set(
        e, ERR_INVALID, "%s cannot use the weights of layer %zu", l->name, l->shares - 1);
}

static int check_from(const layer_spec *l, size_t number, err *e)
{
    for (size_t i = 0; i < l->froms; i++)
        if (l->from[i] >= number)
            return err_set(e, ERR_INVALID, "%s takes layer %zu, which does not come before it",
                l->name, l->from[i]);
    return 0;
}

// A row: the input, then each layer takes the one before.
static int connect_row(graph *g, layer_spec *layers, size_t n, const row_shape *in, err *e)
{
    size_t first = layers[0].kind == LAYER_INPUT;
    node *input = add(g, op_of(LAYER_INPUT), first ? &layers[0] : NULL, 0, 0);
    input->out = *in;
    for (size_t i = first; i < n; i++) {
        if (layers[i].shares)
            return err_set(
                e, ERR_INVALID, "%s is in a row and has its own weights", layers[i].name);
        if (layers[i].kind == LAYER_INPUT)
            return err_set(e, ERR_USAGE, "%s can only be the first layer", layers[i].name);
        for (size_t part = 0; part < parts_of(&layers[i]); part++) {
            node *here = add_part(g, &layers[i], i, part, 1);
            here->input[0] = g->n - 2;
            if (infer(g, here, e) < 0 || add_part_parameters(g, &layers[i], here, part, e) < 0)
                return -1;
        }
    }
    g->input = mem_dup(&(size_t){0}, sizeof *g->input);
    g->output = mem_dup(&(size_t){g->n - 1}, sizeof *g->output);
    g->inputs = g->outputs = 1;
    return 0;
}

// Does the loss take this output before its activation, and a layer after it?
static bool has_echo(
    const layer_spec *layers, size_t n, const size_t *outputs, size_t output_count, size_t i)
{
    bool output = false, taken = false;
    activation f = layer_activation(&layers[i]);
    for (size_t k = 0; k < output_count; k++)
        output |= outputs[k] == i;
    if (!output || f == ACTIVATION_LINEAR || !activation_is_of_output(f))
        return false;
    for (size_t j = i + 1; j < n; j++)
        for (size_t k = 0; k < layers[j].froms; k++)
            taken |= layers[j].from[k] == i;
    return taken;
}

static int add_echo(graph *g, const layer_spec *l, size_t number, err *e)
{
    layer_spec *made = &g->made[number * MADE + ECHO];
    activation_layer own = {layer_activation(l)};
    *made = (layer_spec){.kind = LAYER_ACTIVATION, .own = mem_dup(&own, sizeof own)};
    memcpy(made->name, l->name, sizeof made->name);
    node *echo = add(g, op_of(LAYER_ACTIVATION), made, number, 1);
    echo->input[0] = g->n - 2;
    echo->echo = true;
    return infer(g, echo, e);
}

// Node by node of a layer. at: the nodes of those before it, of their last parts.
static int connect_layer(graph *g, layer_spec *layers, size_t i, const size_t *at, err *e)
{
    const layer_spec *l = &layers[i];
    size_t parts = parts_of(l), first = g->n;
    for (size_t part = 0; part < parts; part++) {
        node *here = add_part(g, l, i, part, part ? 1 : l->froms);
        for (size_t k = 0; k < l->froms && !part; k++) {
            size_t from = at[l->from[k]];
            here->input[k] = from + (from + 1 < first && g->node[from + 1].echo);
        }
        if (part)
            here->input[0] = g->n - 2;
        if (infer(g, here, e) < 0 ||
            (l->shares ? share_parameters(g, here, at[l->shares - 1] - (parts - 1) + part, e)
                       : add_part_parameters(g, l, here, part, e)) < 0)
            return -1;
    }
    return 0;
}

// at: the nodes of the layers, of their last parts, set here.
static int connect(graph *g, layer_spec *layers, size_t n, const size_t *outputs,
    size_t output_count, size_t *at, err *e)
{
    for (size_t i = 0; i < n; i++) {
        const layer_spec *l = &layers[i];
        if (check_from(l, i, e) < 0 || check_shares(layers, i, e) < 0)
            return -1;
        if (connect_layer(g, layers, i, at, e) < 0)
            return -1;
        at[i] = g->n - 1;
        if (has_echo(layers, n, outputs, output_count, i) && add_echo(g, l, i, e) < 0)
            return -1;
    }
    return 0;
}

// As nodes; at: those of the layers, of which there are `layers`.
static int list_ends(const graph *g, const char *what, const size_t *at, size_t layers,
    const size_t *numbers, size_t n, size_t **out, err *e)
{
    for (size_t i = 0; i < n; i++)
        if (numbers[i] >= layers)
            return err_set(
                e, ERR_INVALID, "%s %zu is layer %zu, which does not exist", what, i, numbers[i]);
        else if ((g->node[at[numbers[i]]].op->kind == LAYER_INPUT) != (what[0] == 'i'))
            return err_set(e, ERR_USAGE, "%s %zu of the model is %s, %s", what, i,
                g->node[at[numbers[i]]].layer->name,
                what[0] == 'i' ? "which is no Input" : "which is an Input");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (numbers[k] == numbers[i]) // gradients of both would be written to one place
                return err_set(e, ERR_USAGE, "%s %zu of the model is %s, as is %s %zu", what, i,
                    g->node[at[numbers[i]]].layer->name, what, k);
    *out = mem_array(n + 1, sizeof **out);
    for (size_t i = 0; i < n; i++)
        (*out)[i] = at[numbers[i]];
    return n ? 0 : err_set(e, ERR_USAGE, "a model needs at least one %s", what);
}

// A layer that no output needs has no gradient.
static int check_used(const graph *g, err *e)
{
    AUTO_FREE bool *used = mem_array(g->n, sizeof *used);
    for (size_t i = 0; i < g->outputs; i++)
        used[g->output[i]] = true;
    for (size_t i = g->n; i-- > 0;) {
        const node *n = &g->node[i];
        if (!used[i])
            return err_set(e, ERR_USAGE, "no output of the model needs %s", name_of(n));
        for (size_t k = 0; k < n->inputs; k++)
            used[n->input[k]] = true;
    }
    for (size_t i = 0; i < g->n; i++) {
        bool known = g->node[i].op->kind != LAYER_INPUT;
        for (size_t k = 0; k < g->inputs; k++)
            known |= g->input[k] == i;
        if (!known)
            return err_set(
                e, ERR_USAGE, "%s is not among the model's inputs", name_of(&g->node[i]));
    }
    return 0;
}

graph *graph_new(layer_spec *layers, size_t n, const size_t *inputs, size_t input_count,
    const size_t *outputs, size_t output_count, const row_shape *in, err *e)
{
    graph *g = mem_alloc(sizeof *g);
    g->node = mem_array(MADE * n + 1, sizeof *g->node);
    g->made = mem_array(MADE * n, sizeof *g->made);
    g->layers = n;
    AUTO_FREE size_t *at = mem_array(n, sizeof *at);
    int status = input_count ? connect(g, layers, n, outputs, output_count, at, e)
                             : connect_row(g, layers, n, in, e);
    if (status == 0 && input_count &&
        (list_ends(g, "input", at, n, inputs, g->inputs = input_count, &g->input, e) < 0 ||
            list_ends(g, "output", at, n, outputs, g->outputs = output_count, &g->output, e) < 0 ||
            check_used(g, e) < 0))
        status = -1;
    if (status < 0) {
        graph_free(g);
        return NULL;
    }
    place(g);
    for (size_t i = 0; i < g->n; i++)
        if (g->node[i].op->kind == LAYER_DENSE)
            ((dense_layer *)(uintptr_t)layers[g->node[i].number].own)->inputs =
                op_last(&g->node[g->node[i].input[0]].out);
    return g;
}

void graph_free(graph *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n; i++)
        free(g->node[i].input);
    free(g->node);
    for (size_t i = 0; i < MADE * g->layers; i++)
        free((void *)g->made[i].own);
    free(g->made);
    free(g->input);
    free(g->output);
    free(g->parameter);
    free(g);
}

static bool has_regularizer(const layer_spec *l)
{
    bool any = false;
    for (size_t i = 0; i < LAYER_WEIGHTS; i++)
        any |= l->weight[i].l1 > 0 || l->weight[i].l2 > 0;
    return any;
}

bool layers_are_chain(const layer_spec *layers, size_t n)
{
    const layer_spec *dense = NULL;
    for (size_t i = 0; i < n; i++)
        dense = layers[i].kind == LAYER_DENSE ? &layers[i] : dense;
    for (size_t i = 0; i < n; i++) {
        const layer_spec *l = &layers[i];
        bool dropout = l->kind == LAYER_DROPOUT, is_last = i + 1 == n;
        activation f = layer_activation(l);
        bool apart = !activation_is_of_output(f) || (f == ACTIVATION_SOFTMAX && l != dense);
        if (l->kind == LAYER_INPUT   ? i > 0
            : dropout                ? is_last || (i > 0 && l[-1].kind == LAYER_DROPOUT)
            : l->kind == LAYER_DENSE ? apart || has_regularizer(l) || l->shares
                                     : l->kind != LAYER_FLATTEN)
            return false;
    }
    return dense;
}

bool graph_is_chain(const graph *g)
{
    const node *last = &g->node[g->n - 1];
    AUTO_FREE layer_spec *layers = mem_array(g->n, sizeof *layers);
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        const node *here = &g->node[i];
        if (i == 0 ? here->op->kind != LAYER_INPUT : here->inputs != 1 || here->input[0] != i - 1)
            return false;
        if (here->op->kind == LAYER_DENSE && here->out.dims != 1)
            return false;
        if (here->layer)
            layers[n++] = *here->layer;
    }
    bool row = !last->layer->froms;
    return g->outputs == 1 && layers_are_chain(layers, n) && (row || last->op->kind == LAYER_DENSE);
}
