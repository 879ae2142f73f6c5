// SPDX-License-Identifier: MIT
// What ranks give one another in a step: the mean of their gradients. Frozen weights stay behind,
// and of a large table, as an Embedding's, only the rows that some rank's batch has named travel,
// with their numbers, as Horovod's IndexedSlices.
#pragma once
#include "trainer/nn/internal.h"

// Replaces the model's gradients by their mean over the ranks; the rows of tables that any rank has
// named are touched then. Every rank has the same bits. Does nothing without an allreduce.
int exchange_gradients(model *m, err *e);
// Are there weights whose gradients stay behind, or travel in parts?
bool exchange_parts(const graph *g);
