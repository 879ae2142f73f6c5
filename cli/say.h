// SPDX-License-Identifier: MIT
// What the verbs say to people: the one way to standard output and standard error. Texts of titles,
// files, servers and cells are a part of nearly every line, so all of it is made printable
// (base/printable.h), on a terminal and in a pipe, which may lead to one; only say_tone,
// say_redraw and say_file write something else. Nothing is owned.
#pragma once
#include "base/json.h"
#include "cli/cli.h"

#include <stdio.h>

void say(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// UTF-8 as the terminal can show it: others see '?' for what is not ASCII.
void say_text(const struct cli *cli, FILE *to, const char *text, size_t n);
// A tree as JSON, on one line or, with an indentation, on many.
void say_json(const cJSON *tree, int indent);
// A document that somebody asked for on standard output, byte by byte.
void say_file(const char *bytes, size_t n);

// Colours by what they say, up to the next tone; none where there are none.
enum tone { TONE_PLAIN, TONE_BOLD, TONE_DIM, TONE_GOOD, TONE_BAD, TONE_WARN };
void say_tone(const struct cli *cli, enum tone t);
// Begins the terminal's present line anew.
void say_redraw(void);
// "firesteel: " on standard error, coloured where that is right.
void say_program(const struct cli *cli);
