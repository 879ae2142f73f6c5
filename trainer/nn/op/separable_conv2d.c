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

static void parts(const layer_spec *l, layer_spec part[OP_PARTS])
{
    layer_spec *depthwise = &part[0], *pointwise = &part[1];
    *depthwise = *pointwise = *l;
    depthwise->kind = LAYER_DEPTHWISE_CONV2D;
    depthwise->activation = ACTIVATION_LINEAR;
    depthwise->no_bias = true;
    depthwise->units = 0;
    pointwise->kind = LAYER_CONV2D;
    pointwise->same = false;
    pointwise->multiplier = 0;
    for (int i = 0; i < 2; i++)
        pointwise->window[i] = pointwise->stride[i] = pointwise->dilation[i] = 1;
}

static void write(const layer_spec *l, cJSON *j)
{
    json_set_int(j, "filters", (int64_t)l->units);
    window_write(l, "kernel_size", j);
    json_set_int(j, "depth_multiplier", (int64_t)l->multiplier);
    json_set_str(j, "activation", activation_name(l->activation));
    json_set_bool(j, "use_bias", !l->no_bias);
}

static int read(layer_spec *l, const cJSON *j, err *e)
{
    l->units = op_size(j, "filters");
    l->multiplier = op_size(j, "depth_multiplier");
    l->no_bias = !json_bool_or(j, "use_bias", true);
    return window_read(l, "kernel_size", j, e) < 0
               ? -1
               : activation_parse(json_str_or(j, "activation", "linear"), &l->activation, e);
}

const op op_separable_conv2d = {
    .kind = LAYER_SEPARABLE_CONV2D,
    .least = 1,
    .most = 1,
    .write = write,
    .read = read,
    .weight = {{"depthwise", "depthwise_kernel"}, {"pointwise", "pointwise_kernel"},
        {"bias", "bias"}},
    .parts = parts,
    .part_kernel = {"depthwise_kernel", "pointwise_kernel"},
};
