// SPDX-License-Identifier: MIT
// From which share of numbers other than 0 on the dense kernels are quicker than those that skip
// zeros. It depends on the processor (0.3 on one, 0.7 on another), so it is measured: a batch of
// 64 rows through the first layer, some milliseconds. Either way has the same bits as long as all
// numbers are finite.
#pragma once
#include "trainer/cpu/ops.h"

typedef struct density_probe {
    const cpu_ops *cpu;
    bool bytes;    // rows are u8, else f32
    size_t width;  // of a panel of the first layer
    size_t panels; // that one thread computes
} density_probe;

// Where measuring costs more than it saves: of x with fewer numbers than DENSITY_FROM.
#define DENSITY_USUAL 0.3
enum { DENSITY_FROM = 1 << 20 };

// The shares that are tried.
#define DENSITY_FEW  0.15
#define DENSITY_MANY 0.6

// What zeros cost and save is a line between two shares: where it meets the time of the dense
// kernels. few, many: times of the sparse ones with these shares. From 0 (the dense kernels always)
// to 1 (never); DENSITY_USUAL if a time is 0.
double density_meet(double dense, double few, double many);
// The same for the times that are measured here.
double density_break_even(const density_probe *probe);
