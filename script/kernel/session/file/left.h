// SPDX-License-Identifier: MIT
// Finds the outputs of an .ipynb's cells that were never saved to its file, because a restart, or
// the loss of the kernel, ended the run. Each run names the one before (`before` of the first
// record). The newest run counts that ran or cleared a cell. Nothing is owned. If a journal cannot
// be read, the file's outputs stay.
#pragma once
#include "script/journal/fold/fold.h"

#include <stdint.h>

enum {
    LEFT_RUNS_MOST = 8,   // the most runs with outputs: as many as the workbench shows
    LEFT_STEPS_MOST = 128 // the most runs in all, with those in which nothing ran
};

// The run whose kernel was lost, found by the source of its document; NULL: none.
const char *left_run(const fold *recovered);
// Gives the notebook these outputs, also for cells that were deleted and may come back. folder: the
// one with .firesteel; saved: when the file was written, wall ns. Returns false if a cell was
// cleared since the file was saved. *unread: the first thing that cannot be read.
bool left_give(notebook *nb, const char *folder, const char *run, int64_t saved, err *unread);
