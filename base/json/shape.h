// SPDX-License-Identifier: MIT
// Checks the types of a file's fields against a table, before any of them is used. The getters of
// base/json/json.h return nothing for a value of another type, so without the check a wrong type in
// somebody's file would be ignored in silence.
#pragma once
#include "base/json/json.h"

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
    const struct shape *of; // LIST: shape of its items; MAP: of its values, whatever their keys
    const struct shape_field *fields; // OBJECT: ends with a NULL name; other fields are allowed
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

// Checks that each field of the tree has its type. null is allowed for any, as in Go. text: the
// YAML or JSON that the tree was read from, to find the place. Errors: ERR_INVALID "line 9, column
// 12: users[1].user.token must be a text, and is a number: write it in quotes". No value is shown.
int shape_check(const struct shape *s, const cJSON *j, const char *text, size_t n, err *e);
