// SPDX-License-Identifier: MIT
// The entries of a table display: their text, their value for sorting, and their colour. Tables
// come in three shapes, as displays do (display.lua, k8s/client/table.h):
//   {"columns": [name | {"name"}…], "rows": [[…] | {"cells": […]} | {name: …}…]}
#pragma once
#include "base/json.h"
#include "base/text/style.h"

const char *tablevalue_column(const cJSON *columns, int i); // its name, "" when there is none
// Text without control characters.
void tablevalue_entry(const cJSON *columns, const cJSON *row, int i, buf *out);
// How many columns a table has, of at most `most`.
int tablevalue_width(const cJSON *table, int most);
// Does the column with this name stay when there is no room for all? ("keep" lists them.)
bool tablevalue_keeps(const cJSON *table, const char *column);
// The column with the age of a row ("age" has its name), -1: none; below: the age of a row by its
// "created", false when it has none.
enum { AGE_WIDTH = 5 }; // "2m10s": a fixed width, so that the column does not jump
int tablevalue_age_column(const cJSON *table);
bool tablevalue_age(const cJSON *row, int64_t now, buf *out);
// Reads "12", "3.5", "40%", "1/2", "512Mi", "3h5m", "4 (2m ago)" as numbers for sorting; false for
// anything else.
bool tablevalue_worth(const char *words, double *worth);
// The colour for words that describe a state.
style tablevalue_look(const char *words);
