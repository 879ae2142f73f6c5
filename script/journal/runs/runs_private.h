// SPDX-License-Identifier: MIT
// Shared by the files of runs.h: a run as its journal has it, and a row made of that.
#pragma once
#include "script/journal/runs/runs.h"

// Does a kernel write its journal? Ask before reading: it may end meanwhile.
bool runs_written(const char *folder, const char *run);
// Reads a journal: fills the brief except its key, and the parts, new. After an error only run and
// state are set.
int runs_read(const char *folder, const char *run, bool written, struct runs_brief *b,
    char *parts[RUNS_PARTS], err *e);
// The same from the events of an ended run, except `ran` and `open`.
void runs_of(const fold *f, const char *run, struct runs_brief *b, char *parts[RUNS_PARTS]);
// fields: only these are needed, NULL-terminated; NULL: all.
cJSON *runs_row_of(const struct runs_brief *b, const char *const *fields);
// Adds the members of a part. Errors: it is no JSON object.
int runs_row_add(cJSON *row, const char *part);
