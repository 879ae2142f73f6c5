// SPDX-License-Identifier: MIT
// The cells as they are shown and edited here, in the document's order. The fold has the kernel's
// document; what a person types is in the slot's text first, and in the fold when the kernel has
// said so. The bench owns the slots; they are borrowed until the next message.
#pragma once
#include "script/journal/fold.h"
#include "tui/bench/bench.h"
#include "tui/edit/edit.h"
#include "tui/syntax/syntax.h"

struct drawing;
struct slot;

size_t slot_count(const bench *b);
struct slot *slot_at(const bench *b, size_t i);
// *i (may be NULL) is where it stands. NULL: there is none, or no id.
struct slot *slot_by_id(const bench *b, const char *id, size_t *i);
const cell *slot_cell(const bench *b, size_t i);           // as the document has it
const struct run_cell *slot_run(const bench *b, size_t i); // NULL: no event tells of it

const char *slot_id(const struct slot *s);
edit *slot_edit(const struct slot *s); // after a change by a person: slot_typed
syntax_language slot_language(const struct slot *s);
unsigned slot_version(const struct slot *s); // counts what happened to its output
struct drawing *slot_drawing(struct slot *s);
void slot_forget_outputs(bench *b, size_t from, size_t to); // drawn ones, but of [from, to)
bool slot_changed(struct slot *s, const char *hash); // is its text another than the one hashed?

// A person has changed a text: it goes to the kernel when no more is typed for a while.
void slot_typed(bench *b);
// The one that a person is in, NULL: none. What is typed there outlives its cell.
void slot_set_edited(bench *b, struct slot *s);
bool slot_is_edited(const bench *b, const struct slot *s);

// A cell that is to be selected, as soon as it is there.
void bench_select(bench *b, const char *id);
bool bench_selects(const bench *b); // is there one?
// Is it there now? Then nothing more is to be selected. *cursor is where the person was, when the
// cell has what was typed in one that another client deleted; else NULL.
bool bench_take_selected(bench *b, size_t *i, const pos **cursor);
