// SPDX-License-Identifier: MIT
// The rows of a table as JSON text, found by their "uid", in the order in which they came. It is
// for callers that keep thousands of rows and seldom read them: a row takes 0.4 KB as text, and 2
// KB as a tree (base/json/rowset.h).
#pragma once
#include "base/json/json.h"

typedef struct rowtexts rowtexts;

rowtexts *rowtexts_new(void);
void rowtexts_free(rowtexts *t); // NULL is fine
// Keeps a copy of the row: it replaces the one with the same uid, or goes to the end. Rows without
// a uid are not kept.
void rowtexts_put(rowtexts *t, const cJSON *row);
void rowtexts_drop(rowtexts *t, const char *uid); // NULL or an unknown uid does nothing
bool rowtexts_has(const rowtexts *t, const char *uid);
cJSON *rowtexts_get(const rowtexts *t, const char *uid); // new; NULL: no such row
cJSON *rowtexts_array(const rowtexts *t);                // all of them, new
