// SPDX-License-Identifier: MIT
// MNIST: 60000 + 10000 images of digits with their labels, from four IDX files in one folder
// ({train,t10k}-{images-idx3,labels-idx1}-ubyte, with or without .gz). The caller owns the tensors.
#pragma once
#include "base/data/digest.h"
#include "base/err.h"
#include "trainer/tensor/tensor.h"

typedef struct mnist {
    tensor *train_x; // u8 (n, 28, 28), scaled to [0, 1]
    tensor *train_y; // u8 (n), 0 to 9
    tensor *test_x;
    tensor *test_y;
} mnist;

// Its files, in the order train images and labels, test images and labels.
enum { MNIST_FILES = 4 };

typedef struct mnist_file {
    char *path; // NULL: the file is missing
    // The SHA-256 of its bytes in hexadecimal: known in advance, so that it is not computed again,
    // or computed while they were loaded. "": unknown.
    char sum[SHA256_HEX];
} mnist_file;

// Finds them; call mnist_files_done afterwards.
void mnist_find(const char *folder, mnist_file files[MNIST_FILES]);
void mnist_files_done(mnist_file files[MNIST_FILES]);

// Loads, checks and shards: rows rank, rank+size, … of training and test data (0, 1: everything).
// If the folder has a file SHA256SUMS (as sha256sum writes it), the checksums are verified. files:
// what mnist_find found in this folder; gets the checksums; NULL: searches itself. Errors:
// NOT_FOUND names folder and file; CORRUPT names the file and the damage, also for labels out of
// range, and if there are more images than labels or fewer.
int mnist_load(mnist *m, const char *folder, mnist_file *files, int rank, int size, err *e);
void mnist_done(mnist *m);
// Does the folder look like MNIST (its first file is there)?
bool mnist_is_folder(const char *folder);
