// SPDX-License-Identifier: MIT
// Prints the table of a display as text (doc/displays.md), for everything that shows one: the
// kernel, the command line, views. Plain functions on trees; nothing is owned.
//   columns: "NAME"
//            {"name": "NODE", "wide": true}: shown where there is room, with "late": true last
//            {"align": "right"}
//   entries: "Running"
//            {"since": "2026-01-02T03:04:05Z", "before": "3 (", "after": " ago)"}: an age, which
//            grows while the table is shown
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

#include <stddef.h>
#include <stdint.h>

const char *tabletext_column(const cJSON *column); // its name; "" when it has none
bool tabletext_is_wide(const cJSON *column);
bool tabletext_is_late(const cJSON *column);  // after all other wide ones
bool tabletext_is_right(const cJSON *column); // its entries are aligned right
// The entry of a row in column i. Rows come in three shapes: […], {"cells": […]}, {name: …}.
const cJSON *tabletext_cell(const cJSON *row, const cJSON *column, int i);
// Wall ns up to which the table's ages are counted: `now` while the table is live, afterwards the
// time of its last state ("at").
int64_t tabletext_now(const cJSON *table, bool live, int64_t now_wall);
// Appends an entry, its age counted up to now.
void tabletext_entry(const cJSON *entry, int64_t now_wall, buf *out);
// The time from which an entry's age counts; false: it has no age.
bool tabletext_since(const cJSON *entry, int64_t *wall_ns);
// An age as an entry: the text around it may be NULL. `since` is RFC 3339.
cJSON *tabletext_age(const char *before, const char *since, const char *after);

// The rows in the order that the table asks for in "order": by a column of ages, the youngest
// first, or TABLETEXT_SICK, the greatest "sick" first. Equal rows, and tables without an order,
// keep the order of arrival. Borrowed rows in a new array of *n.
#define TABLETEXT_SICK "sick"
const cJSON **tabletext_rows(const cJSON *table, size_t *n);
// Moves the rows that are sick to the front, the worst first; the others follow as they stood.
void tabletext_worst_first(const cJSON **rows, size_t n);
// Prints columns with three spaces between them, as kubectl does. Ages are counted up to now; wide
// columns are left out.
void tabletext_print(const cJSON *table, int64_t now_wall, buf *out);
// "53 pods: 2 CrashLoopBackOff, 48 Running, 3 Succeeded": the number of rows for each word in the
// column "count", first the words of the sickest rows, then the most frequent. Writes nothing if
// the table has no "count". The second form counts only the rows for which `counts` is true.
void tabletext_summary(const cJSON *table, buf *out);
void tabletext_summary_of(const cJSON *table, bool (*counts)(const cJSON *row, const void *arg),
    const void *arg, buf *out);
