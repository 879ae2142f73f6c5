// SPDX-License-Identifier: MIT
// Secrets that can be recognised before anything runs, by their names (base/secret.h). They are
// registered before the journal is opened, since its first record contains the notebook's text and
// its parameters.
#pragma once
#include "script/journal/mask.h"
#include "script/notebook/notebook.h"

// Registers those in the notebook's own text: `%env NAME=VALUE`; the values of parameters (also
// those that -p takes the place of, since the text keeps them), in tables and lists, too; and
// literals of Lua that are assigned to a name which ends like a secret's.
void secrets_register(mask *m, const notebook *nb);
// Registers those among the parameters' values, {"name": value}. Values that are too short to be
// masked elsewhere are replaced here.
void secrets_of_parameters(mask *m, cJSON *values);
// What is recorded of a variable's value, new: 16 hexadecimal digits of its SHA-256, or "[secret]"
// when its name is a secret's or the mask knows a secret in it.
char *secrets_digest(mask *m, const char *name, const char *value);
