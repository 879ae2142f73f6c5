// SPDX-License-Identifier: MIT
// One execution of one cell: a turn with the plan of the cell. The loop's thread makes it, the Lua
// thread runs it and fills in how it went, and the loop's thread reports and frees it. So it always
// has exactly one owner.
#pragma once
#include "base/json.h"
#include "script/kernel/effects/turn.h"
#include "script/notebook/notebook.h"
#include "script/notebook/plan.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct execution {
    turn turn;
    struct interp *interp; // the interpreter that has it
    char *chunk;           // the name of the cell in Lua's messages: its title, "cell 3" or "[5]"
    bool untitled;
    struct plan plan;        // how the cell is run
    int64_t timeout_ns;      // 0: none
    char *when;              // it runs if this Lua expression is true; NULL: it runs
    int retries;             // how often it may be run again
    int attempt;             // 1: the first one
    char *after;             // why the attempt before it failed, in one line; NULL: there was none
    bool given;              // it is the cell of given parameters, which is not counted
    bool tolerant;           // its error is what is expected of it (tag raises-exception)
    bool cleanup;            // something has failed, or was interrupted, before it
    cJSON *earlier;          // that: {cell, name, message}; NULL: nothing
    long count;              // the number of this execution in the run
    int64_t started;         // mono ns
    struct queue_item *item; // the session's, while it waits to follow another one
    struct execution *next;  // that follows it (interp_follow)
    cJSON *lost;             // names that earlier cells have as locals (locals.h); NULL: none
    cJSON *preflight;        // looked at before it runs: {"cells", "parameters"}; NULL: nothing is

    // Filled in by the Lua thread.
    int64_t ended;   // mono ns, if another one follows; 0: none does
    int64_t owed_ns; // at its end it does what it owes, in this time; 0: it owes nothing
    bool skipped;    // `when` was not true
    enum failure failure;
    char *name;       // of its error, in another language; NULL: that of the kind of failure
    char *message;    // the reason
    int line;         // in the cell, 0 when unknown
    cJSON *used;      // the globals that it read and wrote (reads.h); NULL: none
    cJSON *traceback; // strings, innermost first; NULL: none
} execution;

// Makes the execution of cell i; -1 and the reason, with its line in `*line`, when the cell's
// magics are wrong.
execution *execution_new(const notebook *nb, size_t i, err *e);
// An untitled cell is called by the number of its execution, as its title row in the workbench is.
void execution_call_by_count(execution *x);
void execution_free(execution *x);
