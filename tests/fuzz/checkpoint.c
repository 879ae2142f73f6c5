// SPDX-License-Identifier: MIT
#include "trainer/checkpoint.h"
#include "trainer/fit.h"
#include "trainer/nn/export.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

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
    tensor *x = tensor_new(TENSOR_F32, 2, (size_t[]){1, model_inputs(m)}, &e);
    tensor *p = x ? model_predict(m, x, NULL, &e) : NULL;
    if (x && (!p || tensor_count(p) != model_outputs(m)))
        abort();
    tensor_free(p);
    tensor_free(x);
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
