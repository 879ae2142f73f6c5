// SPDX-License-Identifier: MIT
// Records what a cell reads and writes directly: files that it opens, with their digests, and
// environment variables. A file is recorded once in an execution, as long as it stays the same.
// Belongs to the Lua thread.
#pragma once
#include "base/json/json.h"
#include "script/kernel/effects/turn.h"

#include <stdbool.h>

typedef struct inputs inputs;

inputs *inputs_new(void);
void inputs_free(inputs *in);                 // NULL is fine
void inputs_begin(inputs *in, const turn *t); // call it when an execution begins; borrows its turn
void inputs_stopped(inputs *in); // call it when a stopped turn continues for its deferred functions
// Returns {size, sha256} of a regular file that should be recorded, new. It is {size, mtime} if a
// digest would take too long: for a file above 16 MiB, and after the digests of an execution have
// taken 30 s, or 3 s since it was stopped. NULL: the file is recorded already, or not a regular
// file.
cJSON *inputs_take(inputs *in, const char *path);
// Call it when a file is opened for writing: notes its state. Returns false if it is not a regular
// file. fresh: it was changed so recently that the next change may leave the same date. other: it
// was never seen in this state before.
bool inputs_opened(inputs *in, const char *path, bool *fresh, bool *other);
// The same as inputs_take for a file that was opened for writing, at the end of the cell. 256 MiB
// of the files of one cell get a digest. Also returns NULL if it is not certain that the cell has
// written the file (sure), and the file is as it was when it was opened, or as a cell had left it.
cJSON *inputs_left(inputs *in, const char *path, bool sure);
// Does this execution read the variable for the first time?
bool inputs_variable(inputs *in, const char *name);
