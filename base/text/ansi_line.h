// SPDX-License-Identifier: MIT
// One line of an output while it can still be written to: text, its looks, and where its columns
// are. Private to ansi_text.c, which owns it.
#pragma once
#include "base/text/ansi.h"

struct line {
    buf text;
    struct ansi_span *spans;
    size_t spans_n, spans_cap;
    int columns;
    bool wide; // a byte is not always a column
};
// A column in bytes: the character that covers the column begins at byte `at`, and the column is
// `inside` columns after its start (in a wide character or a tab). Beyond the end: the end.
struct line_place {
    size_t at;
    int inside;
};

void line_done(struct line *l);
struct line_place line_seek(const struct line *l, int column);
// Appends text that is so many columns wide.
void line_append(struct line *l, const char *s, size_t n, int columns, style st);
// Overwrites as many columns as the text has, and returns the end of its bytes. What is left of a
// wide character or a tab becomes blanks. columns 0: a combining mark, which is inserted.
size_t line_write(
    struct line *l, struct line_place p, const char *s, size_t n, int columns, style st);
void line_cut(struct line *l, int column);   // all from there on
void line_blank(struct line *l, int column); // all before it
