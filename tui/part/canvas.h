// SPDX-License-Identifier: MIT
// Draws rows of output one below the other into a grid that the caller owns: text with its colours,
// tables, progress, plots. Rows beyond the grid's height are counted, not drawn.
#pragma once
#include "base/json/json.h"
#include "base/text/ansi.h"
#include "tui/grid/grid.h"
#include "tui/picture/album.h"

struct canvas {
    grid *grid;
    int w;              // columns to draw in
    int y;              // the next row
    bool ascii, dashes; // dashes: curves differ in them, since nobody sees colours
    album *album;       // for pictures; NULL: a line says what there is
    int64_t now;        // wall ns: up to which the ages of live tables are counted
    bool aged;          // out: something in it shows an age
};

// A program's output. If it has more than `limit` rows, only the last ones are drawn, below a row
// that says how many lines are above, including `before` lines that are not in the bytes. limit 0:
// all.
void canvas_ansi(
    struct canvas *c, const char *bytes, size_t n, style base, int limit, uint64_t before);
void canvas_line(struct canvas *c, style st, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
// A progress display without its curves: {"label", "done", "total", "epoch", "epochs", "elapsed",
// "metrics", "evaluated"}
void canvas_work(struct canvas *c, const cJSON *event);
void canvas_progress_head(struct canvas *c, const cJSON *p, bool live);
// Any MIME bundle by the richest of its types that is known.
void canvas_bundle(struct canvas *c, const cJSON *bundle, bool live, int limit);
