// SPDX-License-Identifier: MIT
// The second half of a step: every weight follows its gradient, as the optimizer and its group say.
#pragma once
#include "trainer/nn/internal.h"

// Updates all weights by m->g, on all threads; the split does not change the results. rate is the
// optimizer's learning rate in this step, for the weight decay of groups.
void follow_gradients(const model *m, update rule, double rate);
// The same for the weights in [from, to), multiples of 16 (or the end of those that are trained).
void follow_part(const model *m, update rule, double rate, size_t from, size_t to);
// The places of weights and of the optimizer's slots.
params model_params(const model *m);
