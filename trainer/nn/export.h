// SPDX-License-Identifier: MIT
// A model as a file that other runtimes compute with: ONNX (https://onnx.ai). It puts out what
// model_predict puts out, for any number of rows; what is for training alone is left out.
#pragma once
#include "trainer/nn/graph/model.h"

// Appends the file. The same model gives the same bytes. ERR_USAGE: the model has no weights yet;
// ERR_LIMIT: they are more than such a file can hold, 2 GiB.
int export_onnx(const model *m, buf *out, err *e);
// Replaces the file as a whole.
int export_write(const model *m, const char *path, err *e);
