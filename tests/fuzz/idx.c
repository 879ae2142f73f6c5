// SPDX-License-Identifier: MIT
#include "trainer/data/idx.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

// Whatever is accepted must be readable to its last element.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    err e;
    tensor *t = idx_parse(bytes, n, &e);
    if (t && tensor_min(t) > tensor_max(t) && tensor_count(t))
        abort();
    tensor_free(t);
    return 0;
}
