// SPDX-License-Identifier: MIT
// Edits of a notebook that were never saved, since its kernel was killed (kill -9, a power loss):
// its journal has them. Looking for them reads the end of one journal where there are none.
#pragma once
#include "base/buf.h"
#include "script/notebook/notebook.h"

#include <stdbool.h>

struct recovery {
    char *run;     // whose unsaved text it is
    buf words;     // the document as it was last
    size_t hidden; // cells that are as in the file: what the journal has of them hides a secret
};

// path: of the notebook's file, whose text is `words`; name: what its runs are called after; cwd:
// where their journals are. false: there is nothing that the file does not have, or the file is
// newer. Else *found is the caller's to end.
bool recovery_find(
    const char *path, const char *name, const char *cwd, const buf *words, struct recovery *found);
void recovery_done(struct recovery *r);
// A line of text as it was before its secrets were hidden, if `file`, a text of several lines, has
// one that differs in nothing else: from there; else NULL.
const char *recovery_unhide(const char *line, size_t n, const char *file, size_t *length);
