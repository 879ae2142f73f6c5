// SPDX-License-Identifier: MIT
// What a run needs to be done again, for the first record of its journal: the command line, the
// seed, the commit of its notebook, the machine, the variables that programs compute by. What the
// first record cannot know follows as `learned`: whether the working tree is its commit's.
// On the loop's thread; the session owns what is under way.
#pragma once
#include "script/kernel/session/state.h"

// The seed that was asked for, else that of the run that goes on, else a new one. Before the
// interpreter. Errors: ERR_USAGE: it is no integer.
int record_seed(kernel *k, const fold *past, err *e);
// What objects that the run makes say of it (call_notebook, call_commit). Before the first turn,
// also of a run that is resumed.
void record_origin(kernel *k);
// Adds to the first record.
void record_first(kernel *k, cJSON *event);
// Asks git about the working tree; once, and not at the mere opening of a notebook. With `waits`
// the first cell waits for the answer, but not for long.
void record_ask_git(kernel *k, bool waits);
void record_done(kernel *k);
cJSON *record_strings(const char *const *list); // as an array; NULL: an empty one
