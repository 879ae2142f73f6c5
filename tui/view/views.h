// SPDX-License-Identifier: MIT
// Opens views, each on top of those that are open. A view owns copies of what it is given, and goes
// by view_pop.
#pragma once
#include "tui/bench/slots.h"
#include "tui/view/view.h"

void notebook_push(bench *b);
void help_push(bench *b);
// The first place in which an action has keys, and these keys; NULL: in none.
const char *help_place(enum action a, char *keys, size_t size);
enum prompt { PROMPT_PALETTE, PROMPT_SEARCH };
void prompt_push(bench *b, enum prompt what, const char *line); // with that typed already

// What a person is asked: an open question of the kernel, what becomes of unsaved changes, and of a
// file that is there (exists), or was written by another program. leave: after it is saved.
void ask_push(bench *b, int64_t ask);
void leave_push(bench *b);
void conflict_push(bench *b, const char *path, bool exists, bool leave);

// Names that could stand at a slot's cursor, from the kernel's reply; a single one is inserted.
void complete_push(bench *b, struct slot *s, pos from, const cJSON *reply);
void inspect_push(bench *b, const char *words); // what a name is

void page_push(bench *b, size_t at); // all that a cell has left
void page_push_display(bench *b, int64_t display);
void page_push_text(bench *b, const char *title, const char *words);
// A peek: a text (words), or a log. It goes with its view, unless it is pinned.
void page_push_peek(bench *b, int64_t display, const char *title, const char *words);
// A live table on the full screen, with a cursor, a filter, an order and the actions it names.
void table_push(bench *b, int64_t display);
// Progress and curves on the full screen.
void chart_push(bench *b, int64_t display);

// For the documentation, which is made from their keys.
extern const struct view_ops notebook_view_ops, page_view_ops, help_view_ops, prompt_view_ops,
    ask_view_ops, pick_view_ops, table_view_ops, chart_view_ops, leave_view_ops, conflict_view_ops,
    complete_view_ops, inspect_view_ops;
