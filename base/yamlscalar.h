// SPDX-License-Identifier: MIT
// What a scalar of YAML stands for, by kubectl's rules: resolve() of go-yaml v2, which
// sigs.k8s.io/yaml decodes with. Private to yaml.c, which reads, and yamlprint.c, which must quote
// what would be read as something else.
#pragma once
#include "base/json.h"

// tag: "tag:yaml.org,2002:int", "!own" or NULL: none. quoted: in quotes or in a block, and so a
// text unless a tag says otherwise. The result is new. Errors: ERR_INVALID; the value is not shown.
cJSON *yaml_scalar(const char *tag, const char *text, bool quoted, err *e);
// Does a plain scalar stand for a number that is no integer of 64 bits?
bool yaml_is_real(const char *text);
// Is a text that looks like this a date in YAML: "2026-1-2", alone or with a time behind it?
bool yaml_is_date(const char *s);
// Would a reader of YAML 1.1 take this text for a boolean?
bool yaml_is_bool(const char *s);
