// SPDX-License-Identifier: MIT
// A packaged model: the folder that `firesteel-worker package` writes and an image carries. Whoever
// opened one frees it; one thread at a time asks it for predictions.
//
//   package.json       {"firesteel": 1, "name", "model", "predict"?, "onnx"?, "onnx_missing"?,
//                       "examples", "inputs"?, "outputs"?, "files": {name: sha256},
//                       "memory": bytes that predictions take, about,
//                       "convolutions"?: true: an image of it has oneDNN}
//   model.safetensors  as model:save has written it
//   predict.lua        optional: function predict(inputs, model) … return outputs end
//   model.onnx         the same model for other runtimes
//   examples.json      [{"inputs": […], "outputs": […], "calls"?: [{"inputs", "outputs"}]}]
//
// Inputs and outputs are those of KServe's v2 protocol: {"name", "datatype", "shape", "data"}. With
// predict.lua they are the function's; `calls` are then what it asked the model for.
#pragma once
#include "base/json/json.h"
#include "script/worker/core/worker.h"
#include "trainer/nn/graph/model.h"
#include "trainer/serve/body.h"

#include <stdatomic.h>

#define PACKAGED_ABOUT    "package.json"
#define PACKAGED_MODEL    "model.safetensors"
#define PACKAGED_PREDICT  "predict.lua"
#define PACKAGED_ONNX     "model.onnx"
#define PACKAGED_EXAMPLES "examples.json"

typedef struct packaged packaged;

// Checks the digests of its files, too: ERR_CORRUPT names the first file that differs. dnn: as
// worker_options has it.
packaged *packaged_open(const char *folder, const char *dnn, err *e);
// The same for a model, and a predict.lua (NULL: none), that are in no package yet.
packaged *packaged_new(
    const char *name, const char *model_path, const char *predict_path, const char *dnn, err *e);
void packaged_free(packaged *p);

const char *packaged_name(const packaged *p);
model *packaged_model(packaged *p);
bool packaged_has_predict(const packaged *p);

// What its predict.lua answers to a request whose body is whole: the body of the answer, as infer.h
// has it; `name` stands in it.
int packaged_infer(
    packaged *p, const char *name, body *b, const atomic_bool *stop, buf *out, err *e);
// The same of a text; without a predict.lua the model answers.
int packaged_infer_text(packaged *p, const char *name, const char *text, size_t n,
    const atomic_bool *stop, buf *out, err *e);
// The metadata of the function, as infer_metadata.
void packaged_describe(const packaged *p, buf *out);
// What predict.lua has asked the model for since the last packaged_infer began, as `calls` above;
// borrowed. An empty list without a predict.lua.
const cJSON *packaged_calls(const packaged *p);
// A model that was saved before it was compiled can predict, too.
int packaged_compile(model *m, err *e);
// A model with convolutions gets oneDNN of that plug-in; says on stderr where that fails.
void packaged_give_dnn(model *m, const char *dnn);
