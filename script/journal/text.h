// SPDX-License-Identifier: MIT
// Outputs as plain text, for `show` and for exports without a richer form. Nothing is owned.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "script/journal/fold/fold.h"

// Appends an output as text, valid UTF-8 that ends with a newline (unless it is empty): a stream
// without what it overwrote, a display's text/plain (or its table if rows have changed since), an
// error with its place and traceback. A spooled stream is read from spool_dir. If a stream has more
// than `limit` bytes (0: 1 MiB), its middle is cut out, and a line says how much.
int output_text(const struct output *o, const char *spool_dir, size_t limit, buf *out, err *e);
// The branch whose outputs begin with output k; "" if those of the cell itself continue after a
// branch's; else NULL. Below: a line that says so.
const char *output_branch(const struct run_cell *c, size_t k);
void output_heading(const struct run_cell *c, size_t k, buf *out);
void output_branch_heading(const char *branch, buf *out); // of this branch; "": of the cell itself
// The raw bytes of a stream, cut in the same way.
int output_bytes(const struct output *o, const char *spool_dir, size_t limit, buf *out, err *e);
// What a terminal would show at the end, as in base/text/ansi.h, without colours.
void text_settle(const char *text, size_t n, buf *out);
