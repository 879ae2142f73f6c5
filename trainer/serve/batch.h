// SPDX-License-Identifier: MIT
// Predictions take turns, and those of one model that wait together are predicted as one: what
// comes while a prediction goes on is the next batch. Its maker frees it when nobody waits any
// more; any thread may ask, and waits.
//
//   thread ─┐                    ┌ the first to find nobody predicting predicts for all that fit
//   thread ─┼─ queue ─ batch ────┤
//   thread ─┘                    └ the others sleep until theirs is done
#pragma once
#include "trainer/serve/counts.h"
#include "trainer/serve/infer.h"

struct batch_options {
    size_t rows; // the most of a batch, unless one request has more; 1: none are put together
    int64_t latency_ns; // so long the first one waits for others; 0: not at all
    counts *counts;     // borrowed
};

typedef struct batcher batcher;
batcher *batch_new(const struct batch_options *o);
void batch_free(batcher *b);
// From now on who waits gets ERR_CANCELLED at once, and predictions end.
void batch_stop(batcher *b);
const atomic_bool *batch_stopped(const batcher *b);

// Predicts; i is the number of the model, for the counts.
int batch_predict(batcher *b, size_t i, model *m, infer_request *q, err *e);
// The turn for something else; false: it was stopped, and there is none to give back.
bool batch_take_turn(batcher *b);
void batch_give_turn(batcher *b);
// Long bodies are read one at a time: while it is read, JSON takes many times its size.
bool batch_begin_reading(batcher *b);
void batch_end_reading(batcher *b);
