// SPDX-License-Identifier: MIT
// A window that moves over pictures (height, width, channels), for convolutions and pooling: its
// size, its steps and the padding, with Keras's rules.
//
//   padding "valid"  outputs = ⌊(inputs - reach)/stride⌋ + 1, nothing is added
//                    reach = (window - 1)·dilation + 1: what the window spans
//   padding "same"   outputs = ⌈inputs/stride⌉; what is missing is added on both sides, the odd one
//                    at the end
//   padding "causal" as "same", but all in front: (window - 1)·dilation; of Conv1D's steps
#pragma once
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/layer/onnx.h"
#include "trainer/nn/layer/op.h"

typedef struct window {
    size_t in[2], out[2], size[2], stride[2], dilation[2]; // height, width
    size_t before[2];                                      // added in front
    size_t channels;                                       // of the input
} window;

// -1 with e when the picture does not fit. Errors go on after the layer's name.
int window_new(const layer_spec *l, const row_shape *in, window *out, err *e);
// For shapes that window_new has accepted.
window window_of(const layer_spec *l, const row_shape *in);
// Where tap (i, j) of output (y, x) lies in the picture: the index of its first channel; SIZE_MAX
// in the padding.
static inline size_t window_at(const window *w, size_t y, size_t x, size_t i, size_t j)
{
    size_t row = y * w->stride[0] + i * w->dilation[0] - w->before[0];
    size_t column = x * w->stride[1] + j * w->dilation[1] - w->before[1];
    return row < w->in[0] && column < w->in[1] ? (row * w->in[1] + column) * w->channels : SIZE_MAX;
}

// Steps and padding as attributes of the newest node.
void window_to_onnx(const window *w, onnx *o);

// Attributes of layers with a window: `size` is what its size is called, `type` says how sizes of
// its dimensions are told.
extern const char *const window_paddings[], *const window_paddings_of_steps[];
#define WINDOW_SIZE(size, type, ...)                                                               \
    {                                                                                              \
        size, type, offsetof(window_layer, window), .least = 1, .most = SIZE_MOST, .shown = true,  \
                                                    __VA_ARGS__                                    \
    }
#define WINDOW_STRIDES(type, ...)                                                                  \
    {                                                                                              \
        "strides", type, offsetof(window_layer, stride), .least = 1, .most = SIZE_MOST,            \
                                                         __VA_ARGS__                               \
    }
#define WINDOW_PADDING(names)                                                                      \
    {                                                                                              \
        "padding", ATTRIBUTE_CHOICE, offsetof(window_layer, padding),                              \
            .choices = names,                                                                      \
            .meaning = "How edges are treated: with \"same\" zeros are added around the input."    \
    }
#define WINDOW_DILATION(type)                                                                      \
    {                                                                                              \
        "dilation_rate", type, offsetof(window_layer, dilation),                                   \
            .least = 1, .most = SIZE_MOST, .sparse = true, .signature = "1",                       \
            .meaning = "How far apart the taps of the window are."                                 \
    }
#define WINDOW_FILTERS                                                                             \
    {                                                                                              \
        "filters", ATTRIBUTE_SIZE, offsetof(window_layer, units),                                  \
            .least = 1, .most = SIZE_MOST, .required = true, .shown = true,                        \
            .meaning = "How many channels the output has."                                         \
    }
#define WINDOW_GROUPS                                                                              \
    {                                                                                              \
        "groups", ATTRIBUTE_SIZE, offsetof(window_layer, groups),                                  \
            .otherwise = 1, .most = SIZE_MOST, .sparse = true,                                     \
            .meaning = "In so many parts channels and filters are cut."                            \
    }
#define WINDOW_MULTIPLIER                                                                          \
    {                                                                                              \
        "depth_multiplier", ATTRIBUTE_SIZE, offsetof(window_layer, multiplier),                    \
            .otherwise = 1, .least = 1, .most = SIZE_MOST,                                         \
            .meaning = "How many outputs a channel has."                                           \
    }
#define WINDOW_BIAS                                                                                \
    {                                                                                              \
        "use_bias", ATTRIBUTE_NOT, offsetof(window_layer, no_bias),                                \
            .meaning = "Whether a number is added to each channel."                                \
    }
// op.settle of those with groups.
int window_check_groups(layer_spec *l, void *own, err *e);
// op.settle of pools.
int window_settle_pool(layer_spec *l, void *own, err *e);
