// SPDX-License-Identifier: MIT
// Which of a file's tensors is which weight of a model, by their names alone. Plain functions of
// texts; nothing is owned.
//
//   here      there, in the order in which it is tried
//   a/kernel  a/kernel  a/kernel:0  a.weight            the name itself, Keras's or PyTorch's
//             sequential/a/kernel  module.a.weight      behind the path of a model; of several the
//                                                       one with the fewest parts before it
//             lstm/cell/kernel of "lstm/kernel"         the layer's path, with parts of it behind
//
// Where some weight is not found so, two other ways are tried for all: layers that have Keras's
// automatic names, dense_2 and dense_3 there for dense and dense_1 here, in the order of their
// numbers; and arr_0, arr_1, …, as numpy.savez("w.npz", *model.get_weights()) calls them, by place.
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct naming_hit {
    size_t at;    // in `there`; SIZE_MAX: it was not found
    size_t other; // another one that fits as well, so none was chosen; SIZE_MAX: there is none
    bool torch;   // by its name in PyTorch
} naming_hit;

// Appends what PyTorch calls the weight: "conv1.weight" of "conv1/kernel"; nothing of others.
void naming_torch(const char *name, buf *out);
// Fills in a hit for each of the m weights; returns how many were not found.
size_t naming_find(
    const char *const *here, size_t m, const char *const *there, size_t n, naming_hit *out);
