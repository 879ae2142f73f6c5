// SPDX-License-Identifier: MIT
// Changes of the notebook's structure: they are sent to the kernel, and kept as steps for undo and
// redo. A step is one action of a person, however many cells it changes. Cells are not changed here
// first: they follow the kernel's events.
//
//   steps ─> [insert c] | [edit a][delete b][delete c] | [move d]
//                       |         a merge              ^done     what follows was undone
//
// Another client may have changed the cells since: changes that do not fit any more are reported
// and left out.
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct bench;
struct history;
struct history *history_new(void);
void history_free(struct history *h);

// The changes between these two calls are one step, which messages call `what`, such as "merge".
// `about`: id of the cell to select after undo or redo; NULL: the first.
void history_begin(struct bench *b, const char *what, const char *about);
void history_end(struct bench *b);
// Each change is sent at once. `after`: id of the cell before it, NULL: the top. The new cell's id
// is borrowed until the step is forgotten.
const char *history_insert(
    struct bench *b, const char *after, const char *marker, const char *source);
void history_delete(struct bench *b, size_t i);
void history_move(struct bench *b, size_t i, const char *after);
void history_edit(struct bench *b, size_t i, const char *marker, const char *source);

// Undoes or redoes the last step, and selects its cell.
void history_undo(struct bench *b);
void history_redo(struct bench *b);
