// SPDX-License-Identifier: MIT
// How far in a line stands: what a language's blocks begin and end with, as far as the ends of
// lines tell it. Pure; nothing is owned.
#pragma once
#include "tui/edit/text.h"

// How its lines are written; words stand in one string with blanks between them.
struct edit_language {
    const char *comment; // starts a line comment, "" when nothing does
    const char *opens;   // what a line ends with after which the next one stands further in
    const char *closes;  // a line of one of these alone stands a step further out
    int indent;          // blanks
};

// Does the line end with one of these words, so that the next one stands further in?
bool indent_opens(const char *words, const char *line, size_t n);
// By how many bytes a line that only closes a block stands too far in: it belongs below what opened
// the block, a step left of the lines in it.
size_t indent_excess(const struct edit_language *language, const text *t, size_t line);
