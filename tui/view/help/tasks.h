// SPDX-License-Identifier: MIT
// Help by task: what a person wants to do, and how, in a sentence or two. The keys in it are those
// that are in force. Nothing is owned.
#pragma once
#include "tui/bench/view.h"

// The title of the i-th task; NULL after the last.
const char *task_nth(size_t i);
// Adds its sentences. b: with this person's own keys; NULL: with the default ones.
void task_text(const bench *b, size_t i, buf *out);
// What Enter does: an action; ACT_NONE: `line`, a line after ":", or NULL for nothing.
enum action task_does(size_t i, const char **line);
// Checks that each <action> is one and has keys by default, and that each :line is one; false with
// the fault in `why`. For tests.
bool task_check(size_t i, buf *why);
