// SPDX-License-Identifier: MIT
// MNIST: 60000 + 10000 images of digits with their labels, from four IDX files in one folder
// ({train,t10k}-{images-idx3,labels-idx1}-ubyte, with or without .gz). The caller owns the tensors.
#pragma once
#include "base/err.h"
#include "trainer/tensor/tensor.h"

typedef struct mnist {
    tensor *train_x; // u8 (n, 28, 28), scaled to [0, 1]
    tensor *train_y; // u8 (n), 0 to 9
    tensor *test_x;
    tensor *test_y;
} mnist;

// Loads, checks and shards: rows rank, rank+size, … of training and test data (0, 1: everything).
// If the folder has a file SHA256SUMS (as sha256sum writes it), the sums are checked.
// Errors: NOT_FOUND names folder and file; CORRUPT names the file and the damage, also for labels
// out of range, and when there are more images than labels or fewer.
int mnist_load(mnist *m, const char *folder, int rank, int size, err *e);
void mnist_done(mnist *m);
// Does the folder look like MNIST (its first file is there)?
bool mnist_is_folder(const char *folder);
