// SPDX-License-Identifier: MIT
// A run that is read from its journal bit by bit, while it is written or long after, without what
// its cells printed: for charts and tables that follow a training. It owns its fold and its file.
#pragma once
#include "script/journal/fold/fold.h"

typedef struct follow follow;

// Errors: those of reader_open.
follow *follow_open(const char *path, err *e);
void follow_close(follow *f); // NULL is fine
// Reads on until this time (mono ns), or until all that is written is read. false: nothing came.
bool follow_read(follow *f, int64_t until);
// The run so far. Errors of lines are counted in it; a journal of another format has none.
const fold *follow_fold(const follow *f);
// Is there more to read at once? And is the journal still written, so that more may come?
bool follow_behind(const follow *f);
bool follow_goes_on(const follow *f);
const char *follow_wrong(const follow *f); // why it could not be read; NULL: it could
