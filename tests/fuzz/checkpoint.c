// SPDX-License-Identifier: MIT
#include "trainer/files/checkpoint.h"
#include "trainer/fit.h"
#include "trainer/nn/export.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { INPUTS_MOST = 4 };

static void predict(model *m)
{
    err e;
    bool made = true;
    tensor *x[INPUTS_MOST] = {0}, *y[HEADS_MAX] = {0};
    for (size_t i = 0; i < model_input_count(m); i++) {
        row_shape in = model_input_shape(m, i);
        x[i] = tensor_new(TENSOR_F32, 2, (size_t[]){1, shape_size(&in)}, &e);
        made = made && x[i];
    }
    if (made && model_predict_list(m, (const tensor *const *)x, y, NULL, &e) < 0)
        abort();
    for (size_t i = 0; made && i < model_output_count(m); i++) {
        row_shape out = model_output_shape(m, i);
        if (tensor_count(y[i]) != shape_size(&out))
            abort();
        tensor_free(y[i]);
    }
    for (size_t i = 0; i < INPUTS_MOST; i++)
        tensor_free(x[i]);
}

// An accepted checkpoint must be a whole model: it can be saved and exported, and it can predict.
static void use(model *m)
{
    err e;
    buf bytes = {0};
    if (export_onnx(m, &bytes, &e) < 0)
        abort();
    if (checkpoint_encode(m, (checkpoint_options){.optimizer = true}, &bytes, &e) < 0)
        abort();
    buf_done(&bytes);
    if (!model_compiled(m))
        return;
    if (model_input_count(m) <= INPUTS_MOST)
        predict(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    err e;
    model *m = checkpoint_decode(bytes, n, &e);
    if (m)
        use(m);
    model_free(m);
    return 0;
}
