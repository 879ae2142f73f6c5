// SPDX-License-Identifier: MIT
// One execution of one cell: a turn with the plan of the cell. The loop's thread makes it, the Lua
// thread runs it and records the outcome, and the loop's thread reports it and frees it. So exactly
// one thread owns it at any time.
#pragma once
#include "base/json/json.h"
#include "script/kernel/effects/turn.h"
#include "script/notebook/notebook.h"
#include "script/notebook/plan.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct execution {
    turn turn;
    struct interp *interp; // the interpreter that runs it
    char *chunk;           // the name of the cell in Lua's messages: its title, "cell 3" or "[5]"
    bool untitled;
    struct plan plan;        // how the cell is run
    int64_t timeout_ns;      // 0: none
    char *when;              // Lua expression: runs only if it is true; NULL: always runs
    int retries;             // how often it may be tried again after a failure
    int attempt;             // 1: the first one
    char *after;             // why the attempt before failed, in one line; NULL: first attempt
    bool given;              // it is the cell of the given parameters, which is not counted
    bool tolerant;           // its error is expected (tag raises-exception)
    bool cleanup;            // something failed, or was interrupted, before it
    cJSON *earlier;          // what failed: {cell, name, message}; NULL: nothing
    long count;              // the number of this execution in the run
    int64_t started;         // mono ns
    struct queue_item *item; // the session's, for an execution that waits to follow another
    struct execution *next;  // the one that follows it (interp_follow)
    cJSON *lost;             // names that earlier cells have as locals (locals.h); NULL: none
    cJSON *preflight;        // looked at before it runs: {"cells", "parameters"}; NULL: nothing is

    // Filled in by the Lua thread.
    int64_t ended;   // mono ns, set if another one follows; 0: none does
    int64_t owed_ns; // time for the deferred functions at its end (deeds.h); 0: there are none
    bool skipped;    // `when` was not true
    enum failure failure;
    char *name;       // name of its error in another language; NULL: the name of the failure's kind
    char *message;    // the reason
    int line;         // in the cell, 0 when unknown
    cJSON *used;      // the globals that it read and wrote (reads.h); NULL: unknown
    cJSON *traceback; // traceback, innermost frame first; NULL: none
} execution;

// Makes the execution of cell i; -1 and the reason, with its line in `*line`, when the cell's
// magics are wrong.
execution *execution_new(const notebook *nb, size_t i, err *e);
// The name of an untitled cell: the number of its execution, as in its title row in the workbench.
void execution_call_by_count(execution *x);
void execution_free(execution *x);
