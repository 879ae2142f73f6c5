// SPDX-License-Identifier: MIT
// What a cell reads and writes by itself: files that it opens, with their digests, each once in an
// execution while it stays the same, and variables of the environment. They belong to the Lua
// thread.
#pragma once
#include "base/json.h"
#include "script/kernel/effects/turn.h"

#include <stdbool.h>

typedef struct inputs inputs;

inputs *inputs_new(void);
void inputs_free(inputs *in);                 // NULL is fine
void inputs_begin(inputs *in, const turn *t); // an execution begins; its turn is borrowed
void inputs_stopped(inputs *in); // it was stopped, and its turn went on for what it owes
// {size, sha256} of a regular file that is to be recorded, new; above 16 MiB, where a digest would
// take longer than many a cell, and when the digests of an execution have taken 30 s, or 3 s since
// it was stopped, {size, mtime}. NULL: it is recorded already, or no regular file.
cJSON *inputs_take(inputs *in, const char *path);
// A file was opened to be written: notes how it is. false: it is no regular file. fresh: it was
// changed so lately that its date may stay when it is changed again. other: it was never like that
// when it was looked at.
bool inputs_opened(inputs *in, const char *path, bool *fresh, bool *other);
// The same as inputs_take of a file that was opened to be written, when the cell ends; of the files
// of one cell, 256 MiB get a digest. NULL, too, if the cell has not written it for sure, and it is
// as it was when it was opened, or when a cell had left it.
cJSON *inputs_left(inputs *in, const char *path, bool sure);
// Is this the first time that the execution reads the variable?
bool inputs_variable(inputs *in, const char *name);
