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
// What a sketch contains in place of an expression that has no value yet.
enum template_blank {
    BLANK_SCALAR,  // a number; nothing if the expression is alone on its line
    BLANK_NUMBER,  // always a number
    BLANK_NOTHING, // always nothing
    BLANK_FIELD,   // "key": number behind "{" or ",", else a number
    BLANKS,        // number of kinds that a check tries
    BLANK_WORD     // always TEMPLATE_WORD, which YAML and names accept everywhere
};
#define TEMPLATE_WORD "known-later"
// Pushes the text with the values that L's globals give. An expression that fails, or whose value
// is not a text, number or boolean, becomes a blank. Returns the number of blanks.
int template_sketch(lua_State *L, const char *text, enum template_blank blank);
// Raises as above for the first expression that does not compile; evaluates none.
void template_check(lua_State *L, const char *text, int skipped, const char *chunk);
