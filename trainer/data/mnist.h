// SPDX-License-Identifier: MIT
// MNIST: 60000 + 10000 images of digits with their labels, from four IDX files in one folder
// ({train,t10k}-{images-idx3,labels-idx1}-ubyte, with or without .gz). The caller owns the tensors.
#pragma once
#include "base/err.h"
#include "trainer/tensor/tensor.h"

typedef struct mnist {
    tensor *train_x; // u8 (n, 28, 28), reads as [0, 1]
    tensor *train_y; // u8 (n), 0 to 9
    tensor *test_x;
    tensor *test_y;
} mnist;

// Loads, checks and shards: rows rank, rank+size, … of training and test data (0, 1: everything).
// A file SHA256SUMS in the folder (as sha256sum writes it) is checked when it is there.
// Errors: NOT_FOUND naming folder and file; CORRUPT naming the file and the damage: also labels out
// of range, and images and labels of different number.
int mnist_load(mnist *m, const char *folder, int rank, int size, err *e);
void mnist_done(mnist *m);
// Does the folder look like MNIST (its first file is there)?
bool mnist_is_folder(const char *folder);
