// SPDX-License-Identifier: MIT
// Weights that other programs have written: tensors by name in a safetensors or .npz file, taken
// into a model by the names of its layers.
//
//   here                  Keras                  PyTorch, torchvision
//   fc/kernel             the same, or with :0   fc.weight, (outputs, inputs), transposed
//                                                behind a Flatten of pictures from its order,
//                                                (channels, height, width), into ours
//   conv1/kernel          the same               conv1.weight, OIHW, made HWIO
//   bn1/gamma, beta       the same               bn1.weight, bn1.bias
//   bn1/moving_mean       the same               bn1.running_mean; moving_variance: running_var
//   emb/embeddings        the same               emb.weight
//
// A layer is called there as here; the file's name may have the path of a model before it
// (naming.h). What the file has besides is passed over.
#pragma once
#include "trainer/nn/graph/model.h"

typedef struct pretrained_options {
    bool skip_mismatch; // weights that are missing, or of another shape, keep their values
} pretrained_options;

// Either writes all weights or, with e, none. `skipped` gets the names of those that kept their
// values, one a line. Errors name the weight, the tensor and both shapes; for a file of another
// format they say how to convert it.
int pretrained_load(
    model *m, const void *bytes, size_t n, pretrained_options options, buf *skipped, err *e);
