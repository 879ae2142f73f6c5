// SPDX-License-Identifier: MIT
// Lua that only computes, in a state of its own, with bounds on time and memory: what a notebook's
// parameters determine, before any cell has run. A name that is neither a parameter nor a plain
// function is an error there, so nothing is taken for known that is not.
#pragma once
#include "base/json.h"
#include "script/kernel/cells/template.h"

typedef struct bounded bounded;
// `values` are the parameters; they are copied. NULL when memory runs out; NULL is fine below.
bounded *bounded_new(const cJSON *values);
void bounded_free(bounded *b);
// The text with its expressions filled in as far as they are known: new; NULL: it cannot be made.
// *blanks: how many were not known.
char *bounded_sketch(bounded *b, const char *text, enum template_blank blank, int *blanks);
// The value of an expression: new; NULL: it is not known, or is no JSON.
cJSON *bounded_value(bounded *b, const char *expression);
