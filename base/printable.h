// SPDX-License-Identifier: MIT
// Foreign text as a terminal may be given it: nothing in it moves, renames, copies or hides
// anything. Pure functions; nothing is owned.
#pragma once
#include "base/buf.h"

#include <stddef.h>

// Appends text with its control characters written out: "^[" for ESC, "^?" for DEL, "<U+009B>" for
// those of C1, "<U+202E>" for what turns the direction of writing (U+202A–202E, U+2066–2069),
// "<9B>" for a byte that is not UTF-8. Line breaks and tabs stay; the carriage return before a line
// break goes.
void printable(buf *out, const char *text, size_t n);
// The same for the text of JSON, which must keep its meaning: what may stand raw in its strings is
// escaped ("\u009b").
void printable_json(buf *out, const char *text, size_t n);
