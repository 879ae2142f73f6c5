// SPDX-License-Identifier: MIT
// Changes of the notebook's structure: sent to the kernel, and kept as steps that can be taken back
// and done again. A step is one act of a person, however many cells it touches. Nothing is changed
// here first: the cells follow when the kernel says so.
//
//   steps ─> [insert c] | [edit a][delete b][delete c] | [move d]
//                       |         a merge              ^done     what follows was undone
//
// Another client may have changed the cells since: what does not fit any more is said and left.
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct bench;
struct history;
struct history *history_new(void);
void history_free(struct history *h);

// The changes between these two are one step, which the message calls `what`: "merge".
// `about`: id of the cell that is selected after it is taken back or done again; NULL: the first.
void history_begin(struct bench *b, const char *what, const char *about);
void history_end(struct bench *b);
// Each is sent at once. `after`: id of the cell before it, NULL: the top. The new cell's id is
// borrowed until the step is forgotten.
const char *history_insert(
    struct bench *b, const char *after, const char *marker, const char *source);
void history_delete(struct bench *b, size_t i);
void history_move(struct bench *b, size_t i, const char *after);
void history_edit(struct bench *b, size_t i, const char *marker, const char *source);

// Takes the last step back, or does it again, and has its cell selected.
void history_undo(struct bench *b);
void history_redo(struct bench *b);
