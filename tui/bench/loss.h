// SPDX-License-Identifier: MIT
// What an action would end or lose: a running cell, a live display, the values in the kernel. A
// person is asked before that, unless the workbench was opened with --no-ask. Nothing is owned.
#pragma once
#include "base/json/json.h"
#include "tui/bench/view.h"
#include "tui/edit/action.h"

// May the action be done now? It may when nothing would be lost, or when a person has agreed. Else
// a question is opened; on "yes" it does the action again. cells: ids of the cells that it
// concerns; NULL: all of them. Takes cells.
bool loss_agreed(bench *b, enum action a, cJSON *cells);
// The same for the cells from `lo` to `hi`.
bool loss_agreed_cells(bench *b, enum action a, size_t lo, size_t hi);
// Yes to the question about this.
void loss_agree(bench *b, enum action a, const char *about);
