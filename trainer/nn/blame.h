// SPDX-License-Identifier: MIT
// Where the numbers of a batch stopped being finite, in words. Everything is borrowed.
#pragma once
#include "base/buf.h"
#include "trainer/nn/train.h"

// Call it for the batch that model_train_batch has just trained, whose loss was not finite: the
// outputs of its layers are still there. Appends "row 27 of x holds nan", or names the first layer
// whose outputs are not finite, with what may help. True: a row is to blame; else the rows of
// another rank may be.
bool blame_batch(const model *m, const model_data *data, const batch *b, buf *out);
