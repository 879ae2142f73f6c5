// SPDX-License-Identifier: MIT
// What a cell is, as a form of texts that a person fills in: read from a marker (and the %%magic
// its source may start with), checked by what executing it checks, and written back. What was not
// changed keeps its spelling, and so does what is no property.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

// X(symbol, name)
#define PROPERTIES(X)                                                                              \
    X(TITLE, "title")                                                                              \
    X(KIND, "kind")                                                                                \
    X(FILE, "file")                                                                                \
    X(EFFECTS, "effects")                                                                          \
    X(TAGS, "tags")                                                                                \
    X(TIMEOUT, "timeout")                                                                          \
    X(CAPTURE, "capture")                                                                          \
    X(INPUTS, "inputs")                                                                            \
    X(OUTPUTS, "outputs")

typedef enum property {
#define X(symbol, name) PROPERTY_##symbol,
    PROPERTIES(X)
#undef X
        PROPERTY_COUNT,
} property;

const char *property_name(property p);
// The words that one is chosen from, NULL-terminated; NULL: any text.
const char *const *property_choices(property p);
// Does a cell of this kind have it? Markdown has no file.
bool property_applies(property p, const char *kind);
// Several words with commas between: tags, inputs, outputs.
bool property_is_list(property p);
// What a file of this kind may be called, "app.yaml"; NULL: the kind writes none.
const char *property_suggested_file(const char *kind);

// One text each, "" where nothing is set. All are new strings.
struct properties {
    char *values[PROPERTY_COUNT];
};
void properties_read(const char *marker, const char *source, struct properties *out);
void properties_done(struct properties *p);
// What is wrong with each, NULL: nothing. `problems` are new strings. true: nothing is.
bool properties_check(const char *marker, const char *source, const struct properties *p,
    char *problems[PROPERTY_COUNT]);
// The cell with these properties: *new_marker and *new_source, new strings. Those that do not apply
// to the kind are dropped.
void properties_write(const char *marker, const char *source, const struct properties *p,
    char **new_marker, char **new_source);
