// SPDX-License-Identifier: MIT
// The outputs of a cell as Markdown. Nothing is owned.
#pragma once
#include "script/report/export_private.h"

// A fence around text, longer than any run of backticks in it.
void md_fenced(const char *language, const char *text, size_t n, buf *out);
// Text as an entry of a table, on one line: none of it becomes markup.
void md_entry(buf *out, const char *text);
// c: NULL for a cell that has not run. The first error of reading goes to x's failure.
void md_outputs(struct export *x, const struct run_cell *c, buf *out);
