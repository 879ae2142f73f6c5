// SPDX-License-Identifier: MIT
// Finds secrets by their names (base/json/secret.h) before anything runs. They are registered
// before the journal is opened, since its first record contains the notebook's text and its
// parameters.
#pragma once
#include "script/journal/mask/mask.h"
#include "script/notebook/notebook.h"

// Registers the secrets in the notebook's own text: `%env NAME=VALUE`; values of parameters (also
// those that -p replaces, since the text still has them), in tables and lists, too; and Lua
// literals that are assigned to a name which ends like a secret's.
void secrets_register(mask *m, const notebook *nb);
// Registers the secrets among the parameters' values, {"name": value}. Values that are too short to
// be masked elsewhere are replaced here.
void secrets_of_parameters(mask *m, cJSON *values);
// The record of a variable's value, new: 16 hexadecimal digits of its SHA-256, or "[secret]" if its
// name is a secret's or the mask finds a secret in it.
char *secrets_digest(mask *m, const char *name, const char *value);
