// SPDX-License-Identifier: MIT
// The trials and measurements of a run in its HTML page: a table for each tune and study, and the
// curves of its records side by side.
#pragma once
#include "base/buf.h"
#include "script/journal/fold.h"

// Appends nothing for a run without such records. Trials stand the best first. Of more than 200
// rows the first ones are shown, of the curves those of the first eight.
void html_children(const fold *f, buf *out);
