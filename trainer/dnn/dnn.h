// SPDX-License-Identifier: MIT
// Convolutions by oneDNN, as a plug-in that is loaded when a model needs it, so that the plain
// worker does not carry oneDNN. Pictures have the usual form: (rows, height, width, channels),
// without gaps. Only weights are reordered, panel by panel, once for each batch.
// Each call works on the calling thread: oneDNN's own threads (Debian builds it with OpenMP) never
// start. So callers cut the work into fixed chunks of rows, and the results are the same for any
// number of threads.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { DNN_VERSION = 5 };

typedef enum dnn_way { DNN_FORWARD, DNN_BACK_DATA, DNN_BACK_WEIGHTS } dnn_way;

// One convolution over so many rows, one way. Numbers are floats. With `half` pictures and packed
// weights are bf16; bias, sums and the gradient of weights are floats always.
//
//   forward: y = x·W + bias; with `sum` + what y holds; with `clip` then max(min(y, most), 0),
//   where NaN stays NaN
typedef struct dnn_conv_spec {
    dnn_way way;
    size_t rows, channels, filters;
    size_t groups; // of channels and filters, each independent; 0: one group
    size_t in[2], out[2], size[2], stride[2], dilation[2], before[2]; // height, width
    bool bias;                                                        // back to weights: db, too
    bool sum, clip;
    float most; // INFINITY: none
    bool half;
    bool widened; // with `half`: bf16 are converted to floats to be multiplied, packed weights are
                  // floats
} dnn_conv_spec;

// A convolution that is ready to run, on any thread, on several at once. It belongs to the plug-in,
// which has one for each spec, until the process ends.
typedef struct dnn_conv dnn_conv;

typedef struct dnn_ops {
    unsigned version;
    const char *(*library)(void); // "oneDNN 2.6.3"
    bool (*has_half)(void);       // can this CPU multiply bf16?
    // Is it faster on this CPU to convert bf16 to floats and multiply those? Only the kind of CPU
    // decides, so that results stay the same to the bit. Intel's AVX512_BF16 without AMX multiplies
    // no more numbers in a second than floats, and oneDNN must reorder them first; AMD's multiplies
    // twice as many.
    bool (*widens)(void);
    // NULL: oneDNN has only its slow reference for it. Thread-safe. If there is a convolution for
    // four rows, there is one for fewer rows, with the same order of packed weights, and vice
    // versa.
    const dnn_conv *(*conv)(const dnn_conv_spec *spec);
    // Bytes of packed weights (of the gradient of weights), and of memory for one call.
    size_t (*packed_bytes)(const dnn_conv *c);
    size_t (*scratch_bytes)(const dnn_conv *c);
    // The functions below return 0, or -1 if oneDNN failed (it has no memory); the results must not
    // be used then.
    //
    // Weights lie in panels of 64 filters, the last one may be narrower. Filters [from, from + n)
    // of one panel (height, width, channels, ld). With groups all filters are one panel, (height,
    // width, channels of a group, filters).
    int (*pack)(
        const dnn_conv *c, void *packed, const float *panel, size_t ld, size_t from, size_t n);
    int (*unpack)(
        const dnn_conv *c, float *panel, const float *packed, size_t ld, size_t from, size_t n);
    // Forward reads x and writes y; back to data reads y (dz) and writes x (dx); back to weights
    // reads both, and writes packed and bias. Packed, bias and scratch are aligned to 64 bytes.
    int (*run)(const dnn_conv *c, void *x, void *packed, float *bias, void *y, void *scratch);
} dnn_ops;

// Loads the plug-in; it stays loaded. NULL with e: the message names the Debian package.
const dnn_ops *dnn_load(const char *path, err *e);
