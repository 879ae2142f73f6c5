// SPDX-License-Identifier: MIT
// YAML to and from JSON trees, with plain scalars resolved as kubectl does (sigs.k8s.io/yaml on
// go-yaml v2: yes/no/on/off are booleans, 0777 and 0o777 octal, 1_000 an integer, dates strings).
#pragma once
#include "base/json.h"

// All documents of a stream as a JSON array; empty documents are left out. Anchors, aliases and
// merge keys (<<) work, bounded against expansion bombs. Errors: ERR_INVALID "line 3, column 7: …";
// a duplicate key is one.
cJSON *yaml_parse(const char *text, size_t n, err *e);
// One document as `kubectl -o yaml` writes it: block style, keys sorted, | for text with newlines,
// and strings quoted only where a plain one would be read as something else.
void yaml_print(buf *out, const cJSON *j);
