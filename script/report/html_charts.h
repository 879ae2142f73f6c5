// SPDX-License-Identifier: MIT
// The charts of an HTML page: what display.plot shows, and how metrics moved.
#pragma once
#include "base/buf.h"
#include "base/json.h"

// A chart for each group of metrics that have at least two values: a metric and its "val_" twin
// share one. history: as fold_history has it.
void html_curves(const cJSON *history, buf *out);
// A chart for each metric, in which each of the n histories with at least two values of it has a
// line of its own, in its name.
void html_side_by_side(const char *const *names, cJSON *const *histories, size_t n, buf *out);
// The same of the epochs in a training's progress; the bundle of a plot (doc/displays.md).
void html_training(const cJSON *progress, buf *out);
void html_plot(const cJSON *plot, buf *out);
// The plot as an image of its own, as svg_image makes it.
bool html_plot_image(const cJSON *plot, buf *out);
// A parameter, a metric or a tag as text, new: "" for NULL.
char *html_value(const cJSON *value);
// A number of a bundle, or a metric's "nan", "inf" or "-inf"; NaN for anything else.
double html_number(const cJSON *value);
