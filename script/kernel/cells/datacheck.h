// SPDX-License-Identifier: MIT
// Checks whether the JSON and YAML that cells will write parses, as far as that is known before
// they run: files as they are, templates with the values of the notebook's parameters. A text that
// depends on anything else passes.
#pragma once
#include "script/notebook/notebook.h"
#include "script/notebook/plan.h"

typedef struct datacheck datacheck;

// Borrows nothing; NULL when memory runs out. NULL is fine below.
datacheck *datacheck_new(const notebook *nb);
void datacheck_free(datacheck *d);
// ERR_INVALID: *line counts as plan.skipped does, 0: unknown; the message begins with the column if
// that is known.
int datacheck_cell(const datacheck *d, const struct plan *p, int *line, err *e);
