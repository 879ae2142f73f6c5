// SPDX-License-Identifier: MIT
// The Tables that a watch is answered with, and their columns, which the watch owns. An object
// comes in a row of one, beside the cells that the server prints for it:
//   {"kind": "Table", "columnDefinitions": […], "rows": [{"cells": […], "object": {…}}, …]}
// In a watch each frame has a Table of one row, and mostly only the first has the definitions. {0}:
// no Tables are wanted.
#pragma once
#include "base/json/json.h"

#include <stdbool.h>

struct watch_table {
    bool wanted, refused; // the server does not give any
    bool told;            // a list has been answered
    cJSON *columns;       // of it; NULL: the server makes none
};
void watch_table_done(struct watch_table *t);
// Are Tables to be asked for?
bool watch_table_asks(const struct watch_table *t);
// Takes the columns of a list. true: they are the first, or others than before.
bool watch_table_take(struct watch_table *t, const cJSON *list);
// Does a frame have other columns than the list?
bool watch_table_changes(const struct watch_table *t, const cJSON *frame);
// The object of a Table's only row, or the answer itself, borrowed; *cells are its.
cJSON *watch_table_object(const struct watch_table *t, cJSON *answer, const cJSON **cells);
