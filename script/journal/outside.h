// SPDX-License-Identifier: MIT
// What a run depended on outside of its notebook, and whether that is another now: files that cells
// read, and those that they have left. It looks before it reads: a file that nobody has touched
// since its digest was recorded is not read again.
#pragma once
#include "script/journal/fold.h"

// What is to be looked at: {files: [{name, path, cell, sha256 or mtime, size, at}]}; new. It is a
// copy, for any thread.
cJSON *outside_list(const fold *f);
// Which of it is another now: {id of the cell: "data.csv has changed"}; new. Reads files, so it may
// take long.
cJSON *outside_look(const cJSON *list);
