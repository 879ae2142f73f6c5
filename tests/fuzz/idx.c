// SPDX-License-Identifier: MIT
#include "trainer/data/idx.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

// An accepted file must be readable up to its last element.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    err e;
    tensor *t = idx_parse(bytes, n, &e);
    if (t && tensor_sum(t) > 0 && tensor_count(t) == 0)
        abort();
    tensor_free(t);
    return 0;
}
