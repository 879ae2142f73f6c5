// SPDX-License-Identifier: MIT
#include "trainer/tensor/arithmetic.h"

#include "trainer/tensor/arrange.h"

#include <math.h>
#include <string.h>

static const char *const binary_names[] = {
#define X(name, text) text,
    TENSOR_BINARIES(X)
#undef X
};

const char *tensor_binary_name(tensor_binary op)
{
    return binary_names[op];
}

// out[i] = f(a[i], b[i]) for n contiguous numbers; step 0: repeats the same number.
typedef void (*kernel)(
    void *out, const void *a, const void *b, size_t n, size_t a_step, size_t b_step);

#define KERNEL(name, type, result, f)                                                              \
    static void name(                                                                              \
        void *to, const void *from_a, const void *from_b, size_t n, size_t a_step, size_t b_step)  \
    {                                                                                              \
        result *out = to;                                                                          \
        const type *a = from_a, *b = from_b;                                                       \
        if (a_step && b_step)                                                                      \
            for (size_t i = 0; i < n; i++) {                                                       \
                type x = a[i], y = b[i];                                                           \
                out[i] = (result)(f);                                                              \
            }                                                                                      \
        else                                                                                       \
            for (size_t i = 0; i < n; i++) {                                                       \
                type x = a[i * a_step], y = b[i * b_step];                                         \
                out[i] = (result)(f);                                                              \
            }                                                                                      \
    }

#define COMPARE(X)                                                                                 \
    X(EQUAL, uint8_t, x == y)                                                                      \
    X(NOT_EQUAL, uint8_t, x != y)                                                                  \
    X(LESS, uint8_t, x < y)                                                                        \
    X(LESS_EQUAL, uint8_t, x <= y)                                                                 \
    X(GREATER, uint8_t, x > y)                                                                     \
    X(GREATER_EQUAL, uint8_t, x >= y)
#define OF_FLOATS(X)                                                                               \
    X(ADD, float, x + y)                                                                           \
    X(SUBTRACT, float, x - y)                                                                      \
    X(MULTIPLY, float, x *y)                                                                       \
    X(DIVIDE, float, x / y)                                                                        \
    X(POWER, float, pow((double)x, (double)y))                                                     \
    X(MAXIMUM, float, x > y || isnan(x) ? x : y)                                                   \
    X(MINIMUM, float, x < y || isnan(x) ? x : y)                                                   \
    COMPARE(X)
#define OF_INTEGERS(X)                                                                             \
    X(ADD, int64_t, (uint64_t)x + (uint64_t)y)                                                     \
    X(SUBTRACT, int64_t, (uint64_t)x - (uint64_t)y)                                                \
    X(MULTIPLY, int64_t, (uint64_t)x *(uint64_t)y)                                                 \
    X(MAXIMUM, int64_t, x > y ? x : y)                                                             \
    X(MINIMUM, int64_t, x < y ? x : y)                                                             \
    COMPARE(X)

#define X(name, result, f) KERNEL(float_##name, float, result, f)
OF_FLOATS(X)
#undef X
#define X(name, result, f) KERNEL(integer_##name, int64_t, result, f)
OF_INTEGERS(X)
#undef X

static const kernel of_floats[BINARY_COUNT] = {
#define X(name, result, f) [BINARY_##name] = float_##name,
    OF_FLOATS(X)
#undef X
};
static const kernel of_integers[BINARY_COUNT] = {
#define X(name, result, f) [BINARY_##name] = integer_##name,
    OF_INTEGERS(X)
#undef X
};

// How both operands are traversed: the result's dimension d has n[d] entries, with these distances
// in a and b. Dimensions that are contiguous in both are merged.
struct walk {
    int dims;
    size_t n[TENSOR_MAX_DIMS + 1], a[TENSOR_MAX_DIMS + 1], b[TENSOR_MAX_DIMS + 1];
};

// Size and step of a dimension, counted from the last one.
static size_t size_from_end(const tensor *t, int d)
{
    return d < t->dims ? t->shape[t->dims - 1 - d] : 1;
}

static int no_fit(const char *what, const tensor *a, const tensor *b, err *e)
{
    AUTO_BUF mine = {0}, theirs = {0};
    tensor_shape_text(a, &mine);
    tensor_shape_text(b, &theirs);
    return err_set(e, ERR_USAGE, "%s: shapes %s and %s do not fit together", what, buf_cstr(&mine),
        buf_cstr(&theirs));
}

// Fills in the result's shape, and the walk from its last dimension on.
static int plan_walk(const tensor *a, const tensor *b, size_t *shape, int *dims, struct walk *w)
{
    size_t a_step = 1, b_step = 1;
    *dims = a->dims > b->dims ? a->dims : b->dims;
    *w = (struct walk){.dims = 1, .n = {1}, .a = {0}, .b = {0}};
    for (int d = 0; d < *dims; d++) {
        size_t an = size_from_end(a, d), bn = size_from_end(b, d);
        if (an != bn && an != 1 && bn != 1)
            return -1;
        size_t n = an == 1 ? bn : an, as = an == 1 ? 0 : a_step, bs = bn == 1 ? 0 : b_step;
        int last = w->dims - 1;
        shape[*dims - 1 - d] = n;
        a_step *= an;
        b_step *= bn;
        if (n == 1)
            continue;
        if (w->n[last] == 1) {
            w->a[last] = as;
            w->b[last] = bs;
            w->n[last] = n;
        } else if (as == w->a[last] * w->n[last] && bs == w->b[last] * w->n[last]) {
            w->n[last] *= n;
        } else {
            w->n[w->dims] = n;
            w->a[w->dims] = as;
            w->b[w->dims++] = bs;
        }
    }
    return 0;
}

static void run(kernel f, const struct walk *w, tensor *out, const tensor *a, const tensor *b)
{
    size_t at[TENSOR_MAX_DIMS + 1] = {0}, size = tensor_type_size(a->type), i = 0, j = 0;
    size_t step = w->n[0] * tensor_type_size(out->type), count = tensor_count(out);
    char *to = out->data;
    for (size_t done = 0; done < count; done += w->n[0], to += step) {
        f(to, (char *)a->data + i * size, (char *)b->data + j * size, w->n[0], w->a[0], w->b[0]);
        for (int d = 1; d < w->dims; d++) {
            i += w->a[d];
            j += w->b[d];
            if (++at[d] < w->n[d])
                break;
            i -= w->a[d] * w->n[d];
            j -= w->b[d] * w->n[d];
            at[d] = 0;
        }
    }
}

// The numbers as this type without gaps.
static tensor *plain(const tensor *t, tensor_type type, err *e)
{
    bool ready = t->type == type && t->scale == 1;
    return ready && tensor_has_gaps(t) ? tensor_copy(t, e) : tensor_cast(t, type, e);
}

static bool compares(tensor_binary op)
{
    return op >= BINARY_EQUAL;
}

tensor *tensor_combine(tensor_binary op, const tensor *a, const tensor *b, err *e)
{
    struct walk w;
    size_t shape[TENSOR_MAX_DIMS] = {0};
    int dims;
    if (plan_walk(a, b, shape, &dims, &w) < 0) {
        no_fit(binary_names[op], a, b, e);
        return NULL;
    }
    bool integers = of_integers[op] && tensor_is_integer(a) && tensor_is_integer(b);
    tensor_type type = integers ? TENSOR_I64 : TENSOR_F32;
    tensor *out = tensor_new(compares(op) ? TENSOR_U8 : type, dims, shape, e);
    tensor *x = out ? plain(a, type, e) : NULL, *y = x ? plain(b, type, e) : NULL;
    if (y)
        run((integers ? of_integers : of_floats)[op], &w, out, x, y);
    tensor_free(x);
    tensor_free(y);
    if (y)
        return out;
    tensor_free(out);
    return NULL;
}

static double value_of(tensor_unary op, double x)
{
    switch (op) {
#define X(name, text, f)                                                                           \
    case UNARY_##name:                                                                             \
        return f;
        TENSOR_UNARIES(X)
#undef X
    case UNARY_COUNT:
        break;
    }
    return x;
}

static int64_t integer_of(tensor_unary op, int64_t x)
{
    switch (op) {
    case UNARY_NEGATIVE:
        return (int64_t) - (uint64_t)x;
    case UNARY_ABS:
        return x < 0 ? (int64_t) - (uint64_t)x : x;
    case UNARY_SQUARE:
        return (int64_t)((uint64_t)x * (uint64_t)x);
    case UNARY_SIGN:
        return (x > 0) - (x < 0);
    default:
        return x;
    }
}

static bool keeps_integers(tensor_unary op)
{
    return op == UNARY_NEGATIVE || op == UNARY_ABS || op == UNARY_SQUARE || op == UNARY_SIGN ||
           op == UNARY_FLOOR;
}

tensor *tensor_map(tensor_unary op, const tensor *t, err *e)
{
    bool integers = tensor_is_integer(t) && keeps_integers(op);
    tensor_type type = integers ? TENSOR_I64 : TENSOR_F32;
    tensor *x = plain(t, type, e), *out = x ? tensor_new(type, t->dims, t->shape, e) : NULL;
    for (size_t i = 0; out && i < tensor_count(t); i++)
        if (integers)
            ((int64_t *)out->data)[i] = integer_of(op, ((const int64_t *)x->data)[i]);
        else
            ((float *)out->data)[i] = (float)value_of(op, (double)((const float *)x->data)[i]);
    tensor_free(x);
    return out;
}

tensor *tensor_clip(const tensor *t, double least, double most, err *e)
{
    if (!(least <= most)) {
        err_set(e, ERR_USAGE, "clip: from %g to %g there is nothing", least, most);
        return NULL;
    }
    bool integers = tensor_is_integer(t) && least == floor(least) && most == floor(most);
    tensor_type type = integers ? TENSOR_I64 : TENSOR_F32;
    tensor *x = plain(t, type, e), *out = x ? tensor_new(type, t->dims, t->shape, e) : NULL;
    for (size_t i = 0; out && i < tensor_count(t); i++) {
        double value = tensor_at(x, i);
        if (value < least || value > most)
            value = value < least ? least : most;
        else if (integers) { // a double does not hold all integers
            ((int64_t *)out->data)[i] = tensor_integer_at(x, i);
            continue;
        }
        if (tensor_set(out, i, value, e) < 0) {
            tensor_free(out);
            out = NULL;
        }
    }
    tensor_free(x);
    return out;
}

bool tensor_same(const tensor *a, const tensor *b)
{
    bool integers = tensor_is_integer(a) && tensor_is_integer(b);
    bool same = a->dims == b->dims;
    for (int d = 0; same && d < a->dims; d++)
        same = a->shape[d] == b->shape[d];
    for (size_t i = 0; same && i < tensor_count(a); i++)
        same = integers ? tensor_integer_at(a, i) == tensor_integer_at(b, i)
                        : tensor_at(a, i) == tensor_at(b, i);
    return same;
}
