// SPDX-License-Identifier: MIT
// What the rows of displays stand for, so that something can be done to them. It is a fold over the
// kernel's own events, of the tables that list actions (doc/displays.md): what a client has seen is
// known here. It lives on the loop's thread.
#pragma once
#include "base/err.h"
#include "base/json.h"

#include <stdint.h>

typedef struct rows rows;

rows *rows_new(void);
void rows_free(rows *r);
void rows_event(rows *r, const cJSON *event);
// A row, as arguments of the binding that is to do something to it: namespace, name, uid, and its
// `about`, which wins; new. *in_cell: below which it stands, borrowed. Errors: ERR_NOT_FOUND for
// what is not there, ERR_USAGE for an action that its table does not list.
cJSON *rows_subject(const rows *r, int64_t display, const char *action, const char *uid,
    const char **in_cell, err *e);
