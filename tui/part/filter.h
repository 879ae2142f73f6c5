// SPDX-License-Identifier: MIT
// The line after "/" in a view with rows: it is typed, kept with Enter, and cleared with Esc. The
// view shows the rows that match; if the filter begins with !, those that do not. It owns its text.
#pragma once
#include "tui/part/line.h"

struct filter {
    line *line; // NULL: none
    bool typing;
    const char *mark; // shown before it; NULL: "/"
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
// Does a text match the pattern? Letters A to Z match in any case. A "!" in front negates the
// pattern; "" and "!" match everything.
bool filter_match(const char *pattern, const char *words);
