// SPDX-License-Identifier: MIT
// Evaluates Lua that only computes, in a state of its own, with limits on time and memory. It finds
// out, before any cell has run, what a notebook's parameters determine. A name that is neither a
// parameter nor a plain function is an error there, so a value that depends on anything else counts
// as unknown.
#pragma once
#include "base/json/json.h"
#include "script/kernel/cells/values/template.h"

typedef struct bounded bounded;
// `values` are the parameters; they are copied. NULL when memory runs out; NULL is fine below.
bounded *bounded_new(const cJSON *values);
void bounded_free(bounded *b);
// The text with its expressions filled in where their values are known: new; NULL: it cannot be
// made. *blanks: the number of unknown ones.
char *bounded_sketch(bounded *b, const char *text, enum template_blank blank, int *blanks);
// The value of an expression: new; NULL: it is unknown, or not JSON.
cJSON *bounded_value(bounded *b, const char *expression);
