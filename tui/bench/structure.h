// SPDX-License-Identifier: MIT
// Turns an action on the selected cells into steps of the notebook's history.
#pragma once
#include "tui/bench/slots.h"
#include "tui/edit/action.h"

// The selected cell, and the other end of the selection: the same if it is one cell.
struct selection {
    size_t at, mark;
};
static inline size_t selection_lo(struct selection s)
{
    return s.at < s.mark ? s.at : s.mark;
}
static inline size_t selection_hi(struct selection s)
{
    return s.at < s.mark ? s.mark : s.at;
}

// false: the action is none of these. Otherwise *s is the selection afterwards.
bool structure_act(bench *b, enum action a, struct selection *s);
// Inserts an empty cell and selects it; edits: for typing.
void structure_insert(bench *b, size_t at, bool edits);
// Inserts the cells that a text in the percent format has; one without markers is one cell.
void structure_insert_text(bench *b, size_t at, const char *words, size_t n);
// Changes its marker and text, as one step.
void structure_mark(bench *b, size_t at, const char *marker, const char *source);
void structure_split(bench *b, size_t at); // splits it at the cursor
// Gives cells another text, as one step, which is called `what`.
struct cell_text {
    size_t at;
    const char *source;
};
void structure_texts(bench *b, const char *what, const struct cell_text *texts, size_t n);

// document/inserting.c: ready cells of the gallery (script/notebook/readycells.h).
// What the lines begin with that insert ready cells.
#define INSERTING "insert "
// The i-th name as it is typed, "insert deploy", and what its cells do; NULL: there are no more.
// Borrowed until the notebook's language changes.
const char *inserting_nth(bench *b, size_t i, const char **about);
// Inserts the cells that a name stands for before the cell `at`, as one step, and selects the first
// of them. In a notebook that is blank they replace its empty cell. A notice says what was left
// out, since the notebook has it.
void inserting_insert(bench *b, size_t at, const char *name);
