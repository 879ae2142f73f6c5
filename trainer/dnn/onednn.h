// SPDX-License-Identifier: MIT
// The differences between oneDNN 2 and 3, for onednn.c. A description of memory is a struct in 2,
// copied by assignment; in 3 it is a handle that its owner frees with memory_done. In 3 there are
// no descriptions of operations: a plan is made directly.
#pragma once
#include "trainer/dnn/dnn.h"

#include <dnnl.h>
#include <stdbool.h>

// A convolution to be planned. It owns nothing.
struct convolution {
    dnn_way way;
    dnnl_engine_t engine;
    const dnnl_memory_desc_t *x, *weights, *bias, *y; // bias NULL: there is none
    dnnl_dims_t stride, dilation, before, after;
};

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t memory_arg;
#define MEMORY_ARG(d) (*(d)) // of a const dnnl_memory_desc_t *, what its functions take
// Orders of weights to be tried beside those that both serve: backward data in 3 is planned for
// blocks of channels, which only this one fits.
#define MORE_ORDERS dnnl_IOhw16o16i

static inline bool memory_by_tag(dnnl_memory_desc_t *d, int dims, const dnnl_dims_t size,
    dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    return dnnl_memory_desc_create_with_tag(d, dims, size, type, tag) == dnnl_success;
}

static inline bool memory_by_strides(
    dnnl_memory_desc_t *d, int dims, const dnnl_dims_t size, const dnnl_dims_t strides)
{
    return dnnl_memory_desc_create_with_strides(d, dims, size, dnnl_f32, strides) == dnnl_success;
}

static inline bool memory_part(dnnl_memory_desc_t *d, const dnnl_memory_desc_t *of,
    const dnnl_dims_t size, const dnnl_dims_t at)
{
    return dnnl_memory_desc_create_submemory(d, *of, size, at) == dnnl_success;
}

static inline bool memory_copy(dnnl_memory_desc_t *d, memory_arg from)
{
    return dnnl_memory_desc_clone(d, from) == dnnl_success;
}

static inline void memory_done(dnnl_memory_desc_t *d)
{
    if (*d)
        dnnl_memory_desc_destroy(*d);
    *d = NULL;
}

static inline void append_sum(dnnl_post_ops_t after)
{
    dnnl_post_ops_append_sum(after, 1, 0, dnnl_data_type_undef);
}

static inline dnnl_primitive_desc_t plan_convolution(
    const struct convolution *c, dnnl_primitive_attr_t attr, dnnl_primitive_desc_t hint)
{
    dnnl_primitive_desc_t plan = NULL;
    dnnl_status_t status = dnnl_invalid_arguments;
    memory_arg bias = c->bias ? *c->bias : NULL;
    switch (c->way) {
    case DNN_FORWARD:
        status = dnnl_convolution_forward_primitive_desc_create(&plan, c->engine,
            dnnl_forward_training, dnnl_convolution_direct, *c->x, *c->weights, bias, *c->y,
            c->stride, c->dilation, c->before, c->after, attr);
        break;
    case DNN_BACK_DATA:
        status = dnnl_convolution_backward_data_primitive_desc_create(&plan, c->engine,
            dnnl_convolution_direct, *c->x, *c->weights, *c->y, c->stride, c->dilation, c->before,
            c->after, hint, attr);
        break;
    case DNN_BACK_WEIGHTS:
        status = dnnl_convolution_backward_weights_primitive_desc_create(&plan, c->engine,
            dnnl_convolution_direct, *c->x, *c->weights, bias, *c->y, c->stride, c->dilation,
            c->before, c->after, hint, attr);
        break;
    }
    return status == dnnl_success ? plan : NULL;
}
#else
typedef const dnnl_memory_desc_t *memory_arg;
#define MEMORY_ARG(d) (d)
#define MORE_ORDERS

static inline bool memory_by_tag(dnnl_memory_desc_t *d, int dims, const dnnl_dims_t size,
    dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    return dnnl_memory_desc_init_by_tag(d, dims, size, type, tag) == dnnl_success;
}

static inline bool memory_by_strides(
    dnnl_memory_desc_t *d, int dims, const dnnl_dims_t size, const dnnl_dims_t strides)
{
    return dnnl_memory_desc_init_by_strides(d, dims, size, dnnl_f32, strides) == dnnl_success;
}

static inline bool memory_part(dnnl_memory_desc_t *d, const dnnl_memory_desc_t *of,
    const dnnl_dims_t size, const dnnl_dims_t at)
{
    return dnnl_memory_desc_init_submemory(d, of, size, at) == dnnl_success;
}

static inline bool memory_copy(dnnl_memory_desc_t *d, memory_arg from)
{
    *d = *from;
    return true;
}

static inline void memory_done(dnnl_memory_desc_t *d)
{
    (void)d;
}

static inline void append_sum(dnnl_post_ops_t after)
{
    dnnl_post_ops_append_sum(after, 1);
}

static inline dnnl_status_t describe_convolution(
    const struct convolution *c, dnnl_convolution_desc_t *d)
{
    switch (c->way) {
    case DNN_FORWARD:
        return dnnl_dilated_convolution_forward_desc_init(d, dnnl_forward_training,
            dnnl_convolution_direct, c->x, c->weights, c->bias, c->y, c->stride, c->dilation,
            c->before, c->after);
    case DNN_BACK_DATA:
        return dnnl_dilated_convolution_backward_data_desc_init(d, dnnl_convolution_direct, c->x,
            c->weights, c->y, c->stride, c->dilation, c->before, c->after);
    case DNN_BACK_WEIGHTS:
        break;
    }
    return dnnl_dilated_convolution_backward_weights_desc_init(d, dnnl_convolution_direct, c->x,
        c->weights, c->bias, c->y, c->stride, c->dilation, c->before, c->after);
}

static inline dnnl_primitive_desc_t plan_convolution(
    const struct convolution *c, dnnl_primitive_attr_t attr, dnnl_primitive_desc_t hint)
{
    dnnl_convolution_desc_t d;
    dnnl_primitive_desc_t plan = NULL;
    return describe_convolution(c, &d) == dnnl_success &&
                   dnnl_primitive_desc_create(&plan, &d, attr, c->engine, hint) == dnnl_success
               ? plan
               : NULL;
}
#endif
