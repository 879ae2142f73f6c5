// SPDX-License-Identifier: MIT
// YAML to and from JSON trees, as kubectl reads it (sigs.k8s.io/yaml on go-yaml v2: y, yes and on
// are true, 0777 and 0o777 octal, 1_000 an integer, dates texts; "!!str 5" is a text).
#pragma once
#include "base/json/json.h"

#include <stdbool.h>

// All documents of a stream as a JSON array; empty documents are left out. Anchors, aliases and
// merge keys (<<) work, bounded against expansion bombs. Errors: ERR_INVALID "line 3, column 7: …";
// a mapping that has a key twice is such an error, which kubectl does not report.
cJSON *yaml_parse(const char *text, size_t n, err *e);
// The same, but y and n are texts, as in PyYAML: for data that is not Kubernetes', such as a
// parameter named n.
cJSON *yaml_parse_letters(const char *text, size_t n, err *e);

// A step on the way from a tree's root to one of its values; up is NULL for the root.
struct yaml_step {
    const struct yaml_step *up;
    const cJSON *value;
};
// The index of a value in its list.
size_t yaml_step_index(const struct yaml_step *step);
// Finds the line and the column at which the value begins. The tree is the text's first document.
// For a value that an alias brought, it finds the alias. false: not found. JSON is YAML, too.
bool yaml_place(
    const char *text, size_t n, const struct yaml_step *step, size_t *line, size_t *column);

// One document as `kubectl -o yaml` writes it: block style, keys sorted, | for text with newlines,
// and strings quoted only where a plain one would be read as something else.
void yaml_print(buf *out, const cJSON *j);
