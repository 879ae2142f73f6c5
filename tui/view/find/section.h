// SPDX-License-Identifier: MIT
// Sections: the cells from one that begins with a heading down to the next heading of its level or
// of a higher one. Sections that are folded hide their cells but the first. What is folded is kept
// in the cells' drawings. Nothing is owned.
//
//   1 # Data          ┐ section of level 1
//   2 ## Load    ┐    │
//   3 code       ┘    │
//   4 # Train         ┘ … and the next
#pragma once
#include "tui/bench/slots.h"

// Calls fn for each heading line ("## Words", not within ``` or ~~~) of a text. false from it ends.
struct heading {
    int level; // 1 to 6
    size_t line;
    const char *words; // not terminated
    size_t n;
};
void section_headings(const text *t, bool (*fn)(void *arg, const struct heading *h), void *arg);

int section_level(bench *b, size_t i);    // of the heading with which the cell begins; 0: none
size_t section_begin(bench *b, size_t i); // the heading of the section that i is in; SIZE_MAX: none
size_t section_end(bench *b, size_t i);   // behind the last cell of the section that begins at i
bool section_is_folded(bench *b, size_t i);
size_t section_hides(bench *b, size_t i); // how many cells a folded heading hides; 0: none
bool section_hidden(bench *b, size_t i);
// Finds again which cells are hidden: after the cells or a fold have changed.
void section_settle(bench *b);
void section_fold(bench *b, size_t i, bool on); // i: the heading
void section_reveal(bench *b, size_t i);        // unfolds what hides it
// The next cell that is shown, from `i` on downwards or upwards; i itself when it is shown.
size_t section_shown(bench *b, size_t i, bool down);
