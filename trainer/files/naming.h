// SPDX-License-Identifier: MIT
// Matches a file's tensors with a model's weights by their names only. Plain functions of texts;
// nothing is owned.
//   here      there, in the order in which it is tried
//   a/kernel  a/kernel  a/kernel:0  a.weight            the name itself, Keras's or PyTorch's
//             sequential/a/kernel  module.a.weight      after the path of a model; of several the
//                                                       one with the fewest parts before it
//             lstm/cell/kernel of "lstm/kernel"         the layer's path, with more parts after it
// If some weight is not found so, two other ways are tried for all weights: layers with Keras's
// automatic names, such as dense_2 and dense_3 there for dense and dense_1 here, in the order of
// their numbers; and by position, for arr_0, arr_1, … of numpy.savez("w.npz",
// *model.get_weights()).
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct naming_hit {
    size_t at;    // index in `there`; SIZE_MAX: not found
    size_t other; // another one that fits equally well, so none was chosen; SIZE_MAX: none
    bool torch;   // by its name in PyTorch
} naming_hit;

// Appends PyTorch's name of the weight: "conv1.weight" for "conv1/kernel"; nothing for others.
void naming_torch(const char *name, buf *out);
// Fills in a hit for each of the m weights; returns how many were not found.
size_t naming_find(
    const char *const *here, size_t m, const char *const *there, size_t n, naming_hit *out);
