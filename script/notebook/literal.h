// SPDX-License-Identifier: MIT
// Literals of Lua and Python as values, and back: what a parameter can be. Private to this folder.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"
#include "script/notebook/params.h"

#include <stdbool.h>

// Reads the literal at p: a number, a string, true, false, nil, or a table of literals, which may
// go over several lines. *value is new: a list as an array, a table with names as an object, null
// for nil. Returns its end; NULL: there is none (an expression, a table with places and names both,
// nil in a table).
const char *literal_read(const char *p, enum param_type *type, cJSON **value);
// Appends a value as Lua; a table stands on one line.
void literal_print(const cJSON *value, buf *out);
// The same for Python: tuples are lists, a mapping has texts as keys.
const char *pyliteral_read(const char *p, enum param_type *type, cJSON **value);
void pyliteral_print(const cJSON *value, buf *out);
enum param_type param_type_of(const cJSON *value);
// What parameters of a notebook in one language are written in.
struct literals {
    const char *(*read)(const char *p, enum param_type *type, cJSON **value);
    void (*print)(const cJSON *value, buf *out);
    const char *comment, *none; // the mark, and the word for nothing
    bool nulls;                 // may a list or mapping have nothing in it?
};
// Is there a null in a list or mapping? Lua's tables have none.
bool literal_has_null(const cJSON *value);
