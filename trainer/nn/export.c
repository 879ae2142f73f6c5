// SPDX-License-Identifier: MIT
#include "trainer/nn/export.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "trainer/nn/graph/onnx.h"
#include "trainer/nn/internal.h"

#include <stdint.h>

// protobuf.dev/programming-guides/proto-limits: less than 2 GiB; the names need room, too.
static const size_t bytes_max = INT32_MAX - (16 << 20);

// An input that only Embeddings take has indices.
static bool has_indices(const graph *g, size_t input)
{
    bool found = false;
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < g->node[i].inputs; k++) {
            if (g->node[i].input[k] != input)
                continue;
            if (!g->node[i].op->indices)
                return false;
            found = true;
        }
    return found;
}

bool model_input_has_indices(const model *m, size_t k)
{
    return has_indices(m->graph, m->graph->input[k]);
}

static int add_node(onnx *o, const graph *g, size_t i, err *e)
{
    const node *n = &g->node[i];
    AUTO_FREE row_shape *in = mem_array(n->inputs, sizeof *in);
    if (n->echo) { // the output is there after its activation
        onnx_same(o, i, n->input[0]);
        return 0;
    }
    if (!n->op->onnx)
        return err_set(e, ERR_USAGE, "%s (%s) has no counterpart in ONNX", n->layer->name,
            layer_kind_name(n->op->kind));
    for (size_t k = 0; k < n->inputs; k++)
        in[k] = g->node[n->input[k]].out;
    onnx_at(o, i);
    n->op->onnx(&(op_work){.layer = n->layer, .inputs = n->inputs, .in = in, .out = n->out}, o);
    return 0;
}

static int add_all(onnx *o, const graph *g, err *e)
{
    for (size_t k = 0; k < g->inputs; k++) {
        size_t i = g->input[k];
        onnx_input(o, i, g->node[i].layer ? g->node[i].layer->name : "input", has_indices(g, i));
    }
    for (size_t i = 0; i < g->n; i++)
        if (g->node[i].inputs && add_node(o, g, i, e) < 0)
            return -1;
    for (size_t k = 0; k < g->outputs; k++)
        onnx_output(o, g->output[k], g->node[g->output[k]].layer->name);
    return 0;
}

int export_onnx(const model *m, buf *out, err *e)
{
    if (!m->graph)
        return err_set(e, ERR_USAGE, "the model has no weights yet: fit or build it first");
    if (m->graph->numbers > bytes_max / sizeof(float))
        return err_set(e, ERR_LIMIT, "%zu weights are more than a file of ONNX can hold, 2 GiB",
            m->graph->numbers);
    onnx *o = onnx_new(m->graph, m->w);
    int status = add_all(o, m->graph, e);
    if (status == 0)
        onnx_finish(o, model_name(m), out);
    onnx_free(o);
    return status;
}

int export_write(const model *m, const char *path, err *e)
{
    AUTO_BUF bytes = {0};
    if (export_onnx(m, &bytes, e) < 0)
        return -1;
    if (path_update(path, bytes.data, bytes.len, 0644, e) < 0)
        return err_wrap(e, "writing the model");
    return 0;
}
