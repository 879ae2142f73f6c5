// SPDX-License-Identifier: MIT
// From a line of output to the cell that it names: of a file that a cell has written ("train.py",
// line 3; train.lua:3:), or by its number (cell [2] line 3).
#pragma once
#include "tui/bench/slots.h"

// false: the line names no cell of this notebook. *line: of the cell's source, from 0.
bool origin_of(bench *b, const char *words, size_t n, size_t *where, size_t *line);
// Closes what lies over the cells, and goes into that cell.
void origin_go(bench *b, size_t where, size_t line);
