// SPDX-License-Identifier: MIT
// One cell of a notebook as a plain struct, and the options that its marker line may carry.
// A cell belongs to its notebook; callers read it and edit through notebook.h.
#pragma once
#include "base/data/digest.h"
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

bool option_is_ours(const char *name); // is it the name of an option of ours, as "file"?
// The checked options of the marker line. Absent options are NULL or 0.
struct cell_options {
    char *file;         // the body is written to this file
    char *template_;    // the same, with ${lua expression} filled in
    char *language;     // "bash", "yaml", …; NULL is the notebook's, which is Lua or another
    char *kernel;       // the name of the Jupyter kernel that runs it
    char *capture;      // name of the variable that takes the output
    char **tags;        // NULL-terminated, or NULL
    char *strange;      // the first option of none that we know: other tools' in their languages
    int64_t timeout_ns; // 0: none
    int retries;        // how often it is run again after a failure
    char *when;         // "always", "failed" or a Lua expression; NULL: while nothing failed
    double tolerance;   // by which numbers may differ when the run is repeated; 0: not at all
    char **inputs;      // files that a bash cell reads, NULL-terminated; NULL: undeclared
    char **outputs;     // files that it writes, also NULL-terminated
    char **effects;     // NULL-terminated: "local", "cluster", "destructive"; NULL: undeclared
    bool unclear;       // they cannot be read, and what is wrong may tell what the cell's text is
};

typedef struct cell {
    char *id;     // unique in the notebook, set by loading
    bool id_kept; // saving writes it, because the file had one
    cell_kind kind;
    char *title;  // NULL if none
    char *marker; // the text after "%%": title, [markdown] or [raw], options; "" if none
    struct cell_options options;
    char *problem; // what is wrong with the marker, NULL: nothing; if set, the cell cannot be
                   // executed
    // The source as people see and edit it: without the comment marks that text, other languages
    // and %magics have in the file; no newline after the last line.
    char *source;
    int line;               // 1-based line of its marker in the file; 0: it was never in a file
    int first_line;         // 1-based line of the source's first line in the file; 0: as above
    struct cell_kept *kept; // what loading keeps for saving; only this folder uses it
} cell;

bool cell_has_tag(const cell *c, const char *tag);
// The digest by which a text is known to be the one that ran; without newlines at its end, which an
// .ipynb may have and a text file has elsewhere.
void cell_digest(const char *source, size_t n, char hex[SHA256_HEX]);
// Is the body a comment in the file: text, or a language other than Lua?
bool cell_is_commented(const cell *c);
