// SPDX-License-Identifier: MIT
// What terminfo says of a type of terminal, without opening one: for `firesteel doctor`.
#pragma once
#include "base/err.h"
#include "tui/term/terminfo.h"

#include <stdbool.h>

struct term_facts {
    int colors;  // 0: none; 1 << 24: of all kinds
    bool mouse;  // terminfo has a mouse
    bool screen; // it can move its cursor and clear: enough for the workbench
};
// Errors: ERR_NOT_FOUND: terminfo does
// not know the type. Call it before a terminal is opened.
int term_facts(const char *type, const struct terminfo *own, struct term_facts *facts, err *e);
