// SPDX-License-Identifier: MIT
// What can stand at the cursor in a manifest, and what a field means. The caller owns the replies.
#pragma once
#include "script/api/language/kinds.h"

// The reply to a client's `complete`: {"matches", "kinds", "details", "start", "end"}; details: a
// sentence each.
cJSON *language_complete(struct language_asking *a, const char *text, size_t cursor);
// The reply to `inspect`: {"found", "data"}.
cJSON *language_inspect(struct language_asking *a, const char *text, size_t cursor);
