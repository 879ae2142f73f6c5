// SPDX-License-Identifier: MIT
// What the cells of an .ipynb have left in runs that a restart, or the loss of their kernel, has
// ended, and that no save has put into its file. The runs name each other (`before` of the first
// record); the newest one counts that has run or cleared a cell. Nothing is owned.
//
// What cannot be read leaves the outputs as the file has them.
#pragma once
#include "script/journal/fold.h"

#include <stdint.h>

enum {
    LEFT_RUNS_MOST = 8,   // that have left something: as many as the workbench shows
    LEFT_STEPS_MOST = 128 // of them and of those in which nothing ran
};

// The run whose kernel was left, by what its document was taken from; NULL: there is none.
const char *left_run(const fold *recovered);
// Gives the notebook these outputs, also for cells that were deleted and may come back. folder:
// with .firesteel; saved: when the file was written, wall ns. false: a cell was cleared, and the
// file does not know it yet. *unread: the first thing that cannot be read.
bool left_give(notebook *nb, const char *folder, const char *run, int64_t saved, err *unread);
