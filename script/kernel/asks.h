// SPDX-License-Identifier: MIT
// Questions to people: the Lua thread asks and waits, any client answers. What is asked stays until
// it is answered or interrupted; so a client that attaches later sees it in the journal and can
// answer.
#pragma once
#include "script/kernel/state.h"

// On the loop's thread: a client's answer. ERR_NOT_FOUND when nothing waits under this number.
int asks_answer(kernel *k, int64_t ask, const char *value, err *e);
