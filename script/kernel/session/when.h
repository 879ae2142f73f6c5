// SPDX-License-Identifier: MIT
// Decides which cells of a queue run, by their when= and tags: as usual, or after a cell has failed
// or was interrupted, so that a clean-up happens. Plain functions.
//   when=            while nothing failed     after a failure or an interrupt
//   (none)           runs                     does not
//   "always"         runs                     runs
//   "failed"         does not                 runs
//   an expression    runs if it is true       the same, if it names `failed`; else it does not
#pragma once
#include "script/notebook/cell.h"

// May this cell run? The interpreter evaluates an expression when the cell's turn comes.
bool when_runs(const cell *c, bool failed);
// The expression in a cell's when=; NULL: it has none.
const char *when_expression(const cell *c);
// Does running all cells leave this one out (nbclient's tag skip-execution, and skip)?
bool when_skipped(const cell *c);
