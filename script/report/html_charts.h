// SPDX-License-Identifier: MIT
// The charts of an HTML page: what display.plot shows, and how metrics moved.
#pragma once
#include "base/buf.h"
#include "base/json.h"

// A chart for each group of metrics that have at least two values: a metric and its "val_" twin
// share one. history: as fold_history has it.
void html_curves(const cJSON *history, buf *out);
// The same of the epochs in a training's progress; the bundle of a plot (doc/displays.md).
void html_training(const cJSON *progress, buf *out);
void html_plot(const cJSON *plot, buf *out);
// A number of a bundle, or a metric's "nan", "inf" or "-inf"; NaN for anything else.
double html_number(const cJSON *value);
