// SPDX-License-Identifier: MIT
// The notebook in short: its headings and the titles of its cells, with what is the matter with
// them. It is drawn beside the cells, or is a list to choose from (outline_push). The owner of a
// struct outline frees it by outline_done.
//
//   ✗   Load                 failed        *  runs     ?  asks     ●  live     ~  stale
//     ## Train
#pragma once
#include "base/data/pattern.h"
#include "tui/bench/slots.h"
#include "tui/bench/view.h"

struct outline_row {
    size_t cell;
    size_t line; // of a heading, in the cell's text
    int level;   // of a heading, 0: it is a cell
    int indent;
    bool plain;     // it has no title: these are its first words
    unsigned state; // of the cell (outline.c); of a folded section, the worst in it
    char *words;
};
struct outline {
    struct outline_row *rows;
    size_t n;
    size_t all; // rows without the filter
};

// Cells without a title are there when something is the matter with them, or when no cell has a
// title. The filter also finds states by their words: "failed", "stale", "runs", "live", "asks",
// "waits"; and "changed" for cells that differ from git's HEAD.
void outline_build(bench *b, const struct pattern *filter, struct outline *out);
void outline_done(struct outline *o);
size_t outline_row_of(
    const struct outline *o, size_t i); // the row that has it, or the last before it
// Draws the rows from `top` on. at: the row with the cursor, SIZE_MAX: none; cursor: reversed.
void outline_draw(
    const struct outline *o, bench *b, grid *g, rect area, size_t top, size_t at, bool cursor);
// The pane beside the cells, of which there is none on narrower screens: w is 0 then.
rect outline_pane(rect area);
