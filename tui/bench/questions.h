// SPDX-License-Identifier: MIT
// The kernel's questions: about an effect to be allowed, or for a text that a cell needs. A
// question is kept as its event until it is answered; the bench owns them.
#pragma once
#include "base/json/json.h"
#include "tui/bench/bench.h"

const cJSON *question_by_id(const bench *b, int64_t ask); // NULL: it is no longer open
bool question_of_cell(const bench *b, const char *id);    // does this cell ask one?
// It is shown again on request; draft: what was typed as its answer so far (its "draft" then), or
// NULL.
void question_put_off(bench *b, int64_t ask, const char *draft);
// Sends the answer to the kernel; the question is then over. false: there is no kernel, and a
// notice says so.
bool question_answer(bench *b, int64_t ask, const char *value);
