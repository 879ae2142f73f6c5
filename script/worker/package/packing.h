// SPDX-License-Identifier: MIT
// Makes a package (packaged.h) of a model and examples, and checks one: does it predict what its
// examples say? The caller owns paths and results.
#pragma once
#include "script/worker/package/packaged.h"

struct packing {
    const char *name;
    const char *model, *predict; // paths; predict may be NULL
    // A file with examples: .npy (rows of the only input), .npz (arrays by the names of inputs), or
    // JSON, a list. An item is a row of the only input, rows by the names of inputs, or
    // {"inputs": …, "outputs": …} of either, or of KServe's tensors. Given outputs must be what is
    // predicted.
    const char *examples;
    const char *folder; // gets the files; it exists
    double tolerance;   // for given outputs
    const char *dnn;    // as worker_options has it
};
int packing_write(const struct packing *spec, const atomic_bool *stop, err *e);

// The first difference that a check has found.
struct difference {
    size_t example; // from 1 on
    char *output;   // "score[3]"; NULL: there is none
    char *expected, *got;
};
void difference_done(struct difference *d);

struct checked {
    size_t examples;
    size_t values; // that were compared
    double apart;  // the greatest |expected - got| / max(1, |expected|, |got|)
    struct difference first;
};
// Predicts all examples. 0 also when they differ; -1: it could not be found out.
int packing_check(packaged *p, const char *folder, double tolerance, const atomic_bool *stop,
    struct checked *out, err *e);
