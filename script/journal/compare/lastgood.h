// SPDX-License-Identifier: MIT
// The last run in which a cell ended well, and none badly, and what was recorded differently then:
// for who asks why the cell does not get on now. It reads journals only.
#pragma once
#include "base/json/json.h"

// `journal` is that of the run that asks, which may still be written; `id` is that of a cell; any
// other text, or NULL: the whole notebook. The runs of the same notebook in its folder are looked
// at, the newest first, a few of them. New: {run, differs = ["parameter gpus: 0 → 1", "cell Build
// was changed", "image a/b:1: 3f… → 9c…"]}; NULL: there is no such run. What only the other run has
// recorded does not count: this one has not got so far.
cJSON *lastgood_find(const char *journal, const char *id);
// "RUN: parameter gpus: 0 → 1; cell Build was changed", new; NULL for NULL.
char *lastgood_say(const cJSON *found);
