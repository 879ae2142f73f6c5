// SPDX-License-Identifier: MIT
// Secrets that stand in the notebook's own text: `%env NAME=VALUE` with a name that tells one.
// They are registered before the journal is opened, since its first record holds that text.
#pragma once
#include "script/journal/mask.h"
#include "script/notebook/notebook.h"

void secrets_register(mask *m, const notebook *nb);
