// SPDX-License-Identifier: MIT
// Lua literals as values, and back: what a parameter can be. Private to this folder.
#pragma once
#include "base/buf.h"
#include "base/json.h"
#include "script/notebook/params.h"

// Reads the literal at p: a number, a string, true, false, nil, or a table of literals, which may
// go over several lines. *value is new: a list as an array, a table with names as an object, null
// for nil. Returns its end; NULL: there is none (an expression, a table with places and names both,
// nil in a table).
const char *literal_read(const char *p, enum param_type *type, cJSON **value);
// Appends a value as Lua; a table stands on one line.
void literal_print(const cJSON *value, buf *out);
// Is there a null in a list or mapping? Lua's tables have none.
bool literal_has_null(const cJSON *value);
