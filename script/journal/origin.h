// SPDX-License-Identifier: MIT
// What is needed to repeat a run, as lines for people: commit, command, seed, versions, inputs.
// Nothing is owned.
#pragma once
#include "base/buf.h"
#include "script/journal/fold/fold.h"

// {name = ["text", …]}, new. Facts that were not recorded are missing.
cJSON *origin_lines(const fold *f);
// Appends them as lines "name  text", each after `indent`.
void origin_print(const fold *f, const char *indent, buf *out);
