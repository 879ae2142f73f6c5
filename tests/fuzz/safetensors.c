// SPDX-License-Identifier: MIT
// Containers of tensors of any dtype. What is read is written, and read back as the same numbers.
#include "trainer/files/safetensors.h"
#include "base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void compare(const tensor *a, const tensor *b)
{
    if (!b || a->type != b->type || tensor_count(a) != tensor_count(b))
        abort();
    for (size_t i = 0; i < tensor_count(a); i++) {
        double x = tensor_at(a, i), y = tensor_at(b, i);
        if (x != y && !(isnan(x) && isnan(y)))
            abort();
    }
}

static void write_and_read(const char *name, const tensor *t)
{
    err e;
    safetensors again;
    safetensors_writer w;
    AUTO_BUF bytes = {0};
    safetensors_begin(&w);
    safetensors_add(&w, name, t);
    safetensors_finish(&w, &bytes);
    if (safetensors_open(&again, bytes.data, bytes.len, &e) < 0)
        abort();
    tensor *same = safetensors_get(&again, name, &e);
    compare(t, same);
    tensor_free(same);
    safetensors_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err e;
    safetensors s;
    const cJSON *item;
    if (safetensors_open(&s, data, n, &e) < 0)
        return 0;
    cJSON_ArrayForEach(item, s.header)
    {
        tensor *t = safetensors_get(&s, item->string, &e);
        if (t)
            write_and_read(item->string, t);
        tensor_free(t);
    }
    safetensors_done(&s);
    return 0;
}
