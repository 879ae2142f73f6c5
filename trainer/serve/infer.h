// SPDX-License-Identifier: MIT
// The bodies of KServe's v2 REST protocol ("Open Inference Protocol"): what a model takes, and
// tensors as JSON in both directions. Nothing here knows HTTP; the caller owns models and texts.
#pragma once
#include "base/buf.h"
#include "trainer/nn/model.h"

#include <stdatomic.h>

// {"name", "versions", "platform", "inputs", "outputs"}: names, types and shapes, -1 for the rows.
void infer_metadata(const model *m, const char *name, buf *out);
// A request's body to the body of its answer. ERR_INVALID: the request is wrong, and says where;
// ERR_CANCELLED: stopped.
int infer(model *m, const char *name, const char *body, size_t n, const atomic_bool *stop, buf *out,
    err *e);
