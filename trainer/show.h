// SPDX-License-Identifier: MIT
// The lines that Keras shows while it works, sent to a sink. verbose 0: none; 1: a progress bar; 2:
// one line when an epoch (or an evaluation) is done. A plain value; nothing is owned.
#pragma once
#include "trainer/fit.h"

#include <stdint.h>

typedef struct show {
    fit_sink sink;
    int verbose;
    size_t steps;
    int64_t began, drawn; // clock_mono
} show;

// Starts the clock of an epoch or evaluation of so many steps.
show show_begin(fit_sink sink, int verbose, size_t steps);
// "Epoch 1/5\n".
void show_epoch(const show *s, int epoch, int epochs);
// A step is done: redraws a progress bar at most ten times a second.
void show_step(show *s, size_t done, const logs *l);
// "938/938 - 2s - loss: 0.3325 - accuracy: 0.9046\n".
void show_end(const show *s, const logs *l);
