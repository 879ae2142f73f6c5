// SPDX-License-Identifier: MIT
// What layers can be told that C code makes, or looks at from outside: layer_spec.own of these
// kinds. A layer that nobody does that with keeps its struct in its own file.
#pragma once
#include "trainer/nn/layer/layer.h"

// InputLayer: of a row. Reshape: the new one, where 0 is to be found. Flatten: of one row, if it is
// told.
typedef row_shape shape_layer;

typedef struct dense_layer {
    size_t units;
    size_t inputs; // 0 until it is known from the layers before
    activation activation;
    bool no_bias; // y = f(x·W)
} dense_layer;

typedef struct activation_layer {
    activation activation;
} activation_layer;

typedef struct dropout_layer {
    float rate; // 0 <= rate < 1
} dropout_layer;

typedef struct embedding_layer {
    size_t entries, units; // input_dim, output_dim: indices are less than input_dim
} embedding_layer;

typedef enum edges { PADDING_VALID, PADDING_SAME, PADDING_CAUSAL } edges;

// Convolutions and pooling: see op/window.h.
typedef struct window_layer {
    size_t window[2], stride[2]; // kernel_size or pool_size, strides
    size_t dilation[2];          // dilation_rate; 0 is 1
    edges padding;
    size_t units;      // filters
    size_t groups;     // channels and filters in so many parts; 0 is 1
    size_t multiplier; // depth_multiplier
    activation activation;
    bool no_bias;
} window_layer;

typedef struct global_layer {
    bool keepdims; // (1, 1, channels), not (channels)
} global_layer;

// BatchNormalization, LayerNormalization; Keras's defaults, for who makes one.
#define NORM_EPSILON  1e-3
#define NORM_MOMENTUM 0.99

typedef struct norm_layer {
    axis_range axis;
    double epsilon, momentum;
    bool no_center, no_scale; // without beta, without gamma
    bool synchronized;        // statistics of all ranks' rows
} norm_layer;

typedef struct concatenate_layer {
    int axis;
} concatenate_layer;

typedef struct relu_layer {
    double most, slope, threshold; // max_value (infinite: none), negative_slope, threshold
} relu_layer;

typedef struct rescaling_layer {
    double scale, offset;
} rescaling_layer;

// Normalization: 1 or one for each channel.
typedef struct normalization_layer {
    number_list mean, variance;
    bool invert;
} normalization_layer;

typedef struct padding_layer {
    size_t pad[4]; // top, bottom, left, right
} padding_layer;

typedef struct crop_layer {
    size_t size[2]; // height, width
} crop_layer;

typedef enum flip_mode { FLIP_HORIZONTAL, FLIP_VERTICAL, FLIP_BOTH } flip_mode;

typedef struct flip_layer {
    flip_mode mode;
} flip_layer;
