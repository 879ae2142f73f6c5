// SPDX-License-Identifier: MIT
// jupytext's rules for the code of a language (stringparser.py, magics.py and pep8.py of 1.19):
// where a text spans lines, which lines are magics, how many blank lines stand between two cells.
// Nothing is owned but what a function returns.
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

// A language, by the names that notebooks say, and its comment mark.
struct rules {
    const char *language, *mark;
};

// Tells whether the next line starts inside a text. quotes_begin is its start.
typedef struct quotes {
    const char *mark;
    bool off;
    char triple; // the quote of the text that spans lines, 0: none does
} quotes;
void quotes_begin(quotes *q, const struct rules *r);
void quotes_feed(quotes *q, const char *line, size_t n);

// Adds one comment mark to each line that is a magic, or removes it; new.
char *rules_comment(const struct rules *r, const char *source);
char *rules_uncomment(const struct rules *r, const char *source);

// How many blank lines PEP 8 wants between a cell's lines and the rest of the file behind it.
int rules_blank_lines(
    const struct rules *r, const char *before, size_t n, const char *after, size_t after_n);
