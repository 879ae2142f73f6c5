// SPDX-License-Identifier: MIT
// JSON merge patches (RFC 7386): a patch is an object. It holds the members that are new or have
// another value, and a null for each that is removed; arrays are replaced as a whole. Plain
// functions.
#pragma once
#include "base/json.h"

// The object after the patch; new. A patch that is no object replaces everything.
cJSON *json_merge(const cJSON *object, const cJSON *patch);
// The patch that makes `to` of `from`, both objects; new. NULL: they are equal. Where `to` has a
// null, the patch removes the member.
cJSON *json_merge_between(const cJSON *from, const cJSON *to);
