// SPDX-License-Identifier: MIT
// Groups, joins and sorts rows by columns, and computes their sums. A column is a tensor with one
// number for each row. Rows are counted in 32 bits.
// Keys are equal if their numbers are: 3 in an i64 column equals 3.0 in an f32 one, and a missing
// value (nan) equals another one, as in pandas' merge and unlike IEEE 754. The width of integers
// makes no difference (column.h).
#pragma once
#include "trainer/tensor/tensor.h"

enum { KEYS_MAX = 16 };
static const uint32_t ROW_NONE = UINT32_MAX;
static const size_t ROWS_MAX = INT32_MAX; // so rows fit into I32 tensors, ROW_NONE as -1

// The rows of one or several key columns, by equal keys.
//
//   keys    b a b c      of     0 1 0 2      the group of each row, in order of appearance
//                        begin  0 2 3 4      row[begin[g] … begin[g+1]) are the rows of group g,
//                        row    0 2 1 3      in their order
typedef struct groups {
    size_t rows, n;
    uint32_t *of, *begin, *row;
} groups;

// 1 to KEYS_MAX columns with the same number of rows. Call groups_done also after an error.
int groups_make(groups *g, const tensor *const *keys, size_t key_n, err *e);
void groups_done(groups *g);

// For each row of `keys` the row of `other` with the same keys, or ROW_NONE; out: (rows).
// ERR_INVALID if two rows of `other` have the same keys; *twice is the second of them.
int groups_match(const tensor *const *keys, const tensor *const *other, size_t key_n, uint32_t *out,
    size_t *twice, err *e);

// The order of the rows by these columns, the most important first. Equal rows keep their order;
// missing values come last. down[k]: from large to small. order: (rows).
int rows_sort(const tensor *const *keys, const bool *down, size_t key_n, uint32_t *order, err *e);

// These rows of a column. Where a row is ROW_NONE, a `category` becomes 0 and any other number is
// missing, so the column becomes F32.
tensor *rows_take(const tensor *t, const uint32_t *rows, size_t n, bool category, err *e);

// How the numbers of a group become one; missing values do not count.
//
//   size, count   the rows; those that are not missing
//   std           √(Σ (v - mean)² / (count - 1)), of the sample as pandas has it
//   median        the middle one, or the mean of the two middle ones
#define AGGREGATES(X)                                                                              \
    X(SIZE, "size")                                                                                \
    X(COUNT, "count")                                                                              \
    X(SUM, "sum")                                                                                  \
    X(MEAN, "mean")                                                                                \
    X(STD, "std")                                                                                  \
    X(MIN, "min")                                                                                  \
    X(MAX, "max")                                                                                  \
    X(MEDIAN, "median")                                                                            \
    X(FIRST, "first")                                                                              \
    X(LAST, "last")

typedef enum aggregate {
#define X(name, text) AGGREGATE_##name,
    AGGREGATES(X)
#undef X
} aggregate;

int aggregate_parse(const char *text, aggregate *how, err *e);
// A number for each group: (groups). I64 for size and count, and for sum, min, max, first and last
// of integers; else F32, computed in double, nan for a group without values.
tensor *groups_aggregate(const groups *g, const tensor *values, aggregate how, err *e);

// Below: a number for each row, from the rows of its group in their order.

// The value `by` rows before (by < 0: after), missing if there is none.
tensor *groups_shift(const groups *g, const tensor *values, long by, bool category, err *e);
// The aggregate of the row and the window - 1 rows before it, missing where fewer than `least` of
// them count: F32. Computed anew for each row, so no error adds up.
tensor *groups_roll(
    const groups *g, const tensor *values, aggregate how, size_t window, size_t least, err *e);
// The sum up to and including the row; missing values add 0 and stay missing.
tensor *groups_cumulate(const groups *g, const tensor *values, err *e);
// `when` minus the `when` of the last row so far whose flag is neither 0 nor missing; before the
// first such row, minus that of the group's first row. `back`: goes through the rows from last to
// first.
tensor *groups_elapsed(const groups *g, const tensor *flag, const tensor *when, bool back, err *e);
