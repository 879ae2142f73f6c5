// SPDX-License-Identifier: MIT
// The parameters of a notebook: `name = literal` lines (a table may go over several) of the cell
// tagged "parameters", and values given for them with -p NAME=VALUE, which become a cell of their
// own right after it. The literals are Lua's, or Python's in a notebook in Python. A struct params
// owns its entries.
#pragma once
#include "script/notebook/notebook.h"

#define PARAM_TYPES(X)                                                                             \
    X(NIL, "string or nil")                                                                        \
    X(BOOLEAN, "boolean")                                                                          \
    X(NUMBER, "number")                                                                            \
    X(STRING, "string")                                                                            \
    X(LIST, "list")                                                                                \
    X(TABLE, "table")

enum param_type {
#define X(name, text) PARAM_##name,
    PARAM_TYPES(X)
#undef X
};

const char *param_type_name(enum param_type type);

struct literals; // of the notebook's language
struct param {
    const struct literals *as; // NULL: Lua's
    char *name;
    enum param_type type;
    char *literal;   // as written in the cell
    char *comment;   // the text after its line's comment mark, NULL if none
    char *given;     // the new literal, NULL if not given
    cJSON *value;    // the value in this run
    bool undeclared; // only given: its notebook is open to all names
};
struct params {
    struct param *list;
    size_t n;
    bool python; // its lines are Python's
    long cell;   // index of the tagged cell, -1: none
    char *none;  // then: why; else NULL
    bool open;   // any name can be given: Python without such a cell, as in papermill
    // Its lines that look like parameters and are none, each with its newline; or NULL.
    char *others;
};

// Finds the parameters. Other lines of the tagged cell are ignored.
int params_find(const notebook *nb, struct params *out, err *e);
void params_done(struct params *p);
bool params_cell(const notebook *nb, size_t *i); // the index of their cell; false: there is none
// What one cell says, its own or one with given values, new: {"name": value, …}.
cJSON *params_said(const notebook *nb, const cell *c);
// The literal of Lua at p, as a parameter's value: *value is new. Returns its end; NULL: there is
// none.
const char *params_literal(const char *p, cJSON **value);
// "NAME=VALUE"; a list or a table is YAML, which JSON is, too: "[1, 2]", "{units: 64}". Errors:
// ERR_USAGE for an unknown name (lists the known ones, and says why a line with that name is no
// parameter) or a value of the wrong type.
int params_give(struct params *p, const char *assignment, err *e);
// A value of a file of parameters; its type must be the parameter's own. Errors as above, without
// "-p": the caller says which file it was.
int params_give_value(struct params *p, const char *name, const cJSON *value, err *e);
char *param_text(const cJSON *value); // as the VALUE of -p; new
// The default without the secrets in it; NULL: it has none.
cJSON *param_hidden(const struct param *p);
// The default for people: as it is written, or with a secret in it as YAML that hides it; new.
char *param_shown(const struct param *p);
// "NAME=VALUE" of a named value, as params_give reads it; new.
char *params_assignment(const struct params *p, const cJSON *value);
// Inserts the cell with the given values (tag "injected-parameters"), or replaces it. Without a
// cell of parameters it stands at the top.
int params_inject(const struct params *p, notebook *nb, err *e);
// {"name": value, …}: the values in this run.
cJSON *params_values(const struct params *p);
// The same, but only of those that were given.
cJSON *params_given(const struct params *p);
