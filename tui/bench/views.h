// SPDX-License-Identifier: MIT
// Opens views, each on top of the open ones. A view owns copies of what it is given, and is closed
// by view_pop.
#pragma once
#include "tui/bench/slots.h"
#include "tui/bench/view.h"

void notebook_push(bench *b);
// ":s/old/new/flags" in it, in all cells or where it is (notebook/replace.c).
void notebook_substitute(view *v, const char *words, bool all);
// Where cells are inserted: below the selected one.
size_t notebook_place(const view *v);
// ":rename NEW": the name at the cursor, in all cells of its language.
void notebook_rename(view *v, const char *with);
void help_push(bench *b, const char *words); // words: what is searched for in it, "" for nothing
// The first place in which an action has keys, and these keys; NULL: there is none.
const char *help_place(const bench *b, enum action a, char *keys, size_t size);
enum prompt { PROMPT_PALETTE, PROMPT_SEARCH };
void prompt_push(bench *b, enum prompt what, const char *line); // with this text typed already
// Does an action as the palette does: where it does nothing, a notice says where it works.
void prompt_do(bench *b, enum action a);

// Questions to a person: an open question of the kernel, what to do with unsaved changes, and with
// a file that exists already, or was written by another program. known: the person has opened it
// and has seen it before, or it is for a text; leave: leaves after saving.
void ask_push(bench *b, int64_t ask, bool known);
void leave_push(bench *b);
// Before an action that would end or lose something; about: what the person agrees to (loss.h).
void confirm_push(bench *b, enum action a, const char *title, const char *words, const char *about);
void conflict_push(bench *b, const char *path, bool exists, bool leave);

// Opens the list of names for a slot's cursor, from the kernel's reply; a single name is inserted
// at once.
void complete_push(bench *b, struct slot *s, pos from, const cJSON *reply);
void inspect_push(bench *b, const char *words); // the description of a name

void properties_push(bench *b, struct slot *s); // the form of a cell's properties

void page_push(bench *b, size_t at); // all outputs of a cell
void page_push_display(bench *b, int64_t display);
// A peek: a text (words), or a log. It is dropped with its view, unless it is pinned.
void page_push_peek(bench *b, int64_t display, const char *title, const char *words);
// The log that was asked for so (cluster/objectlogs.h; takes the wish): in place of a log on top
// that was opened in this way, else on top.
void page_push_log(bench *b, int64_t display, cJSON *wish);
// A live table on the full screen, with a cursor, a filter, an order and its actions.
void table_push(bench *b, int64_t display);
// A table that is only looked at: the display is dropped with the view. Takes the arguments that it
// was asked for with; without a kind it is no table of a cluster's objects.
void table_push_peek(bench *b, int64_t display, cJSON *with);
// The same in place of a table on top (which ends), with its filter and order.
void table_replace_peek(view *top, int64_t display, cJSON *with);
// The kind of the objects in a table of the cluster desk; NULL: the view is no such table.
const char *table_kind(const view *v);
int64_t table_display(const view *v); // that it shows; 0: it is no table
// Progress and curves on the full screen.
void chart_push(bench *b, int64_t display);

// A table in a file. alone: nothing else is open, and whoever closes it leaves. Errors: the file is
// of no kind that can be shown, or cannot be read.
int file_push(bench *b, const char *path, bool alone, err *e);

// The runs of this notebook; and two of them side by side, as runs_row has them.
void runs_push(bench *b);
void compare_push(bench *b, const char *folder, const char *a, const char *b_);

// Several runs or trials ("RUN", "RUN/NAME") as a table of parameters and metrics; and their
// metrics in a chart (runs NULL: the open run), with trials if there is one run.
void beside_push(bench *b, const char *folder, char *const *runs);
void metrics_push(bench *b, const char *folder, char *const *runs);
void metrics_push_own(bench *b);

// For the documentation, which is generated from their keys.
extern const struct view_ops notebook_view_ops, page_view_ops, help_view_ops, prompt_view_ops,
    ask_view_ops, pick_view_ops, table_view_ops, chart_view_ops, leave_view_ops, conflict_view_ops,
    runs_view_ops, removal_view_ops, compare_view_ops, complete_view_ops, inspect_view_ops,
    properties_view_ops, confirm_view_ops, replace_view_ops, outline_view_ops, marks_view_ops,
    survey_view_ops, form_view_ops, csv_view_ops, file_view_ops, metrics_view_ops, choose_view_ops,
    beside_view_ops;
extern const struct view_ops problem_view_ops;
