// SPDX-License-Identifier: MIT
// Sums, means and the like along a dimension of a tensor, and of all of it.
#include "base/mem.h"
#include "base/os/available.h"
#include "trainer/tensor/arithmetic.h"
#include "trainer/tensor/arrange.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {
#define X(name, text) text,
    TENSOR_REDUCTIONS(X)
#undef X
};

const char *tensor_reduction_name(tensor_reduction r)
{
    return names[r];
}

// n values, `each` beside each other: (n, each) → (each). `mean` is only for STD, `whole` for
// integers.
struct column {
    double *sum, *mean;
    int64_t *at, *whole;
};

static bool goes_before(tensor_reduction r, double value, double best)
{
    if (isnan(best))
        return false;
    return isnan(value) || (r == REDUCTION_MIN ? value < best : value > best);
}

// Reads the numbers as doubles in pieces, so that the type is checked once for each piece.
enum { PIECE = 256, SUMS = 8 };

static void read_piece(const tensor *t, size_t from, size_t n, double *out)
{
    bool floats = t->type == TENSOR_F32 && t->scale == 1 && !tensor_has_gaps(t);
    const float *at = (const float *)t->data + from;
    for (size_t i = 0; floats && i < n; i++)
        out[i] = (double)at[i];
    for (size_t i = 0; !floats && i < n; i++)
        out[i] = tensor_at(t, from + i);
}

// Row k of the numbers, columns [i, i + n).
static void add_row(
    tensor_reduction r, struct column c, size_t k, size_t i, const double *v, size_t n)
{
    double *sum = c.sum + i;
    const double *mean = c.mean + i;
    if (r == REDUCTION_SUM || r == REDUCTION_MEAN) {
        for (size_t j = 0; j < n; j++)
            sum[j] += v[j];
        return;
    }
    if (r == REDUCTION_STD) {
        for (size_t j = 0; j < n; j++)
            sum[j] += (v[j] - mean[j]) * (v[j] - mean[j]);
        return;
    }
    for (size_t j = 0; j < n; j++)
        if (!k || goes_before(r, v[j], sum[j])) {
            sum[j] = v[j];
            c.at[i + j] = (int64_t)k;
        }
}

// The numbers of one column side by side: in 8 sums, which the processor computes in parallel.
static void add_run(tensor_reduction r, struct column c, size_t k, const double *v, size_t n)
{
    double sum[SUMS] = {0}, mean = c.mean[0];
    bool squares = r == REDUCTION_STD;
    if (!squares && r != REDUCTION_SUM && r != REDUCTION_MEAN) {
        for (size_t j = 0; j < n; j++)
            add_row(r, c, k + j, 0, v + j, 1);
        return;
    }
    for (size_t j = 0; j < n; j++)
        sum[j % SUMS] += squares ? (v[j] - mean) * (v[j] - mean) : v[j];
    for (int j = 0; j < SUMS; j++)
        c.sum[0] += sum[j];
}

static void pass(
    tensor_reduction r, struct column c, const tensor *t, size_t from, size_t n, size_t each)
{
    double v[PIECE];
    memset(c.sum, 0, each * sizeof *c.sum);
    for (size_t k = 0; each == 1 && k < n; k += PIECE) {
        size_t m = n - k < PIECE ? n - k : PIECE;
        read_piece(t, from + k, m, v);
        add_run(r, c, k, v, m);
    }
    for (size_t k = 0; each > 1 && k < n; k++)
        for (size_t i = 0; i < each; i += PIECE) {
            size_t m = each - i < PIECE ? each - i : PIECE;
            read_piece(t, from + k * each + i, m, v);
            add_row(r, c, k, i, v, m);
        }
}

static void reduce(
    tensor_reduction r, struct column c, const tensor *t, size_t from, size_t n, size_t each)
{
    memset(c.mean, 0, each * sizeof *c.mean);
    if (r == REDUCTION_STD) {
        pass(REDUCTION_MEAN, c, t, from, n, each);
        for (size_t i = 0; i < each; i++)
            c.mean[i] = c.sum[i] / (double)n;
    }
    pass(r, c, t, from, n, each);
    for (size_t i = 0; i < each; i++) {
        if (r == REDUCTION_MEAN || r == REDUCTION_STD)
            c.sum[i] /= (double)n;
        if (r == REDUCTION_STD)
            c.sum[i] = sqrt(c.sum[i]);
    }
}

// Are these numbers reduced as integers?
static bool is_whole(tensor_reduction r, const tensor *t)
{
    return tensor_is_integer(t) && r != REDUCTION_MEAN && r != REDUCTION_STD;
}

// The same for integers, exactly: a double has only 53 bits.
static int reduce_integers(tensor_reduction r, struct column c, const tensor *t, size_t from,
    size_t n, size_t each, err *e)
{
    memset(c.whole, 0, each * sizeof *c.whole);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < each; i++) {
            int64_t v = tensor_integer_at(t, from + k * each + i), *to = &c.whole[i];
            if (r == REDUCTION_SUM) {
                if (__builtin_add_overflow(*to, v, to))
                    return err_set(e, ERR_LIMIT, "sum: a sum of integers has more than 64 bits");
            } else if (k == 0 || (r == REDUCTION_MIN ? v < *to : v > *to)) {
                *to = v;
                c.at[i] = (int64_t)k;
            }
        }
    return 0;
}

static void put(tensor *out, size_t from, tensor_reduction r, struct column c, size_t each)
{
    for (size_t i = 0; i < each; i++)
        if (r == REDUCTION_ARGMAX)
            ((int64_t *)out->data)[from + i] = c.at[i];
        else if (out->type == TENSOR_I64)
            ((int64_t *)out->data)[from + i] = c.whole[i];
        else
            ((float *)out->data)[from + i] = (float)c.sum[i];
}

static int check_empty(tensor_reduction r, const tensor *t, size_t n, err *e)
{
    if (n || r == REDUCTION_SUM || r == REDUCTION_MEAN || r == REDUCTION_STD)
        return 0;
    AUTO_BUF shape = {0};
    tensor_shape_text(t, &shape);
    return err_set(
        e, ERR_USAGE, "%s: of a tensor of shape %s there is none", names[r], buf_cstr(&shape));
}

static tensor *new_result(tensor_reduction r, const tensor *t, int axis, bool keep, err *e)
{
    size_t shape[TENSOR_MAX_DIMS] = {0};
    int dims = 0;
    for (int d = 0; d < t->dims; d++)
        if (d != axis || keep)
            shape[dims++] = d == axis ? 1 : t->shape[d];
    bool integers = is_whole(r, t) || r == REDUCTION_ARGMAX;
    return tensor_new(integers ? TENSOR_I64 : TENSOR_F32, dims, shape, e);
}

// Reduces `outer` times (n, each) into out, which has numbers.
static int reduce_into(
    tensor *out, tensor_reduction r, const tensor *t, size_t outer, size_t n, size_t each, err *e)
{
    struct column c = {0};
    if (memory_check(each * (2 * sizeof *c.sum + 2 * sizeof *c.at), "sums", e) < 0)
        return -1;
    AUTO_FREE double *sum = mem_array(each, sizeof *sum), *mean = mem_array(each, sizeof *mean);
    AUTO_FREE int64_t *at = mem_array(each, sizeof *at), *whole = mem_array(each, sizeof *whole);
    c = (struct column){sum, mean, at, whole};
    for (size_t o = 0; o < outer; o++) {
        size_t from = o * n * each;
        if (!is_whole(r, t))
            reduce(r, c, t, from, n, each);
        else if (reduce_integers(r, c, t, from, n, each, e) < 0)
            return -1;
        put(out, o * each, r, c, each);
    }
    return 0;
}

tensor *tensor_reduce(tensor_reduction r, const tensor *t, int64_t along, bool keep, err *e)
{
    int axis = tensor_axis(t, along, names[r], e);
    if (axis < 0 || check_empty(r, t, t->shape[axis], e) < 0)
        return NULL;
    tensor *out = new_result(r, t, axis, keep, e);
    if (!out || !tensor_count(out))
        return out;
    size_t outer = 1, each = 1;
    for (int d = 0; d < axis; d++)
        outer *= t->shape[d];
    for (int d = axis + 1; d < t->dims; d++)
        each *= t->shape[d];
    if (reduce_into(out, r, t, outer, t->shape[axis], each, e) == 0)
        return out;
    tensor_free(out);
    return NULL;
}

bool tensor_reduction_is_whole(tensor_reduction r, const tensor *t)
{
    return r == REDUCTION_ARGMAX || is_whole(r, t);
}

static int reduce_all(tensor_reduction r, const tensor *t, double *number, int64_t *whole, err *e)
{
    double mean;
    int64_t at = 0;
    struct column c = {number, &mean, &at, whole};
    size_t n = tensor_count(t);
    if (check_empty(r, t, n, e) < 0)
        return -1;
    if (!is_whole(r, t))
        reduce(r, c, t, 0, n, 1);
    else if (reduce_integers(r, c, t, 0, n, 1, e) < 0)
        return -1;
    if (r == REDUCTION_ARGMAX)
        *whole = at;
    if (tensor_reduction_is_whole(r, t))
        *number = (double)*whole;
    return 0;
}

double tensor_reduce_all(tensor_reduction r, const tensor *t, err *e)
{
    double number;
    int64_t whole = 0;
    return reduce_all(r, t, &number, &whole, e) < 0 ? NAN : number;
}

int tensor_reduce_whole(tensor_reduction r, const tensor *t, int64_t *out, err *e)
{
    double number;
    *out = 0;
    return reduce_all(r, t, &number, out, e);
}
