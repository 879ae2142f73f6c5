// SPDX-License-Identifier: MIT
// What a program says: all of it up to a limit, and of more the first and the last half of that.
// {0} is empty.
#pragma once
#include "base/buf.h"

#include <stdint.h>

enum {
    KEPT_LOG = 1 << 20,   // of what people read
    KEPT_DATA = 64 << 20, // of what cells compute with, as of a body by http
};

struct kept {
    buf head, tail; // `tail` is a ring
    size_t at;      // the oldest byte of a full tail
    size_t most;    // the limit; 0: KEPT_LOG
    uint64_t left_out;
};
void kept_add(struct kept *k, const char *bytes, size_t n);
// Appends what was kept, as valid UTF-8, with a note where the middle is missing; empties it.
// Returns how many bytes are missing.
uint64_t kept_take(struct kept *k, buf *out);
