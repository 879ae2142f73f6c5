// SPDX-License-Identifier: MIT
// A text being edited: text, cursor, selection, undo. Owns them all. Every change goes through
// here, so that undo knows it. The clipboard is the caller's, shared by all cells.
#pragma once
#include "tui/edit/action.h"
#include "tui/edit/cursor.h"
#include "tui/edit/indent.h"
#include "tui/edit/undo.h"

typedef struct edit edit;
edit *edit_new(const char *s, size_t n);
void edit_free(edit *e);
text *edit_text(edit *e);
// Replaces the whole text from outside (another client): undo starts anew, the cursor stays near.
void edit_reset(edit *e, const char *s, size_t n);

pos edit_cursor(const edit *e);
void edit_set_cursor(edit *e, pos p); // ends a selection
// true and its ends in order when something is selected.
bool edit_selection(const edit *e, pos *from, pos *to);
void edit_select(edit *e, pos from, pos to);                           // the cursor goes to `to`
void edit_set_page(edit *e, size_t lines);                             // for page movements
void edit_set_language(edit *e, const struct edit_language *language); // its words are borrowed

void edit_move(edit *e, enum move m, bool select);
// Inserts in place of the selection. Pasted text: CR LF and CR become newlines, other control
// bytes but tabs are dropped, broken UTF-8 becomes U+FFFD; one undo step.
void edit_insert(edit *e, const char *s, size_t n);
// The same for what a person types: a line that only closes a block moves out to where it belongs.
void edit_type(edit *e, const char *s, size_t n);
void edit_paste(edit *e, const char *s, size_t n);
// A new line with this one's indentation, deeper after "function …", "then", "do", "{", "(", ":".
void edit_newline(edit *e);
// Indents the selected lines or to the next stop; takes one step away.
void edit_indent(edit *e);
void edit_unindent(edit *e);
void edit_toggle_comment(edit *e);

// Does an action of editing (moves, deletions, clipboard, undo …); false when it is none of these
// or had no effect (so that the view may go to the next cell on "down" in the last line).
bool edit_act(edit *e, enum action a, buf *clipboard);
