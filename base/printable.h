// SPDX-License-Identifier: MIT
// Makes foreign text safe for a terminal: nothing in it can move the cursor, rename the window,
// copy or hide anything. Pure functions; nothing is owned.
#pragma once
#include "base/buf.h"

#include <stddef.h>

// Appends text with its control characters written out: "^[" for ESC, "^?" for DEL, "<U+009B>" for
// a control character of C1, "<U+202E>" for the marks that change the direction of writing
// (U+202A–202E, U+2066–2069), "<9B>" for a byte that is not UTF-8. Line breaks and tabs stay; the
// carriage return before a line break goes.
void printable(buf *out, const char *text, size_t n);
// The same for JSON text, whose meaning must not change: raw control characters in its strings
// become escapes ("\u009b").
void printable_json(buf *out, const char *text, size_t n);
