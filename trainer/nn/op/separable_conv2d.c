// SPDX-License-Identifier: MIT
// SeparableConv2D: a DepthwiseConv2D, then a Conv2D of windows of one pixel over what it put out.
//
//   y = f((x * depthwise_kernel) · pointwise_kernel + bias)
//
//   depthwise_kernel (height, width, channels, depth_multiplier); it has stride, padding, dilation
//   pointwise_kernel (1, 1, channels·depth_multiplier, filters)
//
// Chollet, arXiv 1610.02357. In a graph it is two nodes of these operations, which have kernels by
// oneDNN, rows of bf16 and what is joined to them; this one never runs.
#include "trainer/nn/op/window.h"

static void parts(const layer_spec *l, layer_spec part[OP_PARTS], void *own[OP_PARTS])
{
    window_layer *depthwise = own[0], *pointwise = own[1];
    *depthwise = *pointwise = *(const window_layer *)l->own;
    for (int i = 0; i < 2; i++) {
        part[i] = *l;
        part[i].kind = i ? LAYER_CONV2D : LAYER_DEPTHWISE_CONV2D;
        part[i].own = own[i];
        pointwise->window[i] = pointwise->stride[i] = pointwise->dilation[i] = 1;
    }
    depthwise->activation = ACTIVATION_LINEAR;
    depthwise->no_bias = true;
    depthwise->units = 0;
    pointwise->padding = PADDING_VALID;
    pointwise->multiplier = 0;
}

static const attribute attributes[] = {WINDOW_FILTERS,
    WINDOW_SIZE("kernel_size", ATTRIBUTE_PAIR, .required = true,
        .meaning = "Of the window: one number, or {height, width}."),
    WINDOW_STRIDES(ATTRIBUTE_PAIR, .otherwise = 1, .meaning = "How far the window goes in a step."),
    WINDOW_PADDING(window_paddings), WINDOW_DILATION(ATTRIBUTE_PAIR), WINDOW_MULTIPLIER,
    ATTRIBUTE_OF_ACTIVATION(window_layer), WINDOW_BIAS, {0}};

const op op_separable_conv2d = {
    .kind = LAYER_SEPARABLE_CONV2D,
    .is = {.name = "SeparableConv2D",
        .size = sizeof(window_layer),
        .attributes = attributes,
        .places = "filters kernel_size strides padding",
        .ask = "how many filters, of which size? nn.SeparableConv2D { 32, 3 }",
        .about = "A convolution of each channel by itself, then one of windows of one pixel over "
                 "all of them.",
        .formula = "f((x by itself in each channel, as DepthwiseConv2D)·W + b): W of windows of "
                   "one pixel; the bias and f come last",
        .source = "Chollet, arXiv 1610.02357",
        .example = "model = nn.Sequential { nn.Input { 28, 28, 3 }, nn.SeparableConv2D { 8, 3 }, "
                   "nn.Flatten {}, nn.Dense { 10 } }\n"
                   "print(model:count_params()) --> 54149"},
    .least = 1,
    .most = 1,
    .weight = {{"depthwise", "depthwise_kernel"}, {"pointwise", "pointwise_kernel"},
        {"bias", "bias"}},
    .parts = parts,
    .part_kernel = {"depthwise_kernel", "pointwise_kernel"},
};
