// SPDX-License-Identifier: MIT
// A graph of ONNX while it is being made, for export.c, which walks a model through it:
// nn/layer/onnx.h has what operations add to it.
#pragma once
#include "trainer/nn/graph/graph.h"
#include "trainer/nn/layer/onnx.h"

// `values` are the weights, in the graph's layout.
onnx *onnx_new(const graph *g, const float *values);
void onnx_free(onnx *o);
// From now on operations work on node i.
void onnx_at(onnx *o, size_t i);
// Node i is an input of the model, or output number k, which no other value is called like.
void onnx_input(onnx *o, size_t i, const char *name, bool indices);
void onnx_output(onnx *o, size_t i, const char *name);
// Node i is what node j is.
void onnx_same(onnx *o, size_t i, size_t j);
// Appends the file.
void onnx_finish(const onnx *o, const char *name, buf *out);
