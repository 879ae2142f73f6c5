// SPDX-License-Identifier: MIT
// A chart as SVG: lines, points or bars over one pair of axes. Colours are classes (s0 to s7) of
// chart.css, so in a page they follow its light and dark looks. What is drawn is borrowed.
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum { SVG_COLOURS = 8 };
enum svg_kind { SVG_LINE, SVG_POINTS, SVG_BARS };

struct svg_series {
    const char *name;
    const double *x, *y; // n each; a value that is not finite leaves a gap
    size_t n;
    const double *low, *high; // ends of each value's interval, drawn as an error bar; NULL: none
};
struct svg_chart {
    const char *title, *x_label, *y_label; // NULL: none
    enum svg_kind kind;
    const char *const *labels; // for bars: their labels, one for each value of the first series
    const struct svg_series *series;
    size_t n;
};
// Appends a <figure>: caption, drawing, and a legend if there are several series. If a line has
// many values, only the smallest and the largest of each group of neighbours are drawn. Without a
// finite value: a sentence.
void svg_chart(const struct svg_chart *chart, buf *out);
// The same as an image that needs no page: title, legend and a light style sheet are in it. false:
// it has no finite value, and nothing is appended.
bool svg_image(const struct svg_chart *chart, buf *out);
