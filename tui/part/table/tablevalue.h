// SPDX-License-Identifier: MIT
// The entries of a table display: their text, their value for sorting, and their colour. Tables
// come in three shapes, as displays do (display.lua, k8s/client/watch/table.h):
//   {"columns": [name | {"name"}…], "rows": [[…] | {"cells": […]} | {name: …}…]}
#pragma once
#include "base/json/json.h"
#include "base/text/style.h"

const char *tablevalue_column(const cJSON *columns, int i); // its name, "" when there is none
void tablevalue_clean(buf *words); // control characters give way to what may be shown
// Text without control characters; an age is counted up to now.
void tablevalue_entry(const cJSON *columns, const cJSON *row, int i, int64_t now, buf *out);
// The columns it takes; an age takes AGE_WIDTH ("2m10s"), so that none jumps while they grow.
enum { AGE_WIDTH = 5 };
int tablevalue_entry_width(const cJSON *columns, const cJSON *row, int i);
// How many columns a table has, of at most `most`.
int tablevalue_width(const cJSON *table, int most);
// Does the column with this name stay when there is no room for all? ("keep" lists them.)
bool tablevalue_keeps(const cJSON *table, const char *column);
// "12", "3.5", "40%", "1/2", "512Mi", "3h5m", "4 (2m ago)", "0.5*" as numbers that order as they
// should; false for anything else.
bool tablevalue_worth(const char *words, double *worth);
// The colour for words that describe a state.
style tablevalue_look(const char *words);
