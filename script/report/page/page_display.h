// SPDX-License-Identifier: MIT
// The contents of a display's bundle (doc/displays.md), for all reports. Results are borrowed.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

#define PAGE_KIND(name) "application/vnd.firesteel." name "+json"

const cJSON *page_table(const cJSON *data); // of rows or pods; NULL: none
// The columns of a table with these n rows; without declared columns there are as many as the
// longest row has entries.
int page_table_width(const cJSON *table, const cJSON **rows, size_t n);
// Appends the lines below a table: its summary, the number of missing rows, its note.
void page_table_below(const cJSON *table, buf *out);
