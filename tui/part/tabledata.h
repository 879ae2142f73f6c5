// SPDX-License-Identifier: MIT
// The rows of a table display while they change: found by uid, filtered, sorted, with the widths of
// their columns. It owns copies of everything. A changed row costs one search and one move; the
// other rows are not touched.
//
//   by uid ──> row {cells, worth in the order} <── shown: those that match, in order
//   widths: how many entries of a column are how wide, so that the widest is known at any time
#pragma once
#include "base/json.h"
#include "tui/part/tablelayout.h"

#include <stddef.h>
#include <stdint.h>

struct table_row {
    struct table_row *next; // of its hash
    const char *uid;        // "" if the table's rows have none: then there are no actions on them
    const char *name;       // name for people
    int64_t created;        // wall ns, 0: unknown
    uint64_t number;        // its place in the order of arrival
    double worth;           // value of its entry in the sorting column
    bool shown, has_worth;
    const char *cells[TABLE_COLUMNS];
};

typedef struct tabledata tabledata;
tabledata *tabledata_new(void);
void tabledata_free(tabledata *t);
// Loads a whole table; filter and order stay. "age": the name of the column with the age of a row;
// "keep": the names of the columns that stay when there is no room for all.
void tabledata_load(tabledata *t, const cJSON *table);
// Rows by "uid", new or changed; a row with "deleted" is removed.
void tabledata_change(tabledata *t, const cJSON *rows);

int tabledata_columns(const tabledata *t);
const char *tabledata_column(const tabledata *t, int column);
int tabledata_width(const tabledata *t, int column); // width of its widest entry or its name
void tabledata_measure(const tabledata *t, struct table_column *out); // all of them
int tabledata_age(const tabledata *t); // the column of ages, -1: none

size_t tabledata_total(const tabledata *t);
size_t tabledata_count(const tabledata *t); // how many rows match
const struct table_row *tabledata_at(const tabledata *t, size_t i);
size_t tabledata_find(const tabledata *t, const char *uid); // SIZE_MAX: it is missing, or hidden

// As filter_match, on any entry of a row.
void tabledata_filter(tabledata *t, const char *pattern);
// Sorts by a column: by value, or by text in which numbers are compared as numbers. -1: in the
// order of arrival.
void tabledata_sort(tabledata *t, int column, bool reverse);
int tabledata_sorted(const tabledata *t, bool *reverse);
