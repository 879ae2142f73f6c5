// SPDX-License-Identifier: MIT
// The entries of a table display: their text, what they are worth in an order, and their colour.
// Tables come in three shapes, as displays do (display.lua, k8s/client/table.h):
//   {"columns": [name | {"name"}…], "rows": [[…] | {"cells": […]} | {name: …}…]}
#pragma once
#include "base/json.h"
#include "base/text/style.h"

const char *tablevalue_column(const cJSON *columns, int i); // its name, "" when there is none
// Text without control characters.
void tablevalue_entry(const cJSON *columns, const cJSON *row, int i, buf *out);
// How many columns a table has, of at most `most`.
int tablevalue_width(const cJSON *table, int most);
// Does a column of this name stay when there is no room for all? ("keep" has them.)
bool tablevalue_keeps(const cJSON *table, const char *column);
// The column that says how old a row is ("age" has its name), -1: none; and that age of a row by
// its "created", false when it has none.
enum { AGE_WIDTH = 5 }; // "2m10s": a column that does not jump while they grow
int tablevalue_age_column(const cJSON *table);
bool tablevalue_age(const cJSON *row, int64_t now, buf *out);
// "12", "3.5", "40%", "1/2", "512Mi", "3h5m", "4 (2m ago)" as numbers that order as they should;
// false for anything else.
bool tablevalue_worth(const char *words, double *worth);
// Words that say how something is have the colour that says so.
style tablevalue_look(const char *words);
