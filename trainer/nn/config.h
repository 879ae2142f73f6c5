// SPDX-License-Identifier: MIT
// A model's configuration as JSON: layers, seed, and what it is compiled for.
//
//   {"layers": [{"type": "Flatten", "name": "flatten", "shape": [28, 28]},
//               {"type": "Dense", "name": "dense", "units": 128, "inputs": 784, "activation":
//               "relu"}, …],
//    "seed": 3, "steps": 938, "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"],
//    "optimizer": {"type": "Adam", "learning_rate": 0.001, …}}
#pragma once
#include "base/json.h"
#include "trainer/nn/model.h"

// A new tree, the caller's.
cJSON *config_of(const model *m);
// The model it describes, compiled when the configuration says for what. ERR_INVALID tells the
// place.
model *config_model(const cJSON *config, err *e);
