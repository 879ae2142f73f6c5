// SPDX-License-Identifier: MIT
// Reports of a run: files named by --report; the end of the name tells the format. If somebody
// waits for the run, its own process writes them. If it is detached, its guard does, after all of
// its other processes have ended.
#pragma once
#include "base/err.h"
#include "script/journal/fold.h"

// Before a run: can each of these be written? ERR_USAGE names the one that cannot, and nothing is
// written yet. NULL-terminated; NULL: none.
int reports_check(char *const *paths, err *e);
int reports_write(char *const *paths, const fold *f, const char *spool_dir, err *e);
// The same from the journal of a run of a working folder.
int reports_write_run(char *const *paths, const char *folder, const char *run, err *e);
// What stands for the writer of a run's reports in the folder of run-time files: owned until they
// are written. New.
char *report_mark(const char *runtime, const char *run);
