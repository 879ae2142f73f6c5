// SPDX-License-Identifier: MIT
// The bodies of KServe's v2 REST protocol ("Open Inference Protocol"): what a model takes, and
// tensors as JSON in both directions. Nothing here knows HTTP; the caller owns models and texts.
//
//   body ─ infer_read ─> request ─┐
//   body ─ infer_read ─> request ─┼─ infer_run: one prediction ─> infer_write ─> the answers
//
// ERR_INVALID: the request is wrong, and the text says where; ERR_CANCELLED: stopped.
#pragma once
#include "base/buf.h"
#include "base/json.h"
#include "trainer/nn/model.h"

#include <stdatomic.h>

// {"name", "versions", "platform", "inputs", "outputs"}: names, types and shapes, -1 for the rows.
void infer_metadata(const model *m, const char *name, buf *out);

typedef struct infer_request infer_request;
infer_request *infer_read(const model *m, const char *body, size_t n, err *e);
void infer_free(infer_request *q); // NULL is fine
size_t infer_rows(const infer_request *q);
// Can both be predicted as one?
bool infer_fits(const infer_request *a, const infer_request *b);
// Predicts the rows of all requests, which fit each other, as one batch.
int infer_run(model *m, infer_request *const *all, size_t n, const atomic_bool *stop, err *e);
// Appends the body of the answer to a request that was run.
int infer_write(
    const infer_request *q, const char *name, const atomic_bool *stop, buf *out, err *e);
// All three for one request.
int infer(model *m, const char *name, const char *body, size_t n, const atomic_bool *stop, buf *out,
    err *e);

// The parts, for a function around a model, whose inputs and outputs are not the model's.

// The id of a request as JSON, new; "": it has none. NULL: it is no text.
char *infer_id(const cJSON *request, err *e);
// The shape of an input, and the product of its sizes.
int infer_read_shape(
    const cJSON *input, const char *name, size_t *shape, int *dims, size_t *count, err *e);
// The numbers of an input, F32; `most`: how many the body can have.
tensor *infer_read_tensor(const cJSON *input, const char *name, size_t most, err *e);
// {"model_name", "model_version", "id", "outputs": [ … the caller adds outputs and "]}".
void infer_put_head(buf *out, const char *name, const char *id);
int infer_put_tensor(buf *out, const char *name, const tensor *t, const atomic_bool *stop, err *e);
// {"name", "datatype", "shape", "data": [ … the caller adds values and "]}".
void infer_put_tensor_head(
    buf *out, const char *name, const char *type, int dims, const size_t *shape);
