// SPDX-License-Identifier: MIT
// Limits gradients before they are used: nn/optimizer.h has the formulas. On one thread and in one
// order, so that the result does not depend on the number of threads.
#pragma once
#include "trainer/nn/graph/graph.h"
#include "trainer/nn/rule/optimizer.h"

// g: all gradients, laid out as the weights are. Nothing happens when the optimizer does not clip.
void clip_gradients(const graph *m, const optimizer_spec *o, float *g);
