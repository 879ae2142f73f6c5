// SPDX-License-Identifier: MIT
// What the parts of the Markdown layout share. Private to tui/syntax.
#pragma once
#include "tui/syntax/markdown_layout.h"
#include "tui/syntax/styled.h"
#include "tui/syntax/syntax.h"

#include <md4c.h>

enum { MARKDOWN_DEPTH = 16, MARKDOWN_COLUMNS = 24 };

struct row {
    size_t from, n;       // its text
    size_t span, n_spans; // its spans, counted from its start
    size_t source;
};
struct markdown {
    buf text;
    struct ansi_span *spans;
    size_t n_spans, spans_cap;
    struct row *rows;
    size_t n, cap;
};

// What a block is inside of: a quote with its bar, or an item of a list after its mark.
struct level {
    bool quote, mark_due; // the next row has the item's mark
    char mark[16];
    int width;
};
struct markdown_table {
    struct styled *cells; // rows × columns
    size_t *sources;      // of each row
    size_t rows, columns, at;
    MD_ALIGN sides[MARKDOWN_COLUMNS];
    int widths[MARKDOWN_COLUMNS];
};
struct layout {
    markdown *out;
    const char *s, *end; // the whole source
    int width;
    bool ascii;

    struct level levels[MARKDOWN_DEPTH];
    size_t depth;                     // may be more: deeper levels are not indented
    unsigned numbers[MARKDOWN_DEPTH]; // of the open lists' next items, plus 1; 0: bullets
    char delimiter[MARKDOWN_DEPTH];
    size_t lists;

    struct styled words; // of the open paragraph, heading or entry
    style base;          // beneath them
    int em, strong, strike, link, code;
    size_t link_from;
    char *target; // of the open link

    bool in_code;
    syntax_language language;
    syntax_state state;
    buf line; // of the open block of code
    size_t code_rows;

    struct markdown_table table;
    struct styled row;   // being put together
    bool gap_due;        // an empty row comes before the next block
    const char *last;    // where the last text ended
    const char *counted; // lines are counted up to here
    size_t line_no;      // of `counted`
    size_t source;       // line of the text that is being written
};

// Columns for text behind the bars and marks.
int markdown_room(const struct layout *l);
// A row with the bytes [from, to) of a text.
void markdown_row(struct layout *l, const struct styled *words, size_t from, size_t to);

// markdown_table.c: the words so far are the next entry; the table is complete, and laid out.
void markdown_entry(struct layout *l, MD_ALIGN side);
void markdown_table_end(struct layout *l);
