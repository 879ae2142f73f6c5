// SPDX-License-Identifier: MIT
// A line of a program that trains, as a terminal would show it: what readers of its forms begin
// with.
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

// Puts the line into `out` without colours and without what a return or backspaces have rewritten.
// Returns the place in it behind a pod's name with " | ", and Horovod's mark of a rank
// ("[1,0]<stdout>:", "[0]<stdout>:"). NULL: it is of another rank than 0, or too long.
const char *plain_line(const char *line, size_t n, buf *out);
// Reads "12/600" or "12/Unknown" (then *b is 0) and moves *at behind it; false: there is none.
bool plain_pair(const char **at, int64_t *a, int64_t *b);
