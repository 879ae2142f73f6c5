// SPDX-License-Identifier: MIT
// A text being edited: text, cursor, selection, undo. It owns them all. Every change goes through
// these functions, so undo includes it. The caller owns the clipboard, which all cells share.
#pragma once
#include "tui/edit/action.h"
#include "tui/edit/cursor.h"
#include "tui/edit/indent.h"
#include "tui/edit/undo.h"

typedef struct edit edit;
edit *edit_new(const char *s, size_t n);
void edit_free(edit *e);
text *edit_text(edit *e);
// Replaces the whole text from outside (another client): undo starts anew, and the cursor stays
// close to its place.
void edit_reset(edit *e, const char *s, size_t n);

pos edit_cursor(const edit *e);
void edit_set_cursor(edit *e, pos p); // also ends a selection
// Returns whether there is a selection; stores its ends in order.
bool edit_selection(const edit *e, pos *from, pos *to);
void edit_select(edit *e, pos from, pos to); // whole characters; the cursor goes to `to`
void edit_set_page(edit *e, size_t lines);   // lines in a page, for page movements
void edit_set_language(edit *e, const struct edit_language *language); // its words are borrowed

// Inserts in place of the selection. Pasted text: CR LF and CR become newlines, other control
// bytes but tabs are dropped, broken UTF-8 becomes U+FFFD; one undo step.
void edit_insert(edit *e, const char *s, size_t n);
// The same for typed text: a line that only closes a block is unindented to its place.
void edit_type(edit *e, const char *s, size_t n);
void edit_paste(edit *e, const char *s, size_t n);
// Indents the selected lines, or up to the next stop; below: removes one step.
void edit_indent(edit *e);
void edit_unindent(edit *e);
void edit_toggle_comment(edit *e);

// Carries out an action of editing (moves, deletions, clipboard, undo …). false: it is none of
// these, or had no effect (then "down" in the last line can go to the next cell).
bool edit_act(edit *e, enum action a, buf *clipboard);
