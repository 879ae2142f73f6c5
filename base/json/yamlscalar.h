// SPDX-License-Identifier: MIT
// What a YAML scalar means by kubectl's rules: resolve() of go-yaml v2, which sigs.k8s.io/yaml
// uses. Private to yaml.c, which reads, and yamlprint.c, which must quote texts that would be read
// as something else.
#pragma once
#include "base/json/json.h"

// tag: "tag:yaml.org,2002:int", "!own" or NULL: none. quoted: in quotes or in a block, and so a
// text unless a tag says otherwise. The result is new. Errors: ERR_INVALID; the value is not shown.
cJSON *yaml_scalar(const char *tag, const char *text, bool quoted, err *e);
// Is a plain scalar a number other than a 64-bit integer?
bool yaml_is_real(const char *text);
// Would YAML read this text as a date: "2026-1-2", alone or with a time after it?
bool yaml_is_date(const char *s);
// Would a YAML 1.1 reader take this text for a boolean?
bool yaml_is_bool(const char *s);
