// SPDX-License-Identifier: MIT
// Replaces ${lua expression} in a text by its value. "$${" is a literal "${"; everything else
// stays.
#pragma once
#include <lua.h>

// Pushes the filled-in text. Strings, numbers and booleans appear as printed, tables as JSON on one
// line. Raises "chunk:LINE: …" for an expression that does not compile, fails, or is nil; LINE
// counts from 1 + skipped.
void template_fill(lua_State *L, const char *text, int skipped, const char *chunk);
// The same, with the table at this stack index for the globals of its expressions.
void template_fill_with(lua_State *L, const char *text, int env, const char *chunk);
// What stands in a sketch for an expression that has no value yet.
enum template_blank {
    BLANK_SCALAR,  // a number, nothing where the expression is alone on its line
    BLANK_NUMBER,  // always a number
    BLANK_NOTHING, // always nothing
    BLANK_FIELD,   // "key": number behind "{" or ",", else a number
    BLANKS,        // so many are tried by a check
    BLANK_WORD     // always TEMPLATE_WORD: what YAML, and names, take anywhere
};
#define TEMPLATE_WORD "known-later"
// Pushes the text with the values that the globals of L give, and blanks where they give none:
// expressions that fail, or whose value is no text, number or boolean. Returns how many blanks.
int template_sketch(lua_State *L, const char *text, enum template_blank blank);
// Raises the same for the first expression that does not compile; evaluates none.
void template_check(lua_State *L, const char *text, int skipped, const char *chunk);
