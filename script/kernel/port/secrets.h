// SPDX-License-Identifier: MIT
// Secrets that are known before anything runs, by the names they go by (base/secret.h). They are
// registered before the journal is opened, since its first record holds the notebook's text and its
// parameters.
#pragma once
#include "script/journal/mask.h"
#include "script/notebook/notebook.h"

// Those in the notebook's own text: `%env NAME=VALUE`, and `NAME = "VALUE"` in Lua.
void secrets_register(mask *m, const notebook *nb);
// Those among the parameters' values, {"name": value}. Too short ones, which are not masked
// elsewhere, are at least replaced here.
void secrets_of_parameters(mask *m, cJSON *values);
