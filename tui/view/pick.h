// SPDX-License-Identifier: MIT
// A list from which to choose, before a notebook is open: kernels that are alive, notebooks,
// recipes. It copies what it is given.
#pragma once
#include "tui/bench/bench.h"

struct pick_row {
    const char *run, *state, *notebook, *about, *age;
    const char *detail; // all that is known of it, shown below the list while it is selected
};
// Enter calls `picked` with the index of the row, after the list is gone; q leaves the program (the
// bench's quit).
void pick_push(bench *b, const char *title, const struct pick_row *rows, size_t n,
    void (*picked)(void *arg, size_t row), void *arg);
