// SPDX-License-Identifier: MIT
#include "trainer/data/npy.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

// An array that is accepted is written and read as the same numbers.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    err e;
    tensor *t = npy_parse(bytes, n, &e);
    if (!t)
        return 0;
    AUTO_BUF again = {0};
    npy_format(t, &again);
    tensor *same = npy_parse(again.data, again.len, &e);
    size_t size = tensor_count(t) * tensor_type_size(t->type);
    if (!same || same->type != t->type || same->dims != t->dims ||
        tensor_count(same) != tensor_count(t))
        abort();
    if (size && memcmp(same->data, t->data, size) != 0)
        abort();
    tensor_free(t), tensor_free(same);
    return 0;
}
