// SPDX-License-Identifier: MIT
// Rows of output drawn one below the other into a grid that the caller owns: text with its colours,
// tables, progress, plots. What goes over the grid's height is counted, not drawn.
#pragma once
#include "base/json.h"
#include "base/text/ansi.h"
#include "tui/grid/grid.h"

struct canvas {
    grid *grid;
    int w; // columns to draw in
    int y; // the next row
    bool ascii;
    int plot_rows; // of each plot; 0: as they stand below a cell
    int64_t now;   // wall ns: ages of live tables are counted up to it; 0: they are as they came
    bool aged;     // out: something in it shows an age
};

// A program's output. Of more than `limit` rows only the last are drawn, under a row that says how
// many lines there are above, with the `before` that are not even in the bytes. limit 0: all.
void canvas_ansi(
    struct canvas *c, const char *bytes, size_t n, style base, int limit, uint64_t before);
void canvas_line(struct canvas *c, style st, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
// {"columns": [name | {"name"}…], "rows": [[…] | {"cells": […]} | {name: …}…], "note"}
void canvas_table(struct canvas *c, const cJSON *table, bool live, int limit);
// {"label", "done", "total", "epoch", "epochs", "elapsed", "metrics", "history": [{"metrics"}…]}
void canvas_progress(struct canvas *c, const cJSON *p, bool live);
// {"title", "series": [{"name", "y": […]}…]}
void canvas_plot(struct canvas *c, const cJSON *plot);
// Any MIME bundle by the richest of its types that is known.
void canvas_bundle(struct canvas *c, const cJSON *bundle, bool live, int limit);
