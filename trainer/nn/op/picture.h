// SPDX-License-Identifier: MIT
// Rows of other shapes as pictures of one column, (steps, channels) as (steps, 1, channels): they
// lie in the same way, so the operations of pictures compute them. A value; it owns nothing.
#pragma once
#include "trainer/nn/layer/layers.h"
#include "trainer/nn/layer/op.h"

typedef struct as_picture {
    layer_spec layer;
    window_layer own;
    row_shape in;
    op_work w;
} as_picture;

// The work of that layer; returns &p->w. Only its first input is a picture's.
const op_work *picture_work(const op_work *w, layer_kind kind, as_picture *p);
