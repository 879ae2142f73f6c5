// SPDX-License-Identifier: MIT
#include "trainer/dist/reduce.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

// Values are reduced in blocks that stay in the first-level cache; the tree has one block for each
// level.
enum { BLOCK = 2048, LEVELS = 16, WIDE = 32 };

// Vectors of WIDE bytes at any address; the compiler has the instructions.
typedef float f32s __attribute__((vector_size(WIDE), aligned(4), may_alias));
typedef double f64s __attribute__((vector_size(WIDE), aligned(4), may_alias));
typedef uint64_t u64s __attribute__((vector_size(WIDE), aligned(4), may_alias));

#define ADD(a, b)      ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))
#define SMALLER(a, b)  ((b) < (a) ? (b) : (a))
#define LARGER(a, b)   ((b) > (a) ? (b) : (a))
// nan wins, whichever rank has it.
#define SMALLER_FLOAT(a, b) (isnan(b) ? (b) : SMALLER(a, b))
#define LARGER_FLOAT(a, b)  (isnan(b) ? (b) : LARGER(a, b))

// Whole vectors first, then the rest.
#define JOIN(name, vector, value, what)                                                            \
    static void name(char *out, const char *a, const char *b, size_t bytes)                        \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (; i + WIDE <= bytes; i += WIDE) {                                                     \
            vector x = *(const vector *)(a + i), y = *(const vector *)(b + i);                     \
            *(vector *)(out + i) = what(x, y);                                                     \
        }                                                                                          \
        for (; i < bytes; i += sizeof(value)) {                                                    \
            value x, y;                                                                            \
            memcpy(&x, a + i, sizeof x);                                                           \
            memcpy(&y, b + i, sizeof y);                                                           \
            x = what(x, y);                                                                        \
            memcpy(out + i, &x, sizeof x);                                                         \
        }                                                                                          \
    }

// One value after the other: C has no vector form of the choice.
#define CHOOSE(name, value, what)                                                                  \
    static void name(char *out, const char *a, const char *b, size_t bytes)                        \
    {                                                                                              \
        for (size_t i = 0; i < bytes; i += sizeof(value)) {                                        \
            value x, y;                                                                            \
            memcpy(&x, a + i, sizeof x);                                                           \
            memcpy(&y, b + i, sizeof y);                                                           \
            x = what(x, y);                                                                        \
            memcpy(out + i, &x, sizeof x);                                                         \
        }                                                                                          \
    }

JOIN(add_f32, f32s, float, ADD)
JOIN(add_f64, f64s, double, ADD)
JOIN(add_i64, u64s, uint64_t, ADD)
JOIN(multiply_f32, f32s, float, MULTIPLY)
JOIN(multiply_f64, f64s, double, MULTIPLY)
JOIN(multiply_i64, u64s, uint64_t, MULTIPLY)
CHOOSE(min_f32, float, SMALLER_FLOAT)
CHOOSE(min_f64, double, SMALLER_FLOAT)
CHOOSE(min_i64, int64_t, SMALLER)
CHOOSE(max_f32, float, LARGER_FLOAT)
CHOOSE(max_f64, double, LARGER_FLOAT)
CHOOSE(max_i64, int64_t, LARGER)

typedef void (*join_fn)(char *out, const char *a, const char *b, size_t bytes);

static const join_fn joins[][3] = {
    [COMM_SUM] = {[COMM_F32] = add_f32, [COMM_F64] = add_f64, [COMM_I64] = add_i64},
    [COMM_MIN] = {[COMM_F32] = min_f32, [COMM_F64] = min_f64, [COMM_I64] = min_i64},
    [COMM_MAX] = {[COMM_F32] = max_f32, [COMM_F64] = max_f64, [COMM_I64] = max_i64},
    [COMM_PRODUCT] =
        {[COMM_F32] = multiply_f32, [COMM_F64] = multiply_f64, [COMM_I64] = multiply_i64},
    [COMM_AVERAGE] = {[COMM_F32] = add_f32},
};

size_t reduce_size(comm_type type)
{
    return type == COMM_F32 ? sizeof(float) : sizeof(double);
}

// (a + b)·by
static void average(char *out, const char *a, const char *b, size_t bytes, float by)
{
    size_t i = 0;
    for (; i + WIDE <= bytes; i += WIDE) {
        f32s sum = *(const f32s *)(a + i) + *(const f32s *)(b + i);
        *(f32s *)(out + i) = sum * by;
    }
    for (; i < bytes; i += sizeof(float)) {
        float x, y;
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        x = (x + y) * by;
        memcpy(out + i, &x, sizeof x);
    }
}

// A block of all ranks.
struct block {
    const void *const *from;
    size_t at, bytes;
    int pairs; // a tree of so many leaves is two ranks
    join_fn join;
    char (*room)[BLOCK]; // one for each level
};

static const char *of_rank(const struct block *b, int rank)
{
    return (const char *)b->from[rank] + b->at;
}

// The sum of `leaves` leaves from number `first` on: in `out`, or where a single rank has it.
static const char *subtree(const struct block *b, char *out, int first, int leaves, int level)
{
    if (leaves == 1 && first >= b->pairs)
        return of_rank(b, first + b->pairs);
    if (leaves == 1) {
        b->join(out, of_rank(b, 2 * first), of_rank(b, 2 * first + 1), b->bytes);
        return out;
    }
    int half = leaves / 2;
    const char *left = subtree(b, out, first, half, level + 1);
    const char *right = subtree(b, b->room[level], first + half, half, level + 1);
    b->join(out, left, right, b->bytes);
    return out;
}

void reduce_values(
    void *out, const void *const *from, int ranks, size_t n, comm_type type, comm_op op)
{
    char room[LEVELS][BLOCK];
    int half = 1;
    while (4 * half <= ranks)
        half *= 2;
    struct block b = {
        .from = from, .pairs = ranks - 2 * half, .join = joins[op][type], .room = room + 1};
    for (size_t all = n * reduce_size(type); b.at < all; b.at += b.bytes) {
        b.bytes = all - b.at < BLOCK ? all - b.at : BLOCK;
        const char *left = subtree(&b, room[0], 0, half, 1);
        const char *right = subtree(&b, room[1], half, half, 1);
        // All of it has been read.
        if (op == COMM_AVERAGE)
            average((char *)out + b.at, left, right, b.bytes, 1.0f / (float)ranks);
        else
            b.join((char *)out + b.at, left, right, b.bytes);
    }
}
