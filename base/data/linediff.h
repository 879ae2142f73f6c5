// SPDX-License-Identifier: MIT
// How two texts differ, line by line, as `diff -u` prints it. A plain function on texts; nothing is
// owned.
#pragma once
#include "base/buf.h"

#include <stdbool.h>

// Appends "--- from", "+++ to" and the hunks, with three lines around each change. Returns false,
// and appends nothing, when the texts are equal. A missing newline at the end of a text makes no
// difference.
bool linediff(buf *out, const char *from, const char *to, const char *old, const char *new_);
