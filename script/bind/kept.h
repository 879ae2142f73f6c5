// SPDX-License-Identifier: MIT
// A text of any length of which the first and the last half MiB are kept. {0} is empty.
#pragma once
#include "base/buf.h"

#include <stdint.h>

struct kept {
    buf head, tail; // `tail` is a ring
    size_t at;      // the oldest byte of a full tail
    uint64_t left_out;
};
void kept_add(struct kept *k, const char *bytes, size_t n);
// Appends what was kept, as valid UTF-8, with a note where the middle is missing; empties it.
void kept_take(struct kept *k, buf *out);
