// SPDX-License-Identifier: MIT
// Prints a run as one HTML page that needs nothing else: no script and no request; its style sheet
// and charts are in it. Its Content-Security-Policy forbids everything else, whatever outputs
// contain.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "script/journal/fold/fold.h"

// These are as in export_run.
int html_print(const fold *f, const char *spool_dir, size_t limit, buf *out, err *e);
