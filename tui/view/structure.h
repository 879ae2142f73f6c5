// SPDX-License-Identifier: MIT
// Changes of the notebook's structure: which messages an action on the cells lo…hi becomes.
#pragma once
#include "tui/view/view.h"

// Returns the cell to be selected after it, SIZE_MAX when the action is none of these.
size_t structure_act(bench *b, enum action a, size_t lo, size_t hi);
void structure_split(bench *b, size_t at); // at the cursor
