// SPDX-License-Identifier: MIT
// Weights of rows from weights of classes, as Keras's class_weight.
#pragma once
#include "trainer/tensor/tensor.h"

// A new F32 (rows): weight[class of the row], and 1 for a class of n or more. y is (rows) or (rows,
// 1) class numbers, or (rows, classes), where the greatest marks the class.
tensor *class_weights(const tensor *y, const double *weight, size_t n, err *e);
