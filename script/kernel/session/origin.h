// SPDX-License-Identifier: MIT
// Where a line of a file comes from: which cell wrote it. Errors of what runs such a file (a
// trainer, a script) name the cell and its line then. It belongs to the loop's thread.
#pragma once
#include "base/buf.h"
#include "script/kernel/cells/execution.h"

typedef struct origins origins;
origins *origins_new(void);
void origins_free(origins *o);
// A cell has been executed: what it has written is known from now on.
void origins_note(origins *o, const execution *x);
// Appends a text with each "FILE:LINE" that a cell wrote as "cell [N] line M (FILE:LINE)". The
// first of them goes to *from (the cell, borrowed; NULL: there is none) and *line.
void origins_explain(const origins *o, const char *text, buf *out, const char **from, int *line);
