// SPDX-License-Identifier: MIT
// Where the values of a tree of YAML stand in its text. The caller owns the marks; they are about
// one tree, and are asked only while that tree lives.
#pragma once
#include "base/json/json.h"

#include <stdbool.h>

// Lines and columns count from 0; columns count characters.
struct yaml_mark {
    size_t line, column;         // of the value's beginning
    size_t end_line, end_column; // behind its end
    bool has_key;                // it is a member of a mapping, and its key begins at:
    size_t key_line, key_column;
    bool plain; // a scalar without quotes
};

typedef struct yaml_marks yaml_marks;
yaml_marks *yaml_marks_new(void);
void yaml_marks_free(yaml_marks *m); // NULL is fine
// yaml_parse of base/json/yaml.h, which also notes the places. Of JSON that is no YAML nothing is
// noted.
cJSON *yaml_parse_marked(const char *text, size_t n, yaml_marks *m, err *e);
// NULL: unknown, since an alias or a merge key brought the value.
const struct yaml_mark *yaml_mark_of(const yaml_marks *m, const cJSON *value);

// For yaml.c: notes a value, that it has a key, and that the value is gone.
void yaml_marks_note(yaml_marks *m, const cJSON *value, const struct yaml_mark *mark);
void yaml_marks_note_key(yaml_marks *m, const cJSON *value, size_t line, size_t column);
void yaml_marks_forget(yaml_marks *m, const cJSON *value);
