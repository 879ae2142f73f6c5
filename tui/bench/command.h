// SPDX-License-Identifier: MIT
// Commands that work in every view, because they concern the program: actions, lines like vi's
// (":w NAME"), and the document's file. Nothing is owned.
#pragma once
#include "tui/bench/bench.h"
#include "tui/edit/action.h"

bool command_act(bench *b, enum action a);        // false: not one of these
bool command_does(const bench *b, enum action a); // is the action one of these, here and now?
// Does it need a notebook, when none is open?
bool command_is_early(const bench *b, enum action a);
bool command_run(bench *b, const char *line); // false: no such line
const char *command_help(const char *line);   // NULL: no such line
// The name of the i-th line, and what it does; NULL after the last.
const char *command_nth(size_t i, const char **help);
bool command_takes_words(size_t i);            // may words stand behind it?
bool command_offers(const bench *b, size_t i); // can it be done now? Little can without a notebook

// saving.c. path: another file, NULL: its own. force: overwrite anything. leave: leave afterwards.
void show_difference(bench *b); // between the file and what is here, on a page
void save_document(bench *b, const char *path, bool force, bool leave);
void reload_document(bench *b, bool leave);
// Is the line the name of a person's own command on a row (config.yaml)? Does it to the row of the
// view on top.
bool command_is_own(const bench *b, const char *words);
void own_command(bench *b, const char *name);
