// SPDX-License-Identifier: MIT
// A curve of any length in a fixed number of columns, each with the smallest and the largest of its
// values, so that no spike is lost. A value is added in constant time on average: when the range of
// x grows, neighbouring columns become one. It owns its columns.
//
//   columns   |·  |· ·|   |·  |       x beyond the end:     |·  ·|·   |    |    |
//              ^from          ^to     two become one, and   ^from               ^to
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sample {
    double low, high, first, last, sum; // of the finite values
    double x_first, x_last;
    uint32_t n;
    bool gap; // it has values that are not finite
};
struct sampled {
    struct sample *columns;
    size_t n;
    double from, to;
    bool fixed; // the range is given, and what is outside is left out
    bool any;
};

// columns: a power of two. to > from: only that range.
void sampled_init(struct sampled *s, size_t columns, double from, double to);
void sampled_done(struct sampled *s);
void sampled_add(struct sampled *s, double x, double y);

// The curve as at most SAMPLED_POINTS × columns points, in the order of x; returns how many. Of a
// column with one value it is that value; of others the first, the ends, and the last.
enum { SAMPLED_POINTS = 4 };
size_t sampled_curve(const struct sampled *s, double *x, double *y);
// The range of x. false: there is no finite value.
bool sampled_extent(const struct sampled *s, double *from, double *to);

// What several curves have in common, at `n` places from `from` to `to`; between the values of a
// curve it is a straight line, and beyond its ends it does not count. deviation: `low` and `high`
// are one standard deviation around the mean, not the ends. Where there is no curve: NaN.
void sampled_band(const struct sampled *const *curves, size_t n_curves, double from, double to,
    bool deviation, size_t n, double *x, double *mean, double *low, double *high);

// A range of y without outliers: from the 5th to the 95th percentile of what is drawn between these
// ends of x, with a margin. false: there are too few values.
bool sampled_robust(const struct sampled *const *curves, size_t n_curves, double from, double to,
    double *lo, double *hi);
