// SPDX-License-Identifier: MIT
// What the kernel asks: an effect to be allowed, or a text that a cell wants. Each is the event
// that asked it, kept until somebody has answered; the bench owns them.
#pragma once
#include "base/json.h"
#include "tui/bench/bench.h"

const cJSON *question_by_id(const bench *b, int64_t ask); // NULL: it waits for no answer any more
bool question_of_cell(const bench *b, const char *id);    // does this cell ask?
void question_put_off(bench *b, int64_t ask);             // it comes up again when asked for
// The kernel gets the answer, and the question is over; false: there is no kernel, which is said.
bool question_answer(bench *b, int64_t ask, const char *value);
