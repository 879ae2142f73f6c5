// SPDX-License-Identifier: MIT
// The line after "/" in a view of rows: typed, kept with Enter, cleared with Esc. The view shows
// what matches (base/data/pattern.h); a filter that begins with ! shows what does not. It owns its
// text.
#pragma once
#include "tui/part/line.h"
#include "tui/part/past.h"

struct filter {
    line *line; // NULL: none
    bool typing;
    const char *mark;  // what stands before it; NULL: "/"
    const char *wrong; // why it is not taken as it is meant; NULL or "": nothing to say
    struct past *past; // what was typed before, of the bench; NULL: nothing is remembered
};

void filter_done(struct filter *f);
const char *filter_text(const struct filter *f); // "" without one
unsigned filter_mode(const struct filter *f);    // MODE_LINE during typing, else MODE_VIEW
// FILTER opens it, ACCEPT and BACK end the typing, and BACK clears a kept filter. During typing it
// also takes the keys of a line. false: not an action of a filter.
bool filter_act(struct filter *f, enum action a, buf *clipboard);
// Types a key into it while it is open; true when that changed the pattern.
bool filter_type(struct filter *f, key k);
bool filter_paste(struct filter *f, const char *words, size_t n);
// Draws "/text" in the row during typing.
void filter_draw(const struct filter *f, grid *g, rect row);
// At the row's end, why what is typed is no expression, and taken as it stands; else nothing.
void filter_draw_wrong(const char *words, grid *g, rect row);
