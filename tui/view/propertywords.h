// SPDX-License-Identifier: MIT
// What could be typed into a field of a cell's properties: files of the notebook's folder, tags
// that its cells have.
#pragma once
#include "script/notebook/properties.h"
#include "tui/view/view.h"

// Words that begin as the last one of `typed` does, in order, new and NULL-terminated; NULL: none.
// *n: how many bytes of it are typed already.
char **property_words(const bench *b, property p, const char *typed, size_t *n);
