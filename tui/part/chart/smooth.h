// SPDX-License-Identifier: MIT
// Smooths a curve as TensorBoard does: an exponential moving average whose beginning is not drawn
// towards 0. A plain value.
//   last ← w·last + (1 − w)·v        smoothed = last / (1 − wⁿ)
#pragma once

struct smooth {
    double weight;     // 0 (as it is) to below 1
    double last, left; // left: wⁿ
};
struct smooth smooth_of(double weight);
// The next value; what is not finite is returned as it is, and does not count.
double smooth_next(struct smooth *s, double v);
