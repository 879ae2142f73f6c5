// SPDX-License-Identifier: MIT
// A text that is looked for in others, fast; ASCII letters match in either case. It owns its copy;
// {0} is the empty one, which is found everywhere.
#pragma once
#include <stddef.h>

struct needle {
    char *text; // with small letters
    size_t n;
};

void needle_set(struct needle *x, const char *text, size_t n);
void needle_done(struct needle *x); // and empties it
// Its first place in n bytes, NULL: nowhere.
const char *needle_find(const struct needle *x, const char *bytes, size_t n);
