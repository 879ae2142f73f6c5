// SPDX-License-Identifier: MIT
// Shared by the printers of a running run and of a finished one.
#pragma once
#include "cli/print/print.h"

// Prints lines below a cell's title.
void put_lines(const struct cli *cli, const char *text, size_t n, enum tone t);
void put_state(struct cli *cli, const struct run_cell *c);
// Prints which when= left the cell out; false: none did.
bool put_left_out(struct cli *cli, const fold *f, const struct run_cell *c);
void put_error(struct cli *cli, const struct output *o);
// The table of a display, {"columns", "rows"}; NULL if it has none.
const cJSON *table_of(const struct output *o);
// How its rows are printed: which columns, and how wide.
struct row_look {
    struct column_look {
        bool shown;
        size_t width;
    } * columns;
    size_t n;
    char *heading; // a line above the rows, if they do not say what they are; NULL: none
};
struct row_look row_look(const cJSON *table);
void row_look_done(struct row_look *look);
// Prints a row on one line, aligned with the others.
void row_text(const struct row_look *look, const cJSON *row, bool aligned, buf *out);
