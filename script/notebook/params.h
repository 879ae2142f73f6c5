// SPDX-License-Identifier: MIT
// The parameters of a notebook: `name = literal` lines of the cell tagged "parameters", and values
// given for them with -p NAME=VALUE, which become a cell of their own right after it.
// A struct params owns its entries.
#pragma once
#include "script/notebook/notebook.h"

#define PARAM_TYPES(X)                                                                             \
    X(NIL, "string or nil")                                                                        \
    X(BOOLEAN, "boolean")                                                                          \
    X(NUMBER, "number")                                                                            \
    X(STRING, "string")

enum param_type {
#define X(name, text) PARAM_##name,
    PARAM_TYPES(X)
#undef X
};

struct param {
    char *name;
    enum param_type type;
    char *literal; // as the cell has it
    char *comment; // what follows "--" on its line, NULL if nothing
    char *given;   // the new literal, NULL if not given
    cJSON *value;  // the value that holds
};
struct params {
    struct param *list;
    size_t n;
    long cell; // index of the tagged cell, -1: there is none
};

// Finds them. Lines of the tagged cell that are not `name = literal` are no parameters.
int params_find(const notebook *nb, struct params *out, err *e);
void params_done(struct params *p);
// "NAME=VALUE". Errors: ERR_USAGE for an unknown name (lists the known) or a value of the wrong
// type.
int params_give(struct params *p, const char *assignment, err *e);
// Inserts the cell with what was given (tag "injected-parameters"), or replaces the one there.
int params_inject(const struct params *p, notebook *nb, err *e);
// {"name": value, …}: what holds in this run.
cJSON *params_values(const struct params *p);
// The same of those that were given.
cJSON *params_given(const struct params *p);
