// SPDX-License-Identifier: MIT
// A row's object in $EDITOR, as kubectl edit has it: the text, what the server says of it, the
// question, and again with the error on top where it was refused.
#pragma once
#include "tui/bench/view.h"

// The row of this display, by its uid.
void object_edit(bench *b, int64_t display, const char *row);
