// SPDX-License-Identifier: MIT
// The files that a cell opens for reading are recorded with their digests, each once in an
// execution while it stays the same. They belong to the Lua thread.
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
