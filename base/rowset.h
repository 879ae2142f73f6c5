// SPDX-License-Identifier: MIT
// The rows of a JSON array, found by their "uid": what tables that live are made of. It borrows the
// array, all changes of which go through it as long as it is there; rows without a uid are only
// added. It takes no more rows than it was made for, whatever is put.
#pragma once
#include "base/buf.h"
#include "base/json.h"

typedef struct rowset rowset;

// So many rows a live table has at most, everywhere: more than anybody reads, and of a pod's size
// (0.4 KB as text, 2 KB in memory) little enough to be kept in each place that keeps them.
enum { ROWSET_TABLE = 10000 };

// most: beyond it new rows are dropped; 0: there is no bound.
rowset *rowset_new(cJSON *rows, size_t most);
void rowset_free(rowset *s); // NULL is fine; the array stays
// Takes the row: in the place of the one of its uid, else at the end. false: it was dropped.
bool rowset_put(rowset *s, cJSON *row);
void rowset_drop(rowset *s, const char *uid); // NULL, or one that is not there: nothing
// The oldest row, which it has no more; NULL when there is none.
cJSON *rowset_take_first(rowset *s);
const cJSON *rowset_get(const rowset *s, const char *uid);
// A change as displays send it: a copy of the row is put, or, with "deleted": true, it is dropped.
void rowset_change(rowset *s, const cJSON *row);
// The line that stands below a table that does not show all there is: "… and 5 more objects are not
// shown". Nothing when more is 0.
void rowset_say_more(int64_t more, buf *out);
