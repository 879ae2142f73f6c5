// SPDX-License-Identifier: MIT
// A person's own command on a row: the kernel puts in what the row stands for and asks, then the
// program starts it on this terminal.
#pragma once
#include "base/json/json.h"
#include "tui/bench/view.h"

// words: those of the command, with their placeholders.
void object_command(bench *b, int64_t display, const char *row, const cJSON *words);
