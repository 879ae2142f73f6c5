// SPDX-License-Identifier: MIT
// NumPy's .npz files: arrays by name, in a ZIP archive.
#pragma once
#include "trainer/tensor/tensor.h"

typedef struct npz {
    size_t n;
    struct npz_item {
        char *name;
        tensor *t;
    } * item;
} npz;

// Errors name the array. Call npz_done also after an error.
int npz_parse(const void *bytes, size_t n, npz *out, err *e);
int npz_read(const char *path, npz *out, err *e);
// `compress` as np.savez_compressed does, else as np.savez.
int npz_write(const char *path, const npz *arrays, bool compress, err *e);
// Takes the tensor.
void npz_add(npz *z, const char *name, size_t n, tensor *t);
void npz_done(npz *z);
#define AUTO_NPZ __attribute__((cleanup(npz_done))) npz
