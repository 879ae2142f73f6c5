// SPDX-License-Identifier: MIT
// The changes of a text, for undo and redo. It owns copies of removed and inserted text, and works
// on any text that it is given.
//
//   changes ─> [ins "a"][ins "b"][ins "c"] | [del "x"] | [del "sel"][ins "y"]
//                      group 1             | group 2   |      group 3         ^done
#pragma once
#include "tui/edit/text.h"

typedef struct undo undo;
undo *undo_new(void);
void undo_free(undo *u);
void undo_forget(undo *u); // forgets everything: the text was replaced

// Records that `removed`, which began at `at`, was replaced by `inserted`; changes that were undone
// are forgotten. `before` is where the cursor was. Typing or deleting that continues in one place
// joins the change before; undo_break prevents that (after a movement, a pause, a save).
void undo_record(undo *u, pos before, pos at, const char *removed, size_t removed_n,
    const char *inserted, size_t inserted_n);
void undo_break(undo *u);
// Changes between these two calls are undone together. The calls nest.
void undo_group_begin(undo *u);
void undo_group_end(undo *u);

// Undoes or redoes the last group; *cursor becomes the cursor of that time. false: there is nothing
// to do.
bool undo_undo(undo *u, text *t, pos *cursor);
bool undo_redo(undo *u, text *t, pos *cursor);
