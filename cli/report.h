// SPDX-License-Identifier: MIT
// Reports of a run: files named by --report; the extension decides the format. If somebody waits
// for the run, its own process writes them. If it is detached, its guard does, after all of its
// other processes have ended.
#pragma once
#include "base/err.h"
#include "script/journal/fold/fold.h"

// Before a run: can each of these files be written? ERR_USAGE names the one that cannot; nothing is
// written yet. NULL-terminated; NULL: none.
int reports_check(char *const *paths, err *e);
int reports_write(char *const *paths, const fold *f, const char *spool_dir, err *e);
// While a run goes on: writes those that are notebooks (.ipynb), so that a kill leaves what was
// done. Pipes and devices get only the end. Errors are left to reports_write.
void reports_save(char *const *paths, const fold *f, const char *spool_dir);
// The same from the journal of a run of a working folder.
int reports_write_run(char *const *paths, const char *folder, const char *run, err *e);
// The same as reports_save for a run whose journal is still written.
void reports_save_run(char *const *paths, const char *folder, const char *run);
// A path in the run-time folder that the writer of a run's reports owns until they are written.
// New.
char *report_mark(const char *runtime, const char *run);
