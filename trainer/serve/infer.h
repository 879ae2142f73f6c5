// SPDX-License-Identifier: MIT
// Predictions requested by KServe's v2 REST protocol ("Open Inference Protocol"): the description
// of a model's inputs, requests whose bodies were read (body.h), and their answers as JSON. Nothing
// here knows HTTP; the caller owns models, bodies and texts.
//   body ─ infer_read ─> request ─┐
//   body ─ infer_read ─> request ─┼─ infer_run: one prediction ─> infer_write ─> the answers
// ERR_INVALID: the request is wrong, and the text says where; ERR_CANCELLED: stopped.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"
#include "trainer/nn/graph/model.h"
#include "trainer/serve/body.h"

#include <stdatomic.h>

// {"name", "versions", "platform", "inputs", "outputs"}: names, types and shapes, -1 for the rows.
void infer_metadata(const model *m, const char *name, buf *out);

typedef struct infer_request infer_request;
// Takes the numbers out of a complete body. Everything that a prediction would refuse is refused
// here.
infer_request *infer_read(const model *m, body *b, err *e);
void infer_free(infer_request *q); // NULL is fine
size_t infer_rows(const infer_request *q);
// The bytes of its tensors, and of the answer's.
size_t infer_held(const infer_request *q);
// Can both be predicted as one?
bool infer_fits(const infer_request *a, const infer_request *b);
// Predicts the rows of all requests, which must fit each other, as one batch. Then frees the
// inputs.
int infer_run(model *m, infer_request *const *all, size_t n, const atomic_bool *stop, err *e);
// Appends the next part of the answer's body: about `most` bytes, or what is left. Returns whether
// there is more.
bool infer_write(infer_request *q, const char *name, size_t most, buf *out);
// How many numbers all requested outputs have.
size_t infer_numbers(const infer_request *q);
// All of this for one request whose body is complete.
int infer(model *m, const char *name, const char *text, size_t n, const atomic_bool *stop, buf *out,
    err *e);

// The parts, for a function around a model, whose inputs and outputs differ from the model's.

// The id of a request as JSON, new; "": it has none. NULL: it is not a string.
char *infer_id(const cJSON *request, err *e);
// {"model_name", "model_version", "id", "outputs": [ … the caller adds outputs and "]}".
void infer_put_head(buf *out, const char *name, const char *id);
int infer_put_tensor(buf *out, const char *name, const tensor *t, const atomic_bool *stop, err *e);
// {"name", "datatype", "shape", "data": [ … the caller adds values and "]}".
void infer_put_tensor_head(
    buf *out, const char *name, const char *type, int dims, const size_t *shape);
