// SPDX-License-Identifier: MIT
// A folder with a folder of pictures for each class, as Keras's image_dataset_from_directory takes
// it: `cats/1.jpg`, `dogs/big/7.png`. It is listed first, then all its pictures are decoded on
// several threads into one tensor.
#pragma once
#include "trainer/tensor/tensor.h"

#include <stdatomic.h>

typedef struct gallery {
    char **classes; // sorted, NULL-terminated
    size_t class_n, n;
    struct gallery_item {
        char *path; // below the folder
        size_t class;
    } * item; // sorted by class, folder and name
} gallery;

// .jpg, .jpeg and .png, in upper or lower case; skips names that begin with a dot. A picture of
// another kind (.gif, .bmp, .webp) is an error, and so is a folder without pictures. Subfolders of
// a class's folder belong to the class, except those that are links.
int gallery_open(gallery *g, const char *folder, err *e);
void gallery_done(gallery *g);
// Puts the items into the order of this seed.
void gallery_shuffle(gallery *g, uint64_t seed);

typedef struct gallery_spec {
    size_t height, width, channels;
    tensor_type type; // F32 as Keras has it, or U8: rounded, a quarter of the memory
    int rank, size;   // only items rank, rank + size, …; size 0: all
    int threads;      // 0: one for each core
    const atomic_bool *stop;
} gallery_spec;

// Splits off the last share of the items, as Keras's validation_split does: of n, floor(n·share)
// go to `last`, which is empty before.
void gallery_split(gallery *g, double share, gallery *last);
// (pictures, height, width, channels), from 0 to 255. Errors name the file.
tensor *gallery_load(const gallery *g, const char *folder, const gallery_spec *spec, err *e);
// The same pictures as a tensor whose rows are decoded when they are needed, by `gallery_rows`, on
// as many threads. It has its own copy of the list of files.
typedef struct gallery_rows gallery_rows;
gallery_rows *gallery_later(const gallery *g, const char *folder, const gallery_spec *spec, err *e);
const tensor *gallery_rows_tensor(const gallery_rows *r);
void gallery_rows_free(gallery_rows *r);
// (pictures) class numbers of the same items.
tensor *gallery_labels(const gallery *g, int rank, int size, err *e);
