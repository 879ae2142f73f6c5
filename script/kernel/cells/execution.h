// SPDX-License-Identifier: MIT
// One execution of one cell: a turn, and what running the cell means. The loop's thread makes it,
// the Lua thread runs it and fills in how it went, the loop's thread reports and frees it: it
// always has exactly one owner.
#pragma once
#include "base/json.h"
#include "script/kernel/effects/turn.h"
#include "script/notebook/notebook.h"
#include "script/notebook/plan.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct execution {
    turn turn;
    struct interp *interp; // that has it
    char *chunk;           // what Lua calls it in messages: its title, or "cell 3"
    struct plan plan;      // what running it means
    int64_t timeout_ns;    // 0: none
    long count;            // the how-manieth execution of the run
    int64_t started;       // mono ns

    // Filled in by the Lua thread.
    enum failure failure;
    char *message;    // why
    int line;         // in the cell, 0 when unknown
    cJSON *traceback; // strings, innermost first; NULL: none
} execution;

// Of cell i; -1 and the reason, with its line in `*line`, when its magics are not right.
execution *execution_new(const notebook *nb, size_t i, err *e);
void execution_free(execution *x);
