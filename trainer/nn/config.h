// SPDX-License-Identifier: MIT
// A model's configuration as JSON: layers, seed, and how it is compiled.
//
//   {"layers": [{"type": "Flatten", "name": "flatten", "shape": [28, 28]},
//               {"type": "Dense", "name": "dense", "units": 128, "inputs": 784, "activation":
//               "relu"}, …],
//    "inputs": [0], "outputs": [5],      of a graph: numbers of layers; a layer then has "from":
//    [3] "seed": 3, "steps": 938, "epochs": 1, "loss": "sparse_categorical_crossentropy",
//    "metrics":
//    ["accuracy"], "optimizer": {"type": "Adam", "learning_rate": 0.001, …}}
#pragma once
#include "base/json/json.h"
#include "trainer/nn/graph/model.h"

// A new tree, which the caller owns.
cJSON *config_of(const model *m);
// Makes the described model, and compiles it if the configuration says how. ERR_INVALID names the
// place. The weights may have at most so many numbers (0: any), for a file that has no more.
model *config_model(const cJSON *config, size_t most, err *e);
