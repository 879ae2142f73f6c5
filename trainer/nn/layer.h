// SPDX-License-Identifier: MIT
// The layers of a model as plain values, with Keras's names, and as text. A layer_spec owns
// nothing; models copy them, and own what their copies point at. The gradients of a layer are in
// its operation's file, in nn/op/. doc/models.md and `help` have these tables
// (tests/support/formulapage.py).
//
// Layers:
//   InputLayer          rows of a shape: `nn.Input { 28, 28 }`  [Keras 3]
//   Dense               f(x·W + b) over the last dimension of each row, W from Glorot's uniform
//                       distribution, b = 0  [Glorot & Bengio 2010]
//   Conv2D              f(Σ over the window x·W + b) on (height, width, channels); `strides`,
//                       `padding` "valid" or "same", `dilation_rate`; with `groups` a filter sees
//                       only its part of the channels; W as Dense's
//                       [LeCun and others 1998; groups: Krizhevsky and others 2012]
//   Conv1D              the same on (steps, channels); `padding` may be "causal": all zeros in
//                       front, so an output sees no later step
//                       [van den Oord and others, arXiv 1609.03499]
//   DepthwiseConv2D     each channel by itself: `depth_multiplier` outputs for each, otherwise as
//                       Conv2D  [Chollet, arXiv 1610.02357]
//   SeparableConv2D     f((x by itself in each channel, as DepthwiseConv2D)·W + b): W of windows of
//                       one pixel; the bias and f come last  [Chollet, arXiv 1610.02357]
//   ZeroPadding2D       zeros around a picture: `1`, `{rows, columns}`, `{{top, bottom}, {left,
//                       right}}`  [Keras 3]
//   MaxPooling2D        the greatest of a window in each channel; padding does not count
//                       [Scherer, Müller & Behnke 2010]
//   AveragePooling2D    the mean of a window in each channel; padding does not count
//                       [LeCun and others 1998]
//   GlobalMaxPooling2D  the greatest over the picture: (height, width, channels) → (channels), with
//                       `keepdims` → (1, 1, channels)  [Keras 3]
//   GlobalAveragePooling2D  the mean over the picture: (height, width, channels) → (channels), with
//                       `keepdims` → (1, 1, channels)  [Lin and others, arXiv 1312.4400]
//   MaxPooling1D        as MaxPooling2D, on (steps, channels)  [Keras 3]
//   AveragePooling1D    as AveragePooling2D, on (steps, channels)  [Keras 3]
//   GlobalMaxPooling1D  the greatest over the steps: (steps, channels) → (channels), with
//                       `keepdims` → (1, channels)  [Keras 3]
//   GlobalAveragePooling1D  the mean over the steps  [Lin and others, arXiv 1312.4400]
//   Embedding           E[x], x indices from 0 to input_dim - 1, at most 2^24; E uniform in ±0.05
//                       [Bengio and others 2003]
//   BatchNormalization  gamma·(x - mean)/√(var + ε) + beta over rows and positions, for each
//                       channel; else with moving_mean and moving_variance, which follow by
//                       `momentum` 0.99, and when the layer is frozen; ε 0.001. Each rank has its
//                       own rows'; with `synchronized` all have those of all ranks' rows, each row
//                       counting once  [Ioffe & Szegedy, arXiv 1502.03167]
//   LayerNormalization  gamma·(x - mean)/√(var + ε) + beta over the last dimension of each row, or
//                       those that `axis` lists, up to the last; ε 0.001  [Ba, Kiros & Hinton,
//                       arXiv 1607.06450]
//   Rescaling           x·`scale` + `offset`  [Keras 3]
//   Normalization       (x - `mean`)/√`variance` of numbers that are given, or that `adapt` has
//                       taken from a tensor: one, or one for each of the last dimension; `invert`:
//                       x·√variance + mean  [Keras 3]
//   RandomFlip          in training each picture is mirrored with probability 1/2: `mode`
//                       "horizontal", "vertical", "horizontal_and_vertical"
//                       [Krizhevsky and others 2012]
//   RandomCrop          in training a window of (`height`, `width`) anywhere in each picture, else
//                       its middle. Keras resizes where RandomCrop does not train
//                       [Krizhevsky and others 2012]
//   CenterCrop          the middle (`height`, `width`) of each picture  [Keras 3]
//   Dropout             x·m/(1-rate) while training, m = 0 with probability rate, else 1; x
//                       otherwise. The noise is a function of seed, step, layer, row, column and
//                       rank  [Srivastava and others 2014]
//   Activation          f(x)  [Keras 3]
//   ReLU                `max_value` where x ≥ max_value, `negative_slope`·(x - `threshold`) where
//                       x < threshold, else x  [Nair & Hinton 2010]
//   Add                 Σ x[i], all of one shape  [He and others, arXiv 1512.03385]
//   Concatenate         x[0], x[1], … side by side along `axis`: -1, the last dimension, or another
//                       one; 1 is the first of a row, all other sizes are the same
//                       [Szegedy and others, arXiv 1409.4842]
//   Flatten             (n, d1, d2, …) → (n, d1·d2·…)  [Keras 3]
//   Reshape             (n, …) → (n, target_shape), one size of which may be -1  [Keras 3]
//
// Regularizers:
//   L1    l1·Σ |W| is added to the loss of each batch, also where nothing is trained; l1 0.01
//         [Tibshirani 1996]
//   L2    l2·Σ W²; l2 0.01  [Krogh & Hertz 1992]
//   L1L2  l1·Σ |W| + l2·Σ W²; both 0  [Zou & Hastie 2005]
//
// Activations:
//   linear      z  [Keras 3]
//   relu        max(z, 0)  [Nair & Hinton 2010]
//   leaky_relu  z where z > 0, else 0.2·z  [Maas, Hannun & Ng 2013]
//   sigmoid     1/(1 + e^-z)  [Rumelhart, Hinton & Williams 1986]
//   tanh        (e^z - e^-z)/(e^z + e^-z)  [LeCun and others 1998]
//   softmax     e^z[i]/Σ e^z[j]  [Bridle 1990]
//   gelu        z·(1 + erf(z/√2))/2  [Hendrycks & Gimpel, arXiv 1606.08415]
//   silu, swish  z·sigmoid(z)  [Elfwing and others, arXiv 1702.03118]
//   elu         z where z > 0, else e^z - 1  [Clevert and others, arXiv 1511.07289]
//   selu        1.0507·(z where z > 0, else 1.67326·(e^z - 1))
//               [Klambauer and others, arXiv 1706.02515]
//   softplus    log(1 + e^z)  [Dugas and others 2001]
#pragma once
#include "base/err.h"
#include "trainer/nn/initializer.h"
#include "trainer/tensor/tensor.h"

#define LAYER_KINDS(X)                                                                             \
    X(FLATTEN, "Flatten", "flatten")                                                               \
    X(DENSE, "Dense", "dense")                                                                     \
    X(DROPOUT, "Dropout", "dropout")                                                               \
    X(INPUT, "InputLayer", "input_layer")                                                          \
    X(ACTIVATION, "Activation", "activation")                                                      \
    X(RESHAPE, "Reshape", "reshape")                                                               \
    X(ADD, "Add", "add")                                                                           \
    X(CONCATENATE, "Concatenate", "concatenate")                                                   \
    X(EMBEDDING, "Embedding", "embedding")                                                         \
    X(LAYER_NORMALIZATION, "LayerNormalization", "layer_normalization")                            \
    X(BATCH_NORMALIZATION, "BatchNormalization", "batch_normalization")                            \
    X(CONV2D, "Conv2D", "conv2d")                                                                  \
    X(MAX_POOLING2D, "MaxPooling2D", "max_pooling2d")                                              \
    X(AVERAGE_POOLING2D, "AveragePooling2D", "average_pooling2d")                                  \
    X(GLOBAL_AVERAGE_POOLING2D, "GlobalAveragePooling2D", "global_average_pooling2d")              \
    X(RESCALING, "Rescaling", "rescaling")                                                         \
    X(DEPTHWISE_CONV2D, "DepthwiseConv2D", "depthwise_conv2d")                                     \
    X(ZERO_PADDING2D, "ZeroPadding2D", "zero_padding2d")                                           \
    X(GLOBAL_MAX_POOLING2D, "GlobalMaxPooling2D", "global_max_pooling2d")                          \
    X(RELU, "ReLU", "re_lu")                                                                       \
    X(RANDOM_FLIP, "RandomFlip", "random_flip")                                                    \
    X(RANDOM_CROP, "RandomCrop", "random_crop")                                                    \
    X(CENTER_CROP, "CenterCrop", "center_crop")                                                    \
    X(NORMALIZATION, "Normalization", "normalization")                                             \
    X(SEPARABLE_CONV2D, "SeparableConv2D", "separable_conv2d")                                     \
    X(CONV1D, "Conv1D", "conv1d")                                                                  \
    X(MAX_POOLING1D, "MaxPooling1D", "max_pooling1d")                                              \
    X(AVERAGE_POOLING1D, "AveragePooling1D", "average_pooling1d")                                  \
    X(GLOBAL_AVERAGE_POOLING1D, "GlobalAveragePooling1D", "global_average_pooling1d")              \
    X(GLOBAL_MAX_POOLING1D, "GlobalMaxPooling1D", "global_max_pooling1d")

typedef enum layer_kind {
#define X(name, text, id) LAYER_##name,
    LAYER_KINDS(X)
#undef X
        LAYER_KIND_COUNT
} layer_kind;

#define ACTIVATIONS(X)                                                                             \
    X(LINEAR, "linear")                                                                            \
    X(RELU, "relu")                                                                                \
    X(SIGMOID, "sigmoid")                                                                          \
    X(TANH, "tanh")                                                                                \
    X(SOFTMAX, "softmax")                                                                          \
    X(GELU, "gelu")                                                                                \
    X(SILU, "silu")                                                                                \
    X(ELU, "elu")                                                                                  \
    X(SELU, "selu")                                                                                \
    X(LEAKY_RELU, "leaky_relu")                                                                    \
    X(SOFTPLUS, "softplus")

typedef enum activation {
#define X(name, text) ACTIVATION_##name,
    ACTIVATIONS(X)
#undef X
} activation;

enum { LAYER_NAME_SIZE = 48, LAYER_CONSTANTS = 1 << 16, LAYER_WEIGHTS = 4 };

// The shape of one row of a batch: (28, 28, 1).
typedef struct row_shape {
    int dims;
    size_t size[TENSOR_MAX_DIMS];
} row_shape;

// Keras's defaults, for who makes a layer.
#define NORM_EPSILON  1e-3
#define NORM_MOMENTUM 0.99

// What is said of one weight of a layer: `kernel_initializer`, `kernel_regularizer`.
typedef struct weight_spec {
    initializer start;
    double l1, l2; // l1·Σ |W| + l2·Σ W² is added to the loss of each batch
} weight_spec;

typedef struct layer_spec {
    layer_kind kind;
    char name[LAYER_NAME_SIZE];    // "": named by Keras's rule: dense, dense_1, …
    int dims;                      // Flatten: the shape of one row, if given (0: any)
    size_t shape[TENSOR_MAX_DIMS]; // InputLayer: of a row; Reshape: the new one, 0 is to be found;
                                   // RandomCrop, CenterCrop: height, width
    size_t units;                  // Dense; convolutions' filters; Embedding's output_dim
    size_t inputs;                 // Dense: 0 until known from the layers before
    activation activation;         // Dense, convolutions, Activation
    bool no_bias;                  // Dense: y = f(x·W); Conv2D
    float rate;                    // Dropout, 0 <= rate < 1
    row_shape in;                  // a row of the input, where the first layer tells it
    size_t entries;                // Embedding's input_dim: indices are less
    size_t window[2], stride[2];   // convolutions, pooling: kernel_size or pool_size, strides
    size_t dilation[2];            // convolutions: dilation_rate, 0 is 1
    size_t groups;                 // Conv2D: channels and filters in so many parts, 0 is 1
    size_t multiplier;             // DepthwiseConv2D, SeparableConv2D: depth_multiplier
    size_t pad[4];                 // ZeroPadding2D: top, bottom, left, right
    bool keepdims;                 // global pooling: (1, 1, channels), not (channels)
    bool horizontal, vertical;     // RandomFlip: mode
    const double *mean, *variance; // Normalization: so many of each,
    size_t constants;              // 1 or one for each channel
    double slope, threshold, most; // ReLU: negative_slope, threshold, max_value (infinite: none)
    bool same;                     // padding "same", not "valid"
    bool causal;                   // Conv1D: padding "causal"
    int axis;                      // Concatenate, normalisations: as Keras counts, -1 the last;
                                   // 0: that, too
    size_t axes;                   // LayerNormalization: so many from there on, 0 is 1
    bool no_center, no_scale;      // normalisations: without beta, without gamma
    double epsilon, momentum;      // normalisations, see NORM_EPSILON
    bool synchronized;             // BatchNormalization: statistics of all ranks' rows
    double scale, offset;          // Rescaling
    bool frozen;                   // trainable = false
    bool half;                     // dtype = "mixed_bfloat16": see nn/fuse.h
    size_t remat;                  // computed anew in backward if a row of its output has so many
                                   // numbers; 0: never. See nn/flow_anew.c
    weight_spec weight[LAYER_WEIGHTS]; // in the order of op.weight
    size_t shares;      // 1 + the layer whose weights it uses: another call of it; 0: its
                        // own
    const size_t *from; // the layers whose outputs it takes, by number; all are less
    size_t froms;       // than its own. 0: takes the output of the layer before it
} layer_spec;

// "Dense(128)", "Flatten(28, 28)", "Dropout(0.2)".
void layer_text(const layer_spec *spec, buf *out);
const char *layer_kind_name(layer_kind kind); // "Dense"
const char *layer_kind_id(layer_kind kind);   // "dense"
// Finds it by name; errors list the known names. "none" is linear.
int layer_kind_parse(const char *text, layer_kind *kind, err *e);
int activation_parse(const char *text, activation *a, err *e);
const char *activation_name(activation a);
// Can f'(z) be computed from f(z)?
bool activation_is_of_output(activation a);
size_t shape_size(const row_shape *s); // the numbers in it; SIZE_MAX when they are too many
