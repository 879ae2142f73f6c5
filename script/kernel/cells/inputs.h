// SPDX-License-Identifier: MIT
// What a cell reads and writes by itself: files that it opens, with their digests, each once in an
// execution while it stays the same, and variables of the environment. They belong to the Lua
// thread.
#pragma once
#include "base/json.h"

#include <stdbool.h>

typedef struct inputs inputs;

inputs *inputs_new(void);
void inputs_free(inputs *in);   // NULL is fine
void inputs_forget(inputs *in); // another execution begins
// {size, sha256} of a regular file that is to be recorded, new; above 16 MiB, where a digest would
// take longer than many a cell, {size, mtime}. NULL: it is recorded already, or no regular file.
cJSON *inputs_take(inputs *in, const char *path);
// The same of a file that the cell has written, when it ends. still: an earlier cell had opened it;
// then NULL, too, if it is as it was left.
cJSON *inputs_left(inputs *in, const char *path, bool still);
// Is this the first time that the execution reads the variable?
bool inputs_variable(inputs *in, const char *name);
