// SPDX-License-Identifier: MIT
// A list from which to choose a run, before a notebook is open: `firesteel attach` where several
// kernels are alive. It copies what it is given.
#pragma once
#include "tui/bench/bench.h"

struct pick_row {
    const char *run, *state, *notebook, *folder, *age;
};
// Enter calls `picked` with the index of the row, after the list is gone; q leaves the program (the
// bench's quit).
void pick_push(bench *b, const char *title, const struct pick_row *rows, size_t n,
    void (*picked)(void *arg, size_t row), void *arg);
