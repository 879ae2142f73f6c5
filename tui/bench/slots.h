// SPDX-License-Identifier: MIT
// The cells as they are shown and edited here, in the document's order. The fold has the kernel's
// document. Typed text is first in the slot, and in the fold after the kernel's event. The bench
// owns the slots; pointers are valid until the next message.
#pragma once
#include "script/journal/fold/fold.h"
#include "tui/bench/bench.h"
#include "tui/edit/edit.h"
#include "tui/syntax/syntax.h"

struct drawing;
struct slot;

size_t slot_count(const bench *b);
struct slot *slot_at(const bench *b, size_t i);
// *i (may be NULL) is set to its place. NULL: there is no such slot, or id is NULL.
struct slot *slot_by_id(const bench *b, const char *id, size_t *i);
const cell *slot_cell(const bench *b, size_t i); // the cell in the document
void slot_name(
    const bench *b, size_t i, buf *out); // its title, else what a cell without one is called
const struct run_cell *slot_run(const bench *b, size_t i); // NULL: no event was about it
// Why what stands below the cell, which this run or an earlier one has left there, does not hold
// any more, in a phrase ("lr has changed"); NULL: it does, or nothing has ended there.
const char *slot_stale(bench *b, size_t i);
// The letter that a person gave it, to come back to; 0: none. One cell has a letter.
char slot_letter(const bench *b, size_t i);
void slot_set_letter(bench *b, size_t i, char letter);

// What stands below a cell: what this run has left there; or, as long as the cell has not run in
// it, what an earlier run did. NULL: nothing is known. past (may be NULL): that run; its `run` is
// NULL for this one.
struct slot_past {
    const char *run, *spools; // run FROM_FILE: the .ipynb brought it along
};
#define FROM_FILE "file"
const struct run_cell *slot_outputs(bench *b, size_t i, struct slot_past *past);
const char *slot_id(const struct slot *s);
edit *slot_edit(const struct slot *s); // after a person's change call slot_typed
syntax_language slot_language(const struct slot *s);
const cJSON *slot_works(const struct slot *s); // events `progress` of its long work; NULL: none
unsigned slot_version(const struct slot *s);   // counts the changes of its output
struct drawing *slot_drawing(struct slot *s);
// Forgets drawn outputs, except those of [from, to).
void slot_forget_outputs(bench *b, size_t from, size_t to);
bool slot_changed(struct slot *s, const char *hash); // does its text differ from the one with this
                                                     // hash?

// A person has changed a text: it is sent to the kernel after a pause in typing.
void slot_typed(bench *b);
// The slot that is being edited, NULL: none. If its cell is deleted, what is typed there is kept.
void slot_set_edited(bench *b, struct slot *s);
bool slot_is_edited(const bench *b, const struct slot *s);

// Selects this cell as soon as it exists.
void bench_select(bench *b, const char *id);
// The same for a cell that asks, until it has its answer.
void bench_select_asking(bench *b, const char *id);
// The same for a new cell, to be edited.
void bench_select_to_edit(bench *b, const char *id);
bool bench_selects(const bench *b);         // is there such a cell?
bool bench_selects_asking(const bench *b);  // and does it ask?
bool bench_selects_to_edit(const bench *b); // and is it to be edited? Keys are text meanwhile
void bench_select_none(bench *b);           // not any more
// Is a cell on its way that has what was typed in a deleted one?
bool bench_rescues(const bench *b);
// Does it exist now? Then the request is done. *cursor: the person's place, if the cell has text
// that was typed in a deleted cell; else NULL.
bool bench_take_selected(bench *b, size_t *i, const pos **cursor);
