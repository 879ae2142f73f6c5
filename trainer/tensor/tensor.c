// SPDX-License-Identifier: MIT
#include "trainer/tensor/tensor.h"

#include "base/mem.h"
#include "base/os/available.h"
#include "trainer/tensor/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct tensor_memory {
    atomic_int views;
    void *bytes;
    void (*release)(void *owner); // NULL: free(bytes)
    void *owner;
};

static const struct {
    const char *name;
    size_t size;
} types[] = {
#define X(name, text, bytes) {text, bytes},
    TENSOR_TYPES(X)
#undef X
};

size_t tensor_type_size(tensor_type type)
{
    return types[type].size;
}

const char *tensor_type_name(tensor_type type)
{
    return types[type].name;
}

// The number of bytes for this shape, or an error if it overflows. Sizes of 0 count as 1 here: the
// product of the others is the size of a row, or of a result.
static int shape_bytes(tensor_type type, int dims, const size_t *shape, size_t *bytes, err *e)
{
    size_t n = types[type].size;
    bool empty = false;
    if (dims < 0 || dims > TENSOR_MAX_DIMS)
        return err_set(
            e, ERR_USAGE, "a tensor has at most %d dimensions, not %d", TENSOR_MAX_DIMS, dims);
    for (int i = 0; i < dims; i++) {
        empty |= !shape[i];
        if (__builtin_mul_overflow(n, shape[i] ? shape[i] : 1, &n) || n > PTRDIFF_MAX / 2) {
            AUTO_BUF text = {0};
            shape_text(dims, shape, &text);
            return err_set(
                e, ERR_LIMIT, "a tensor of shape %s does not fit into memory", buf_cstr(&text));
        }
    }
    *bytes = empty ? 0 : n;
    return 0;
}

static size_t row_size(int dims, const size_t *shape)
{
    size_t n = 1;
    for (int i = 1; i < dims; i++)
        n *= shape[i];
    return n;
}

// The first view of this memory.
static tensor *view_of(tensor_type type, int dims, const size_t *shape, struct tensor_memory memory)
{
    tensor *t = mem_alloc(sizeof *t);
    *t = (tensor){.type = type, .dims = dims, .stride = row_size(dims, shape), .scale = 1};
    for (int i = 0; i < dims; i++)
        t->shape[i] = shape[i];
    t->data = memory.bytes;
    t->memory = mem_alloc(sizeof *t->memory);
    *t->memory = memory;
    atomic_init(&t->memory->views, 1);
    return t;
}

tensor *tensor_of_later(int dims, const size_t *shape, const struct tensor_later *later, err *e)
{
    size_t one[TENSOR_MAX_DIMS] = {1};
    memcpy(one + 1, shape + 1, (size_t)(dims - 1) * sizeof *one);
    tensor *t = tensor_new(TENSOR_F32, dims, one, e);
    if (!t)
        return NULL;
    t->shape[0] = shape[0];
    t->stride = 0;
    t->later = later;
    return t;
}

tensor *tensor_new(tensor_type type, int dims, const size_t *shape, err *e)
{
    size_t bytes = 0;
    if (shape_bytes(type, dims, shape, &bytes, e) < 0)
        return NULL;
    if (memory_check(bytes, "the tensor's numbers", e) < 0)
        return NULL;
    void *data = memory_passing(bytes);
    if (!data) {
        err_set(e, ERR_LIMIT, "no memory for a tensor of %zu bytes", bytes);
        return NULL;
    }
    return view_of(type, dims, shape, (struct tensor_memory){.bytes = data});
}

tensor *tensor_over(tensor_type type, int dims, const size_t *shape, void *elements,
    void (*release)(void *owner), void *owner, err *e)
{
    size_t bytes = 0;
    if (shape_bytes(type, dims, shape, &bytes, e) < 0)
        return NULL;
    return view_of(type, dims, shape,
        (struct tensor_memory){.bytes = elements, .release = release, .owner = owner});
}

tensor *tensor_from(tensor_type type, int dims, const size_t *shape, const void *elements, err *e)
{
    tensor *t = tensor_new(type, dims, shape, e);
    if (t && tensor_count(t))
        memcpy(t->data, elements, tensor_count(t) * types[type].size);
    return t;
}

void tensor_free(tensor *t)
{
    if (!t)
        return;
    if (atomic_fetch_sub(&t->memory->views, 1) == 1) {
        if (t->memory->release)
            t->memory->release(t->memory->owner);
        else
            free(t->memory->bytes);
        free(t->memory);
    }
    free(t);
}

tensor *tensor_ref(const tensor *t)
{
    tensor *view = mem_alloc(sizeof *view);
    *view = *t;
    atomic_fetch_add(&t->memory->views, 1);
    return view;
}

size_t tensor_rows(const tensor *t)
{
    return t->dims ? t->shape[0] : 1;
}

size_t tensor_row_size(const tensor *t)
{
    return row_size(t->dims, t->shape);
}

size_t tensor_count(const tensor *t)
{
    return tensor_rows(t) * tensor_row_size(t);
}

bool tensor_is_integer(const tensor *t)
{
    return t->type != TENSOR_F32 && (t->type != TENSOR_U8 || t->scale == 1);
}

bool tensor_has_gaps(const tensor *t)
{
    return tensor_rows(t) > 1 && t->stride != tensor_row_size(t);
}

static int needs_rows(const tensor *t, const char *what, err *e)
{
    return t->dims ? 0 : err_set(e, ERR_USAGE, "%s: a tensor of shape () has no rows", what);
}

static void skip_rows(tensor *t, size_t rows)
{
    t->data = (char *)t->data + rows * t->stride * types[t->type].size;
}

// One end of a range: a negative index counts from the end, and one outside is clipped.
static size_t clip(int64_t i, size_t n)
{
    if (i < 0)
        return (uint64_t)-i > n ? 0 : n - (size_t)-i;
    return (uint64_t)i > n ? n : (size_t)i;
}

tensor *tensor_slice(const tensor *t, int64_t from, int64_t to, err *e)
{
    if (needs_rows(t, "slice", e) < 0)
        return NULL;
    size_t first = clip(from, t->shape[0]), last = clip(to, t->shape[0]);
    tensor *view = tensor_ref(t);
    view->shape[0] = last > first ? last - first : 0;
    if (view->shape[0])
        skip_rows(view, first);
    return view;
}

tensor *tensor_shard(const tensor *t, int rank, int size, err *e)
{
    if (needs_rows(t, "shard", e) < 0)
        return NULL;
    if (size < 1 || rank < 0 || rank >= size) {
        err_set(e, ERR_USAGE, "shard: rank %d of %d ranks does not exist", rank, size);
        return NULL;
    }
    size_t n = t->shape[0], first = (size_t)rank, step = (size_t)size;
    tensor *view = tensor_ref(t);
    view->shape[0] = first < n ? (n - first + step - 1) / step : 0;
    if (view->shape[0])
        skip_rows(view, first);
    view->stride *= step;
    return view;
}

tensor *tensor_row(const tensor *t, int64_t i, err *e)
{
    if (needs_rows(t, "index", e) < 0)
        return NULL;
    int64_t n = (int64_t)t->shape[0];
    if (i < -n || i >= n) {
        err_set(e, ERR_USAGE, "index %lld is out of range: the tensor has %lld rows (0 to %lld)",
            (long long)i, (long long)n, (long long)n - 1);
        return NULL;
    }
    tensor *view = tensor_ref(t);
    skip_rows(view, (size_t)(i < 0 ? i + n : i));
    view->dims = t->dims - 1;
    for (int d = 0; d < view->dims; d++)
        view->shape[d] = t->shape[d + 1];
    view->stride = row_size(view->dims, view->shape);
    return view;
}

// Replaces the one -1, if any, and checks that the shape has `count` elements.
static int resolve(int dims, const int64_t *shape, size_t count, size_t *out, err *e)
{
    size_t known = 1;
    int open = -1;
    for (int i = 0; i < dims; i++) {
        if (shape[i] < -1 || (shape[i] == -1 && open >= 0))
            return err_set(e, ERR_USAGE, "reshape: sizes are 0 or more, and one of them may be -1");
        if (shape[i] == -1)
            open = i;
        else if (__builtin_mul_overflow(known, (size_t)shape[i], &known))
            return err_set(e, ERR_LIMIT, "reshape: the shape is too big");
        out[i] = shape[i] == -1 ? 0 : (size_t)shape[i];
    }
    if (open >= 0 && known && count % known == 0) {
        out[open] = count / known;
        return 0;
    }
    if (open < 0 && known == count)
        return 0;
    AUTO_BUF text = {0};
    for (int i = 0; i < dims; i++)
        buf_fmt(&text, "%s%lld", i ? ", " : "", (long long)shape[i]);
    return err_set(
        e, ERR_USAGE, "reshape: %zu elements do not fit into shape (%s)", count, buf_cstr(&text));
}

tensor *tensor_reshape(const tensor *t, int dims, const int64_t *shape, err *e)
{
    size_t sizes[TENSOR_MAX_DIMS] = {0};
    if (dims < 0 || dims > TENSOR_MAX_DIMS) {
        err_set(e, ERR_USAGE, "reshape: a tensor has at most %d dimensions", TENSOR_MAX_DIMS);
        return NULL;
    }
    if (tensor_has_gaps(t)) {
        err_set(e, ERR_USAGE, "reshape: rows of a shard do not lie side by side; copy it first");
        return NULL;
    }
    size_t bytes;
    if (resolve(dims, shape, tensor_count(t), sizes, e) < 0 ||
        shape_bytes(t->type, dims, sizes, &bytes, e) < 0)
        return NULL;
    tensor *view = tensor_ref(t);
    view->dims = dims;
    memcpy(view->shape, sizes, sizeof sizes);
    view->stride = row_size(dims, sizes);
    return view;
}

tensor *tensor_scaled(const tensor *t, float scale, err *e)
{
    if (t->type != TENSOR_U8) {
        err_set(e, ERR_USAGE, "only u8 tensors have a scale, not %s", types[t->type].name);
        return NULL;
    }
    tensor *view = tensor_ref(t);
    view->scale = scale;
    return view;
}

tensor *tensor_gather(const tensor *t, const uint32_t *rows, size_t n, err *e)
{
    if (needs_rows(t, "gather", e) < 0)
        return NULL;
    size_t shape[TENSOR_MAX_DIMS], bytes = tensor_row_size(t) * types[t->type].size;
    memcpy(shape, t->shape, sizeof shape);
    shape[0] = n;
    tensor *copy = tensor_new(t->type, t->dims, shape, e);
    if (!copy)
        return NULL;
    copy->scale = t->scale;
    switch (bytes) {
        //  A number a row: the compiler makes a move of each copy.
#define GATHER(size)                                                                               \
    case size:                                                                                     \
        for (size_t i = 0; i < n; i++)                                                             \
            memcpy((char *)copy->data + i * size, tensor_row_data(t, rows[i]), size);              \
        return copy;
        GATHER(1)
        GATHER(2)
        GATHER(4)
        GATHER(8)
#undef GATHER
    default:
        for (size_t i = 0; i < n; i++)
            memcpy((char *)copy->data + i * bytes, tensor_row_data(t, rows[i]), bytes);
        return copy;
    }
}

tensor *tensor_to_f32(const tensor *t, err *e)
{
    tensor *copy = tensor_new(TENSOR_F32, t->dims, t->shape, e);
    float *out = copy ? copy->data : NULL;
    for (size_t i = 0; copy && i < tensor_count(t); i++)
        out[i] = (float)tensor_at(t, i);
    return copy;
}
