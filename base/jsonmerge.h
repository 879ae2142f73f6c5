// SPDX-License-Identifier: MIT
// JSON merge patches (RFC 7386): an object with what is new or other, and null for what goes;
// arrays are replaced whole. Plain functions.
#pragma once
#include "base/json.h"

// What the patch makes of it; new. A patch that is no object replaces everything.
cJSON *json_merge(const cJSON *object, const cJSON *patch);
// The patch that makes `to` of `from`, both objects; new. NULL: they are equal. Where `to` has a
// null, the member goes.
cJSON *json_merge_between(const cJSON *from, const cJSON *to);
