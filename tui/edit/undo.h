// SPDX-License-Identifier: MIT
// What was changed in a text, so that it can be taken back and done again. Owns copies of the text
// that was removed and inserted; works on any text it is given.
//
//   changes ─> [ins "a"][ins "b"][ins "c"] | [del "x"] | [del "sel"][ins "y"]
//                      group 1             | group 2   |      group 3         ^done
#pragma once
#include "tui/edit/text.h"

typedef struct undo undo;
undo *undo_new(void);
void undo_free(undo *u);
void undo_forget(undo *u); // all of it: the text was replaced

// Records that `removed` between `at` and the end of it gave way to `inserted`; done changes that
// were undone are forgotten. `before` is where the cursor was. Typing and deleting on in one
// place joins the change before; undo_break ends that (a movement, a pause, a save).
void undo_record(undo *u, pos before, pos at, const char *removed, size_t removed_n,
    const char *inserted, size_t inserted_n);
void undo_break(undo *u);
// Changes between these two are undone as one. They nest.
void undo_group_begin(undo *u);
void undo_group_end(undo *u);

// Takes the last group back, or does it again; *cursor becomes where it was. false: nothing to do.
bool undo_undo(undo *u, text *t, pos *cursor);
bool undo_redo(undo *u, text *t, pos *cursor);
bool undo_can_undo(const undo *u);
bool undo_can_redo(const undo *u);
