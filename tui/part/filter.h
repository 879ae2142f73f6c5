// SPDX-License-Identifier: MIT
// The line after "/" in a view of rows: typed, kept with Enter, cleared with Esc. The view shows
// what matches; a filter that begins with ! shows what does not. It owns its text.
#pragma once
#include "tui/part/line.h"

struct filter {
    line *line; // NULL: none
    bool typing;
    const char *mark; // what stands before it; NULL: "/"
};

void filter_done(struct filter *f);
const char *filter_text(const struct filter *f); // "" without one
unsigned filter_mode(const struct filter *f);    // MODE_LINE while it is typed, else MODE_VIEW
// FILTER opens it, ACCEPT and BACK end the typing, BACK clears what is kept; and the keys of a line
// while it is typed. false: not an action of it.
bool filter_act(struct filter *f, enum action a, buf *clipboard);
// What is typed goes into it while it is open; true when that changed the pattern.
bool filter_type(struct filter *f, key k);
bool filter_paste(struct filter *f, const char *words, size_t n);
// Draws "/text" in the row while it is typed.
void filter_draw(const struct filter *f, grid *g, rect row);
// Does a text match the pattern? Letters A to Z match any case; "!" in front turns it round, and
// "" and "!" match everything.
bool filter_match(const char *pattern, const char *words);
