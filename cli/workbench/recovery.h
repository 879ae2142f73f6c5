// SPDX-License-Identifier: MIT
// Finds edits of a notebook that were never saved because its kernel was killed (kill -9, a power
// loss) or stopped: the journal has them. If there are none, this reads only the end of one
// journal.
#pragma once
#include "base/buf.h"
#include "script/notebook/notebook.h"

#include <stdbool.h>

struct recovery {
    char *run;     // the run that has the unsaved text
    buf words;     // the last state of the document
    size_t hidden; // cells taken from the file, because the journal masks a secret in them
    bool touched;  // another program had changed the file before the run was over
};

// path: the notebook's file; `words`: its text; name: begins the names of its runs; cwd: the folder
// of their journals. false: the file has everything, or is newer. Otherwise the caller must end
// *found.
bool recovery_find(
    const char *path, const char *name, const char *cwd, const buf *words, struct recovery *found);
void recovery_done(struct recovery *r);
