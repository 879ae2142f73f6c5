// SPDX-License-Identifier: MIT
// The fields that a patch sets: what of an object is to be looked at later.
#pragma once
#include "base/json/json.h"

// JSON pointers into `made`, the server's answer: an array of texts, new. type: "merge",
// "strategic" or "json". A list is one field where its items cannot be told apart, or where one of
// them came or went.
cJSON *patched_fields(const char *type, const cJSON *patch, const cJSON *made);
