// SPDX-License-Identifier: MIT
// The charts of an HTML page: what display.plot shows, and the history of metrics.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

// A chart for each group of metrics that have at least two values: a metric and its "val_" twin
// share one. history: as in fold_history.
void html_curves(const cJSON *history, buf *out);
// A chart for each metric, with one line, named after it, for each of the n histories that has at
// least two values of the metric.
void html_side_by_side(const char *const *names, cJSON *const *histories, size_t n, buf *out);
// The same for the epochs in a training's progress; the bundle of a plot (doc/displays.md).
void html_training(const cJSON *progress, buf *out);
void html_plot(const cJSON *plot, buf *out);
// The plot as a separate image, as svg_image makes it.
bool html_plot_image(const cJSON *plot, buf *out);
// A parameter, a metric or a tag as text, new: "" for NULL.
char *html_value(const cJSON *value);
// A number of a bundle, or a metric's "nan", "inf" or "-inf"; NaN for anything else.
double html_number(const cJSON *value);
