// SPDX-License-Identifier: MIT
// A text to find in other texts, fast; ASCII letters match in either case. It owns its copy of the
// text. {0} is the empty text, which is found everywhere.
#pragma once
#include <stddef.h>

struct needle {
    char *text; // in lower case
    size_t n;
};

void needle_set(struct needle *x, const char *text, size_t n);
void needle_done(struct needle *x); // also empties it
// Returns the first place of the text in n bytes; NULL: it is not in them.
const char *needle_find(const struct needle *x, const char *bytes, size_t n);
