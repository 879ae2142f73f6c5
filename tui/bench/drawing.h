// SPDX-License-Identifier: MIT
// The parts of a cell's drawing that are kept until something changes: its folds, its colours, a
// formatted text cell, its output. Its slot owns it; cellsource.c and output.c fill it.
#pragma once
#include "tui/grid/grid.h"
#include "tui/syntax/syntax.h"

#include <stdint.h>

struct drawing {
    bool input_folded, output_folded;
    bool section_folded; // a heading: the cells of its section are not shown
    bool hidden;         // it is in such a section (find/section.h)
    int heading;         // level of the heading it begins with, 0: none; of this revision
    uint64_t heading_text;
    struct text *told; // its output as lines, for the search; NULL: not looked through
    unsigned told_version;
    syntax_cache *syntax;
    int *wraps; // the first row of each line, for this revision and width (view/cell/cellwrap.h)
    uint64_t wrapped_text;
    int wrapped_width;
    struct markdown *rendered; // a formatted text cell, for this revision and this width
    uint64_t rendered_text;
    int rendered_width;
    grid *output; // the drawn output, for `drawn_version` and `drawn_width`
    bool ages;    // it shows ages, which have to grow
    unsigned drawn_version, drawn_pictures; // the latter: album_version
    int drawn_width;
    int rows; // rows of the drawn output
};

void drawing_init(struct drawing *d);
void drawing_done(struct drawing *d);
