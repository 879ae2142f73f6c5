// SPDX-License-Identifier: MIT
// What works wherever one is, because it is about the program and not about a view: actions, lines
// as vi has them (":w NAME"), and the document's file. Nothing is owned.
#pragma once
#include "tui/bench/bench.h"
#include "tui/edit/action.h"

bool command_act(bench *b, enum action a);    // false: it is none of these
bool command_does(enum action a);             // is it one of these?
bool command_run(bench *b, const char *line); // false: no such line
const char *command_help(const char *line);   // NULL: no such line

// saving.c. path: another file, NULL: its own; force: whatever is there; leave: after that.
void save_document(bench *b, const char *path, bool force, bool leave);
void reload_document(bench *b, bool leave);
