// SPDX-License-Identifier: MIT
// JSON merge patches (RFC 7386): a patch is an object with the members to set; a null removes a
// member, and arrays are replaced as a whole. Plain functions.
#pragma once
#include "base/json/json.h"

// The object after the patch; new. A patch that is not an object replaces everything.
cJSON *json_merge(const cJSON *object, const cJSON *patch);
// The patch that turns `from` into `to`, both objects; new. NULL: they are equal. A merge patch
// cannot set a null: where `to` has one, the patch removes the member.
cJSON *json_merge_between(const cJSON *from, const cJSON *to);
