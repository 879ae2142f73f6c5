// SPDX-License-Identifier: MIT
// The rows of a JSON array, found by their "uid": what tables that live are made of. It borrows the
// array, all changes of which go through it as long as it is there; rows without a uid are only
// added.
#pragma once
#include "base/json.h"

typedef struct rowset rowset;

rowset *rowset_new(cJSON *rows);
void rowset_free(rowset *s); // NULL is fine; the array stays
// Takes the row: in the place of the one of its uid, else at the end.
void rowset_put(rowset *s, cJSON *row);
void rowset_drop(rowset *s, const char *uid); // NULL, or one that is not there: nothing
const cJSON *rowset_get(const rowset *s, const char *uid);
// A change as displays send it: a copy of the row is put, or, with "deleted": true, it is dropped.
void rowset_change(rowset *s, const cJSON *row);
