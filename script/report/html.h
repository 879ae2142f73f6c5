// SPDX-License-Identifier: MIT
// A run as one HTML page that needs nothing else: no script, no request, its look and its charts
// are in it. Its Content-Security-Policy forbids the rest, whatever outputs hold.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "script/journal/fold.h"

// As export_run has them.
int html_print(const fold *f, const char *spool_dir, size_t limit, buf *out, err *e);
