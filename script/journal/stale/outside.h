// SPDX-License-Identifier: MIT
// Checks whether things outside of the notebook that a run depended on have changed: files that
// cells read, and those that they have left. It checks dates before it reads: a file that was not
// touched since its digest was recorded is not read again.
#pragma once
#include "script/journal/fold/fold.h"

// What is to be checked: {files: [{name, path, cell, sha256 or mtime, size, at}]}; new. It is a
// copy, for any thread.
cJSON *outside_list(const fold *f);
// Which of it has changed: {id of the cell: "data.csv has changed"}; new. Reads files, so it may
// take long.
cJSON *outside_look(const cJSON *list);
