// SPDX-License-Identifier: MIT
// One cell of a notebook as a plain struct, and the options that its marker line may carry.
// A cell belongs to its notebook; callers read it and edit through notebook.h.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CELL_KINDS(X)                                                                              \
    X(CODE, "code")                                                                                \
    X(MARKDOWN, "markdown")                                                                        \
    X(RAW, "raw")

typedef enum cell_kind {
#define X(name, text) CELL_##name,
    CELL_KINDS(X)
#undef X
} cell_kind;

const char *cell_kind_name(cell_kind kind);

// What stands between "%%" and the end of the marker line, checked. Absent options are NULL or 0.
struct cell_options {
    char *file;         // the body is written to this file
    char *template_;    // the same, with ${lua expression} filled in
    char *language;     // "bash", "yaml", …; NULL is Lua
    char *capture;      // name of the variable that takes the output
    char **tags;        // NULL-terminated, or NULL
    int64_t timeout_ns; // 0: none
    char **inputs;      // files that a bash cell reads, NULL-terminated; NULL: undeclared
    char **outputs;     // and those that it writes, likewise
    char **effects;     // NULL-terminated: "local", "cluster", "destructive"; NULL: undeclared
};

typedef struct cell {
    char *id;     // unique in the notebook, from load on
    bool id_kept; // it is written to the file, because the file had one
    cell_kind kind;
    char *title;  // NULL if none
    char *marker; // what stands after "%%": title, [markdown] or [raw], options; "" if nothing
    struct cell_options options;
    char *problem; // what is wrong with the marker, NULL: nothing; such a cell cannot be executed
    // As people see and edit it: lines without the comment marks that text, other languages and
    // %magics have in the file; no newline after the last one.
    char *source;
    int line;       // 1-based line of its marker in the file, 0 for one that was never in a file
    int first_line; // 1-based line in the file of the source's first line, likewise
    struct cell_kept *kept; // what loading keeps for saving; nobody else looks
} cell;

bool cell_has_tag(const cell *c, const char *tag);
// Does the body stand in the file as comments: text, or a language that is not Lua?
bool cell_is_commented(const cell *c);
