// SPDX-License-Identifier: MIT
// The properties of a cell as a form of texts for a person to fill in. They are read from a marker
// (and from a %%magic in the first line of the source), checked as executing the cell checks them,
// and written back. Values that were not changed keep their spelling, as do options that are not
// properties.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

// X(symbol, name, what it means)
#define PROPERTIES(X)                                                                              \
    X(TITLE, "title", "what the cell is called in lists, reports and messages")                    \
    X(KIND, "kind", "Lua and bash run; files and templates are written; markdown is read")         \
    X(FILE, "file", "where its text is written, from the notebook's folder")                       \
    X(EFFECTS, "effects", "what the cell may change at the most")                                  \
    X(TAGS, "tags", "words with commas; the cell tagged parameters takes -p NAME=VALUE")           \
    X(TIMEOUT, "timeout", "when it is interrupted, and the run fails: 30s, 10m")                   \
    X(RETRIES, "retries", "how often it is run again, at the most, after a failure")               \
    X(WHEN, "when", "always, failed (after a failure), or a Lua expression that says so")          \
    X(TOLERANCE, "tolerance", "by how much its numbers may differ in run --from: 1e-6")            \
    X(CAPTURE, "capture", "the Lua variable that takes its output")                                \
    X(INPUTS, "inputs", "files it reads, with commas; a resumed run does it again if changed")     \
    X(OUTPUTS, "outputs", "files it writes, with commas; a resumed run does it again if changed")

typedef enum property {
#define X(symbol, name, about) PROPERTY_##symbol,
    PROPERTIES(X)
#undef X
        PROPERTY_COUNT,
} property;

const char *property_name(property p);
const char *property_about(property p); // one line for a person
// The possible values, NULL-terminated; NULL: any text.
const char *const *property_choices(property p);
// Does a cell of this kind have the property? Markdown has no file.
bool property_applies(property p, const char *kind);
// Is it a list of words with commas between them: tags, inputs, outputs?
bool property_is_list(property p);
// A suggested name for a file of this kind, "app.yaml"; NULL: the kind writes none.
const char *property_suggested_file(const char *kind);

// One text for each, "" if it is not set. All are new strings.
struct properties {
    char *values[PROPERTY_COUNT];
};
void properties_read(const char *marker, const char *source, struct properties *out);
void properties_done(struct properties *p);
// Checks each property; NULL: it is right. `problems` are new strings. true: all are right.
bool properties_check(const char *marker, const char *source, const struct properties *p,
    char *problems[PROPERTY_COUNT]);
// Writes a cell with these properties: *new_marker and *new_source are new strings. Properties that
// do not apply to the kind are dropped.
void properties_write(const char *marker, const char *source, const struct properties *p,
    char **new_marker, char **new_source);
