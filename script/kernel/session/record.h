// SPDX-License-Identifier: MIT
// What is needed to repeat a run, for the first record of its journal: the command line, the seed,
// the commit of its notebook, the machine, the variables that affect programs' results. Facts that
// come later follow as `learned`: whether the working tree differs from its commit. On the loop's
// thread; the session owns what is in progress.
#pragma once
#include "script/kernel/session/state.h"

// The seed that was given, else that of the run that is continued, else a new one. Call it before
// the interpreter starts. Errors: ERR_USAGE: not an integer.
int record_seed(kernel *k, const fold *past, err *e);
// The facts that objects of the run name (call_notebook, call_commit). Call it before the first
// turn, also in a resumed run.
void record_origin(kernel *k);
// Adds to the first record.
void record_first(kernel *k, cJSON *event);
// Asks git about the working tree, once, and not when a notebook is only opened. With `waits` the
// first cell waits for the answer for a short time.
void record_ask_git(kernel *k, bool waits);
void record_done(kernel *k);
cJSON *record_strings(const char *const *list); // as an array; NULL: an empty one
