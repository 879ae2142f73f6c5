// SPDX-License-Identifier: MIT
// The rows of a JSON array, found by their "uid", for live tables. It borrows the array. As long as
// the rowset exists, change the array only through it. Rows without a uid, or with an empty one,
// are only added. It never holds more rows than `most`.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

typedef struct rowset rowset;

// The most rows of any live table. It is more than anybody reads, and low enough for each place
// that keeps a copy (a pod takes 0.4 KB as text, 2 KB in memory).
enum { ROWSET_TABLE = 10000 };

// most: new rows beyond this number are dropped; 0: no limit. If several rows in the array have the
// same uid, the last one takes the place of the first, and the others are freed.
rowset *rowset_new(cJSON *rows, size_t most);
void rowset_free(rowset *s); // NULL is fine; the array stays
// Takes the row: it replaces the one with the same uid, else it goes to the end. false: it was
// dropped.
bool rowset_put(rowset *s, cJSON *row);
void rowset_drop(rowset *s, const char *uid); // NULL or an unknown uid does nothing
// Removes the oldest row and returns it, which the caller then owns; NULL: the set is empty.
cJSON *rowset_take_first(rowset *s);
const cJSON *rowset_get(const rowset *s, const char *uid);
// Applies a change as displays send it: puts a copy of the row, or drops the row if it has
// "deleted": true.
void rowset_change(rowset *s, const cJSON *row);
// Writes the line below a table that was cut: "… and 5 more rows are not shown". Writes nothing
// when more is 0.
void rowset_say_more(int64_t more, buf *out);
