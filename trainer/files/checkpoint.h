// SPDX-License-Identifier: MIT
// Models in files and bytes: safetensors (https://huggingface.co/docs/safetensors) whose
// __metadata__ holds the model's configuration, so that a checkpoint is enough to make the model
// again.
//
//   8 bytes   N, the header's length, little-endian
//   N bytes   {"__metadata__": {"format": "firesteel", "config": "{\"layers\": [...], …}"},
//              "dense/kernel": {"dtype": "F32", "shape": [784, 128], "data_offsets": [0, 401408]},
//              …}
//   the rest  the tensors' bytes, without gaps
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "trainer/nn/graph/model.h"

typedef struct checkpoint_options {
    bool optimizer; // also write the optimizer's state, so that training can go on
    // A JSON object with texts for __metadata__ beside ours; values that are no texts are left out.
    // NULL: none.
    const cJSON *notes;
} checkpoint_options;

int checkpoint_encode(const model *m, checkpoint_options options, buf *out, err *e);
// Replaces the file as a whole: after a crash there is either the old file or the new one.
int checkpoint_write(const model *m, const char *path, checkpoint_options options, err *e);

// Returns the model, built, and compiled as it was saved (but threads and instruction set are
// chosen anew, and there is no allreduce). All input is checked before use. ERR_CORRUPT or
// ERR_INVALID: the text says what is wrong.
model *checkpoint_decode(const void *bytes, size_t n, err *e);
model *checkpoint_read(const char *path, err *e);
// Loads only the weights (and the optimizer state if both have it) into a model of the same layers.
int checkpoint_restore(model *m, const void *bytes, size_t n, err *e);
