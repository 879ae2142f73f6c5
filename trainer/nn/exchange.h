// SPDX-License-Identifier: MIT
// What ranks give one another in a step: the mean of their gradients. Frozen weights stay behind,
// and of a large table, as an Embedding's, only the rows that some rank's batch has named travel,
// with their numbers, as Horovod's IndexedSlices.
#pragma once
#include "trainer/nn/internal.h"
#include "trainer/nn/plan/step.h"

// Before a step: if the ranks can average while backward goes on, and all gradients travel whole,
// the step tells which are final (step.ready), and they go in buckets, the last layers' first.
// Where buckets begin follows from the graph alone, so all ranks agree.
void exchange_along(model *m, step *s);
// After a step that failed: are some of its gradients still under way?
bool exchange_goes_on(const model *m);
// Replaces the model's gradients by their mean over the ranks; the rows of tables that any rank has
// named are touched then. Every rank has the same bits. Does nothing without an allreduce.
int exchange_gradients(model *m, err *e);
// Are there weights whose gradients stay behind, or travel in parts?
bool exchange_parts(const graph *g);
