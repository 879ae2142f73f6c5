// SPDX-License-Identifier: MIT
// What is kept of a cell's drawing until something changes: its folds, its colours, a text cell as
// it is read, its output. Its slot owns it; cellsource.c and output.c fill it.
#pragma once
#include "tui/grid/grid.h"
#include "tui/syntax/syntax.h"

#include <stdint.h>

struct drawing {
    bool input_folded, output_folded;
    syntax_cache *syntax;
    struct markdown *rendered; // a text cell as it is read, of this revision in this width
    uint64_t rendered_text;
    int rendered_width;
    grid *output; // drawn, for `drawn_version` and `drawn_width`
    bool ages;    // it shows ages, which grow
    unsigned drawn_version;
    int drawn_width;
    int rows; // of what is drawn
};

void drawing_init(struct drawing *d);
void drawing_done(struct drawing *d);
