// SPDX-License-Identifier: MIT
// The outputs of a cell as parts of an HTML page.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "script/journal/fold/fold.h"

// Where outputs are read from, and how much of them: as in export_run.
struct html_source {
    const char *spool_dir;
    size_t limit;
};
// Errors: a spool that cannot be read.
int html_output(const struct output *o, const struct html_source *from, buf *out, err *e);
// The table of a display (page_display.h); live: its ages are counted up to now.
void html_table(const cJSON *table, bool live, buf *out);
