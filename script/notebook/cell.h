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
    char **effects;     // NULL-terminated: "local", "cluster", "destructive"; NULL: undeclared
};

typedef struct cell {
    char *id;     // unique in the notebook, from load on
    bool id_kept; // it is written to the file, because the file had one
    cell_kind kind;
    char *title;  // NULL if none
    char *marker; // title and options as written after "%%" and the kind, "" if none
    struct cell_options options;
    // As people see and edit it: without comment marks for text and for languages that are not Lua;
    // no newline at the end.
    char *source;
    int line;       // 1-based line of its marker in the file, 0 for one that was never in a file
    int first_line; // 1-based line in the file of the source's first line
    // What loading kept for saving; nobody else looks.
    struct {
        char *text; // its bytes as they stand in the file, NULL once it was edited
        size_t n;
        int blank;      // blank lines after it
        char *metadata; // JSON of .ipynb metadata and attachments that no option shows
        char *outputs;  // JSON array of outputs an .ipynb came with
        long execution_count;
        bool bare; // its magics stand uncommented
    } raw;
} cell;

bool cell_has_tag(const cell *c, const char *tag);
