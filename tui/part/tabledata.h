// SPDX-License-Identifier: MIT
// The rows of a table display while they change: found by uid, filtered, in order, with the widths
// of their columns. It owns copies of all it has. What a changed row costs is a search and a move,
// not a look at all rows.
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
    const char *uid;        // "" when the table's rows have none: they cannot be acted on
    const char *name;       // for people
    int64_t created;        // wall ns, 0: not known
    uint64_t number;        // in the order in which they came
    double worth;           // of its entry in the column that orders
    bool shown, has_worth;
    const char *cells[TABLE_COLUMNS];
};

typedef struct tabledata tabledata;
tabledata *tabledata_new(void);
void tabledata_free(tabledata *t);
// All anew; filter and order stay. "age": name of the column that says how old a row is; "keep":
// names of those that stay when there is no room for all.
void tabledata_load(tabledata *t, const cJSON *table);
// Rows by "uid": new or changed; one with "deleted" goes.
void tabledata_change(tabledata *t, const cJSON *rows);

int tabledata_columns(const tabledata *t);
const char *tabledata_column(const tabledata *t, int column);
int tabledata_width(const tabledata *t, int column); // of its widest entry or its name
void tabledata_measure(const tabledata *t, struct table_column *out); // all of them
int tabledata_age(const tabledata *t); // the column of ages, -1: none

size_t tabledata_total(const tabledata *t);
size_t tabledata_count(const tabledata *t); // of those that match
const struct table_row *tabledata_at(const tabledata *t, size_t i);
size_t tabledata_find(const tabledata *t, const char *uid); // SIZE_MAX: not there, or hidden

// As filter_match, on any entry of a row.
void tabledata_filter(tabledata *t, const char *pattern);
// By a column's worth, else its words with numbers in them counted; -1: in the order they came.
void tabledata_sort(tabledata *t, int column, bool reverse);
int tabledata_sorted(const tabledata *t, bool *reverse);
