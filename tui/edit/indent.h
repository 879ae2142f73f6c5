// SPDX-License-Identifier: MIT
// Where a line should be indented: the words that begin and end a language's blocks, as far as ends
// of lines show them. Pure; nothing is owned.
#pragma once
#include "tui/edit/text.h"

// How its lines are written; each string holds words separated by blanks.
struct edit_language {
    const char *comment; // begins a line comment; "" if nothing does
    const char *opens;   // after a line that ends with one of these, indent
    const char *closes;  // a line of only these is unindented by one step
    int indent;          // blanks
};

// Does the line end with one of these words, so that the next line is indented?
bool indent_opens(const char *words, const char *line, size_t n);
// The number of bytes by which a line that only closes a block is indented too far: it belongs
// under the line that opened the block, one step left of the lines in it.
size_t indent_excess(const struct edit_language *language, const text *t, size_t line);
