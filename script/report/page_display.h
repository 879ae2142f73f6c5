// SPDX-License-Identifier: MIT
// What a display's bundle holds (doc/displays.md), for all reports. What is handed out is borrowed.
#pragma once
#include "base/buf.h"
#include "base/json.h"

#define PAGE_KIND(name) "application/vnd.firesteel." name "+json"

const cJSON *page_table(const cJSON *data); // of rows or pods; NULL: none
// Columns of a table whose n rows are given; rows without columns have as many entries as the
// longest.
int page_table_width(const cJSON *table, const cJSON **rows, size_t n);
// Appends the lines below a table: its summary, how many rows it lacks, its note.
void page_table_below(const cJSON *table, buf *out);
