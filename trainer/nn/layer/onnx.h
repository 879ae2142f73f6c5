// SPDX-License-Identifier: MIT
// A graph of ONNX while it is being made: operations add nodes, weights and constants to it, and
// trainer/nn/export.c walks a model through it. It owns what is added and borrows the model.
// https://onnx.ai/onnx/intermediate-representation (IR.md, Operators.md, onnx.proto).
//
//   a layer     dense, relu          what it adds
//   its values  dense/kernel [784,128]   dense/bias [128]       initializers
//               x ──► Gemm ──► dense/Gemm ──► Relu ──► dense/Relu
//
// Rows lie with their channels last here, (n, height, width, channels), and first for ONNX's
// convolutions and pooling, (n, channels, height, width). Each operation says which it takes and
// gives; where the two differ a Transpose stands between, so a row of convolutions has one at its
// beginning and one at its end.
#pragma once
#include "trainer/nn/layer/operation.h"

typedef enum onnx_layout { ONNX_LAST, ONNX_FIRST } onnx_layout;
typedef size_t onnx_value; // what a node computes, a weight or a constant, by its number

// For operations. They work on the node of the model that export.c has come to.

// Input i in that layout.
onnx_value onnx_take(onnx *o, size_t i, onnx_layout layout);
// ONNX_FIRST when all inputs are there in it: for operations that do not care.
onnx_layout onnx_given(const onnx *o);
// Input i as INT64.
onnx_value onnx_indices(onnx *o, size_t i);
// Parameter i; its dimension k is dimension order[k] here. NULL: as they are here.
onnx_value onnx_weight(onnx *o, size_t i, const int *order);
onnx_value onnx_constant(onnx *o, const char *name, float value);
// n times the same number; a list of numbers; one of integers.
onnx_value onnx_filled(onnx *o, const char *name, size_t n, float value);
onnx_value onnx_floats(onnx *o, const char *name, size_t n, const float *values);
onnx_value onnx_list(onnx *o, const char *name, size_t n, const int64_t *values);
// Adds a node of ONNX's operator `type`; attributes go to the newest node.
onnx_value onnx_node(onnx *o, const char *type, size_t n, const onnx_value *x);
void onnx_set_int(onnx *o, const char *attribute, int64_t value);
void onnx_set_float(onnx *o, const char *attribute, double value);
void onnx_set_text(onnx *o, const char *attribute, const char *value);
void onnx_set_ints(onnx *o, const char *attribute, size_t n, const int64_t *values);
// The output of the operation.
void onnx_give(onnx *o, onnx_value y, onnx_layout layout);

#define ONNX_NODE(o, type, ...)                                                                    \
    onnx_node(o, type, sizeof((onnx_value[]){__VA_ARGS__}) / sizeof(onnx_value),                   \
        (const onnx_value[]){__VA_ARGS__})
