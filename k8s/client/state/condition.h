// SPDX-License-Identifier: MIT
// The conditions of an object's status. Plain functions on trees; what they return is borrowed.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

#include <stdint.h>

// The condition of this type, whatever its status; NULL: it has none.
const cJSON *condition_find(const cJSON *object, const char *type);
// Adds " for 3m" since an RFC 3339 time; nothing where that is no time, or in the future.
void condition_age(buf *out, const char *since, int64_t now);
