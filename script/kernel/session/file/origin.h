// SPDX-License-Identifier: MIT
// Finds the cell that wrote a line of a file. Errors of programs that run such a file (a trainer, a
// script) then name the cell and its line. It belongs to the loop's thread.
#pragma once
#include "base/buf.h"
#include "script/kernel/cells/execution.h"

typedef struct origins origins;
origins *origins_new(void);
void origins_free(origins *o);
// Call it when a cell was executed: notes the files that it has written.
void origins_note(origins *o, const execution *x);
// Appends a text; each "FILE:LINE" of a file that a cell wrote becomes "cell [N] line M
// (FILE:LINE)". The first of them goes to *from (the cell, borrowed; NULL: none) and *line.
void origins_explain(const origins *o, const char *text, buf *out, const char **from, int *line);
