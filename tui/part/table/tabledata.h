// SPDX-License-Identifier: MIT
// The rows of a table display while they change: found by uid, filtered, sorted, with the widths of
// their columns. It owns copies of everything. A changed row costs one search and one move; the
// other rows are not touched.
//
//   by uid ──> row {cells, worth in the order} <── shown: those that match, in order
//   widths: how many entries of a column are how wide, so that the widest is known at any time
#pragma once
#include "base/json/json.h"
#include "tui/part/table/tablefilter.h"
#include "tui/part/table/tablelayout.h"

#include <stddef.h>
#include <stdint.h>

struct table_row {
    struct table_row *next; // of its hash
    const char *uid;        // "" when the table's rows have none: they cannot be acted on
    const char *name;       // for people
    const int64_t *since;   // of each entry: wall ns since when its age counts, or 0; NULL: no ages
    uint64_t number;        // in the order in which they came
    double worth;           // of its entry in the column that orders
    double sick;            // how much is wrong with it
    bool shown, has_worth;
    const char *cells[]; // of each column; of an age: the words before it
};
// Orders that belong to no column.
enum { TABLE_AS_IT_CAME = -1, TABLE_SICK_FIRST = -2 };

typedef struct tabledata tabledata;
tabledata *tabledata_new(void);
void tabledata_free(tabledata *t);
// Replaces all rows and columns. "natural" of the table: rows that no other order tells apart are
// ordered by their names. Of two rows with one uid the later counts. The filter stays, and
// so does the order that a person has chosen; before that, the table's "order" is used. "keep"
// lists the columns that stay when there is no room for all.
void tabledata_load(tabledata *t, const cJSON *table);
// Rows by "uid", new or changed; a row with "deleted" is removed.
void tabledata_change(tabledata *t, const cJSON *rows);

int tabledata_columns(const tabledata *t); // at most TABLE_COLUMNS; below: what it has beyond
int tabledata_left_columns(const tabledata *t);
const char *tabledata_column(const tabledata *t, int column);
bool tabledata_is_right(const tabledata *t, int column); // its entries stand at the right
int tabledata_width(const tabledata *t, int column);     // width of its widest entry or its name
void tabledata_measure(const tabledata *t, struct table_column *out); // all of them
bool tabledata_ages(const tabledata *t); // do entries grow while one looks?
// Writes an entry into `out`, over what was there. An age is counted up to now.
void tabledata_entry(const struct table_row *r, int column, int64_t now_wall, buf *out);

size_t tabledata_total(const tabledata *t);
size_t tabledata_count(const tabledata *t); // how many rows match
const struct table_row *tabledata_at(const tabledata *t, size_t i);
size_t tabledata_find(const tabledata *t, const char *uid); // SIZE_MAX: it is missing, or hidden

const struct table_row *tabledata_row(const tabledata *t, const char *uid); // also hidden; NULL
bool tabledata_has(const tabledata *t, const char *uid);                    // also hidden

// Shows the rows that pass (tablefilter.h). Ages are counted up to now; of rows that change later
// up to when they did.
void tabledata_filter(tabledata *t, const char *words, int64_t now_wall);
const struct tablefilter *tabledata_filtered(const tabledata *t);
// Sorts by a column: by its entries' values, or by their words if they have no value ("pod-9"
// before "pod-10"). Or by one of the orders above.
void tabledata_sort(tabledata *t, int column, bool reverse);
int tabledata_sorted(const tabledata *t, bool *reverse);
