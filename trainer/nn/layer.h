// SPDX-License-Identifier: MIT
// The layers of a model as plain values, with Keras's names, and as text. A layer_spec owns
// nothing; models copy them. The formula of a layer is in its operation's file, in nn/op/.
//
//   linear     f(z) = z                        sigmoid   1/(1 + e^-z)
//   relu       max(z, 0)                       softplus  log(1 + e^z)
//   leaky_relu z where z > 0, else 0.2·z       tanh      2·sigmoid(2z) - 1
//   elu        z where z > 0, else e^z - 1     silu      z·sigmoid(z)
//   selu       1.0507 · (z where z > 0, else 1.67326·(e^z - 1))
//   gelu       z·(1 + erf(z/√2))/2             softmax   e^z[i] / Σ e^z[j]
#pragma once
#include "base/err.h"
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
    X(NORMALIZATION, "Normalization", "normalization")

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

enum { LAYER_NAME_SIZE = 48, LAYER_CONSTANTS = 4 };

// The shape of one row of a batch: (28, 28, 1).
typedef struct row_shape {
    int dims;
    size_t size[TENSOR_MAX_DIMS];
} row_shape;

// Keras's defaults, for who makes a layer.
#define NORM_EPSILON  1e-3
#define NORM_MOMENTUM 0.99

typedef struct layer_spec {
    layer_kind kind;
    char name[LAYER_NAME_SIZE];    // "": named by Keras's rule: dense, dense_1, …
    int dims;                      // Flatten: the shape of one row, if given (0: any)
    size_t shape[TENSOR_MAX_DIMS]; // InputLayer: of a row; Reshape: the new one, 0 is to be found;
                                   // RandomCrop, CenterCrop: height, width
    size_t units;                  // Dense; Conv2D's filters; Embedding's output_dim
    size_t inputs;                 // Dense: 0 until known from the layers before
    activation activation;         // Dense, Conv2D, Activation
    bool no_bias;                  // Dense: y = f(x·W); Conv2D
    float rate;                    // Dropout, 0 <= rate < 1
    row_shape in;                  // a row of the input, where the first layer tells it
    size_t entries;                // Embedding's input_dim: indices are less
    size_t window[2], stride[2];   // convolutions, pooling: kernel_size or pool_size, strides
    size_t dilation[2];            // convolutions: dilation_rate, 0 is 1
    size_t groups;                 // Conv2D: channels and filters in so many parts, 0 is 1
    size_t multiplier;             // DepthwiseConv2D: depth_multiplier
    size_t pad[4];                 // ZeroPadding2D: top, bottom, left, right
    bool horizontal, vertical;     // RandomFlip: mode
    double mean[LAYER_CONSTANTS], variance[LAYER_CONSTANTS]; // Normalization: so many of each,
    size_t constants;                                        // 1 or one for each channel
    double slope, threshold, most; // ReLU: negative_slope, threshold, max_value (infinite: none)
    bool same;                     // padding "same", not "valid"
    bool no_center, no_scale;      // normalisations: without beta, without gamma
    double epsilon, momentum;      // normalisations, see NORM_EPSILON
    double scale, offset;          // Rescaling
    bool frozen;                   // trainable = false
    bool half;                     // dtype = "mixed_bfloat16": see trainer/nn/op/conv2d_dnn.c
    double l2;                     // Dense: l2·Σ W² is added to the loss of each batch
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
