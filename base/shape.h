// SPDX-License-Identifier: MIT
// Which types the fields of a file have: a file that another program wrote is checked against a
// table of them before any of it is used. A value of another type than its field's would else count
// as not there, and what the file says would be left out without a word.
#pragma once
#include "base/json.h"

#define SHAPE_KINDS(X)                                                                             \
    X(ANY, "anything")                                                                             \
    X(STRING, "a text")                                                                            \
    X(BOOL, "true or false")                                                                       \
    X(BASE64, "base64 text")                                                                       \
    X(LIST, "a list")                                                                              \
    X(MAP, "a mapping")                                                                            \
    X(OBJECT, "a mapping")
enum shape_kind {
#define X(name, text) SHAPE_##name,
    SHAPE_KINDS(X)
#undef X
};

struct shape {
    enum shape_kind kind;
    const struct shape *of; // LIST: its items; MAP: its values, whatever their keys
    const struct shape_field
        *fields; // OBJECT: ended by a NULL name; others than these may be there
};
struct shape_field {
    const char *name;
    const struct shape *shape;
};

extern const struct shape shape_any, shape_string, shape_bool, shape_base64, shape_strings;
// Shapes in tables, which last as long as the program.
#define SHAPE_LIST_OF(item)   (&(const struct shape){SHAPE_LIST, .of = (item)})
#define SHAPE_MAP_OF(value)   (&(const struct shape){SHAPE_MAP, .of = (value)})
#define SHAPE_OBJECT_OF(list) (&(const struct shape){SHAPE_OBJECT, .fields = (list)})

// Does each field of the tree have its type? null stands for any of them, as in Go. text: what the
// tree was read from, YAML or JSON, for the place. Errors: ERR_INVALID "line 9, column 12:
// users[1].user.token must be a text, and is a number: write it in quotes". No value is shown.
int shape_check(const struct shape *s, const cJSON *j, const char *text, size_t n, err *e);
