// SPDX-License-Identifier: MIT
// A journal that can be viewed at any time of the run: the places of its records, the state of the
// run after each of them, and what one cell did when it last ran. It owns its file and the states.
//   records   run  state  stream  stream  state  …  update  update  …  end
//   states    ●────────────────────────────────●────────────────────●        a few copies are kept
// Going forward folds the next records; going back begins at the copy before. To find the places,
// only the beginnings of lines are parsed. A damaged line, and a last line that was cut, are no
// records.
#pragma once
#include "script/journal/fold/fold.h"

typedef struct replay replay;

// Errors: those of reader_open, and of its first record (another format's).
replay *replay_open(const char *path, err *e);
void replay_free(replay *r); // NULL is fine
// Scans that many further bytes of the file. false: it has scanned everything that is written so
// far.
bool replay_look(replay *r, size_t bytes);

// The functions below know only the records scanned so far.
size_t replay_count(const replay *r);
int64_t replay_time(replay *r, size_t at); // wall ns; 0: the record has no time
// The cell that a record is about; NULL: none.
const char *replay_cell(const replay *r, size_t at);
// The next record after `at` that changes what is shown; with `cells`, one at which a cell begins
// or ends, or the document changes; direction: 1 or -1. If there is none, the last or the first
// record.
size_t replay_step(const replay *r, size_t at, int direction, bool cells);
// The last record that is not later than this; 0 if all are.
size_t replay_find(replay *r, int64_t wall);
// The state of the run after a record; borrowed until the next call; do not change it. at: less
// than the count.
fold *replay_at(replay *r, size_t at);

bool replay_ran(const replay *r); // did any cell begin?
// A new fold of the run with the last state of its document, and without any output.
fold *replay_outline(replay *r);
// Adds to a fold the records from *next on that say what its cells were, read, made and recorded,
// without what they printed and showed; through about so many bytes. false: it has everything.
bool replay_add_facts(replay *r, fold *facts, size_t *next, size_t bytes);
// Adds to this outline what the cell did when it last ran. false: it never ran.
bool replay_add_cell(replay *r, fold *outline, const char *id);
