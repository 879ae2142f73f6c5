// SPDX-License-Identifier: MIT
// One execution of one cell. The loop's thread makes it, the Lua thread runs it and fills in how it
// went, the loop's thread reports and frees it: it always has exactly one owner.
#pragma once
#include "base/json.h"
#include "script/notebook/notebook.h"
#include "script/notebook/plan.h"

#include <stdbool.h>
#include <stdint.h>

// Why a cell failed; the names are those of message.def's error, the codes what `run` exits with.
#define FAILURES(X)                                                                                \
    X(NONE, "", 0)                                                                                 \
    X(ERROR, "error", 1)                                                                           \
    X(SYNTAX, "syntax", 1)                                                                         \
    X(ASSERTION, "assertion", 1)                                                                   \
    X(MEMORY, "memory", 1)                                                                         \
    X(REFUSED, "refused", 3)                                                                       \
    X(TIMEOUT, "timeout", 4)                                                                       \
    X(INTERRUPTED, "interrupted", 130)

enum failure {
#define X(name, text, exit) FAILURE_##name,
    FAILURES(X)
#undef X
};
const char *failure_name(enum failure f);
int failure_exit(enum failure f);

typedef struct execution {
    char *cell;         // its id
    char *chunk;        // what Lua calls it in messages: its title, or "cell 3"
    char hash[65];      // SHA-256 of its source
    struct plan plan;   // what running it means
    int64_t timeout_ns; // 0: none
    unsigned declared;  // effects it declares, as bits; 0: it declares none
    long count;         // the how-manieth execution of the run
    int64_t started;    // mono ns

    // Filled in by the Lua thread.
    enum failure failure;
    char *message;    // why
    int line;         // in the cell, 0 when unknown
    cJSON *traceback; // strings, innermost first; NULL: none
    int64_t effects;  // effect calls so far
    int64_t verified; // of these, how many were verified instead of done
} execution;

// Of cell i; -1 and the reason, with its line in `*line`, when its magics are not right.
execution *execution_new(const notebook *nb, size_t i, err *e);
void execution_free(execution *x);
