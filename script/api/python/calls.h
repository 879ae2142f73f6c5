// SPDX-License-Identifier: MIT
// Calls: what `import firesteel` in Python asks for, a line each. On the loop's thread.
#pragma once
#include "script/api/python/session.h"

// One has come: the cell's thread does it, or it is refused.
void calls_take(struct session *s, const cJSON *line);
// Its answer; takes it.
void calls_answer(struct session *s, cJSON *answer);
// The answer to a call that is not done; new.
cJSON *calls_refused(const cJSON *asked, const char *kind, const char *why);
