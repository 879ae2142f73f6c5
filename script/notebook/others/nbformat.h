// SPDX-License-Identifier: MIT
// The texts of an .ipynb, which nbformat writes as lists of lines. Nothing is kept.
#pragma once
#include "base/json/json.h"

// The lines of a text with their ends, as Python's str.splitlines has them: a new array.
cJSON *nbformat_lines(const char *text, size_t n);
// A text, or a list of texts that are joined: new. NULL: it is neither.
char *nbformat_joined(const cJSON *value);
