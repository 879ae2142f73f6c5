// SPDX-License-Identifier: MIT
// The trials and measurements of a run in its HTML page: a table for each tune and study, and the
// curves of its records in one chart.
#pragma once
#include "base/buf.h"
#include "script/journal/fold/fold.h"

// Appends nothing for a run without such records. The best trial comes first. Only the first 200
// rows are shown, and only the curves of the first eight.
void html_children(const fold *f, buf *out);
