// SPDX-License-Identifier: MIT
// Words for the fields of a cell's properties: files in the notebook's folder, and tags of its
// cells.
#pragma once
#include "script/notebook/properties.h"
#include "tui/bench/view.h"

// The words that begin like the last word of `typed`, in order, new and NULL-terminated; NULL:
// none. *n: how many of their bytes are typed already.
char **property_words(const bench *b, property p, const char *typed, size_t *n);
