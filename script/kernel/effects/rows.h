// SPDX-License-Identifier: MIT
// The objects that rows of displays stand for, which actions need. It folds the kernel's own
// events, for tables that list actions (doc/displays.md). So it knows every row that a client has
// seen. It lives on the loop's thread.
#pragma once
#include "base/err.h"
#include "base/json/json.h"

#include <stdint.h>

typedef struct rows rows;

rows *rows_new(void);
void rows_free(rows *r);
void rows_event(rows *r, const cJSON *event);
// A row as arguments for a binding: namespace, name, uid, and its `about`, which takes precedence;
// new. *in_cell: the cell above the display, borrowed. Errors: ERR_NOT_FOUND: no such display or
// row; ERR_USAGE: its table does not list the action.
cJSON *rows_subject(const rows *r, int64_t display, const char *action, const char *uid,
    const char **in_cell, err *e);
// Forgets a dropped peek, for which there is no event.
void rows_drop(rows *r, int64_t display);
