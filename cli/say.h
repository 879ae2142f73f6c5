// SPDX-License-Identifier: MIT
// The only way to standard output and standard error, for all verbs. Nearly every line contains
// text of titles, files, servers or cells. So all text is made printable (base/printable.h), on a
// terminal and in a pipe, which may lead to a terminal. Only say_tone, say_redraw and say_file
// write other bytes. Messages on standard error quote arguments and servers, so secrets of the
// environment are masked there. Nothing is owned.
#pragma once
#include "base/json/json.h"
#include "cli/cli.h"

#include <stdio.h>

void say(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// Prints UTF-8 as the terminal can show it: without UTF-8, '?' replaces characters that are not
// ASCII.
void say_text(const struct cli *cli, FILE *to, const char *text, size_t n);
// Prints a tree as JSON, on one line or, with an indentation, on many.
void say_json(const cJSON *tree, int indent);
// Prints JSON text that is one line.
void say_json_line(const char *text, size_t n);
// Prints a document that was requested on standard output, byte for byte.
void say_file(const char *bytes, size_t n);

// Colours by meaning, valid up to the next tone; none if colours are off.
enum tone { TONE_PLAIN, TONE_BOLD, TONE_DIM, TONE_GOOD, TONE_BAD, TONE_WARN };
void say_tone(const struct cli *cli, enum tone t);
// Empties the terminal's current line, and returns to its start.
void say_redraw(FILE *to);
// Prints "firesteel: " to standard error, coloured if allowed.
void say_program(const struct cli *cli);
