// SPDX-License-Identifier: MIT
// What the entries of columns are, added one after another: how often each value of one column is
// there, or of every column its kind, least, greatest, mean. It owns copies of what it keeps, which
// is bounded however many entries there are.
#pragma once
#include "base/json/json.h"

#include <stdint.h>

// How often each value is there. Beyond SURVEY_VALUES different ones, further ones count together.
enum { SURVEY_VALUES = 200000, SURVEY_WORDS = 1024 };
typedef struct frequency frequency;
frequency *frequency_new(void);
void frequency_free(frequency *f); // NULL is fine
void frequency_add(frequency *f, const char *words);
// The table of them, the most frequent first: VALUE, COUNT, %, and a bar. At most `most` rows.
cJSON *frequency_table(const frequency *f, const char *column, size_t most);

// One column's entries. Numbers are those of tablevalue_worth, dates begin YYYY-MM. A median is
// exact up to STATISTICS_SAMPLE numbers, then that of a sample ("~").
enum { STATISTICS_SAMPLE = 20000, STATISTICS_VALUES = 1000 };
typedef struct statistics statistics;
statistics *statistics_new(void);
void statistics_free(statistics *s); // NULL is fine
void statistics_add(statistics *s, const char *words);
// Adds a row {"uid": number, "cells"} for the column to a table that statistics_table has made.
cJSON *statistics_table(void);
void statistics_row(const statistics *s, cJSON *table, const char *column, int number);
