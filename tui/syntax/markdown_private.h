// SPDX-License-Identifier: MIT
// What the parts of the Markdown layout share. Private to tui/syntax.
#pragma once
#include "tui/syntax/markdown_layout.h"
#include "tui/syntax/styled.h"
#include "tui/syntax/syntax.h"

enum { MARKDOWN_DEPTH = 8 };

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

// A list's item: its mark stands at `indent` of the source, its text at `content`.
struct item {
    size_t indent, content;
    char mark[16];
    int width; // columns of the mark
};
struct fence {
    char mark;
    size_t n, indent; // n 0: none is open
    syntax_language language;
    syntax_state state;
};
struct layout {
    markdown *out;
    int width;
    bool ascii;
    int quotes;
    struct item items[MARKDOWN_DEPTH];
    size_t depth;
    bool mark_due; // the next row begins the innermost item
    bool gap_due;  // an empty row comes before the next block
    bool after_blank;
    buf words; // of the open paragraph
    struct fence fence;
    struct styled row;   // being put together
    size_t source, next; // lines of the source
};

// Columns for text behind the bars and marks.
int markdown_room(const struct layout *l);
// The empty row before a block, when one is due.
void markdown_begin(struct layout *l);
// A row with the bytes [from, to) of a text.
void markdown_row(struct layout *l, const struct styled *words, size_t from, size_t to);
void markdown_end_paragraph(struct layout *l);
void markdown_leave_items(struct layout *l, size_t indent);

// A table that begins at s, laid out; returns how many lines it has, 0: none begins there.
size_t markdown_table(struct layout *l, const char *s, size_t n);
