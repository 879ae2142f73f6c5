// SPDX-License-Identifier: MIT
// What a run needs to be done again, as lines for people: commit, command, seed, versions, inputs.
// Nothing is owned.
#pragma once
#include "base/buf.h"
#include "script/journal/fold.h"

// {name = ["text", …]}, new. What was not recorded has no name.
cJSON *origin_lines(const fold *f);
// Appends them as lines "name  text", each after `indent`.
void origin_print(const fold *f, const char *indent, buf *out);
