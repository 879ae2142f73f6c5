// SPDX-License-Identifier: MIT
// Names in the code of cells, as their texts alone tell: the one at a place, where it stands, where
// it is set. Strings and comments are passed over, and fields (after '.' or ':').
#pragma once
#include "tui/bench/slots.h"

// The name at a place of cell i (also right behind it); new, its beginning in *from. NULL: none, or
// the cell is neither in Lua nor in Python.
char *name_at(bench *b, size_t i, pos at, pos *from);
// Calls fn for each place of the name in a cell, in order; sets: it is set there.
typedef void name_found(void *arg, size_t i, pos at, bool sets);
void name_places(bench *b, size_t i, const char *name, name_found *fn, void *arg);
// Is the cell in the same language as another one, so that names are the same there?
bool name_shared(bench *b, size_t i, size_t with);
// Where a name that is used at a place of cell i is set: the nearest before it, else the first
// after it. false: nowhere.
bool name_definition(bench *b, size_t i, pos at, const char *name, size_t *where, pos *out);
