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
// A column as bytes: the character that it is in begins at `at`, and it is `inside` columns behind
// that (in a wide character or a tab). Behind the end: the end.
struct line_place {
    size_t at;
    int inside;
};

void line_done(struct line *l);
struct line_place line_seek(const struct line *l, int column);
// Appends text that is so many columns wide.
void line_append(struct line *l, const char *s, size_t n, int columns, style st);
// Writes over as many columns as the text has, which is returned as the bytes' end; what is left of
// a wide character or a tab becomes blanks. columns 0: a mark, that is inserted.
size_t line_write(
    struct line *l, struct line_place p, const char *s, size_t n, int columns, style st);
void line_cut(struct line *l, int column);   // all from there on
void line_blank(struct line *l, int column); // all before it
