// SPDX-License-Identifier: MIT
// Questions to people, which any client may answer. What is asked stays until it is answered or
// taken back; so a client that attaches later sees it in the journal and can answer.
//
// kernel_ask (state.h) is the Lua thread's way; these are the loop's.
#pragma once
#include "script/kernel/port/question.h"
#include "script/kernel/session/state.h"

// Asks, and calls fn once: with the answer, or with NULL when the question is taken back. Returns
// its number.
int64_t asks_open(
    kernel *k, const struct question *q, void (*fn)(void *arg, const char *answer), void *arg);
void asks_take_back(kernel *k, int64_t number);
// A client's answer. ERR_NOT_FOUND when nothing waits under this number.
int asks_answer(kernel *k, int64_t number, const char *value, err *e);
