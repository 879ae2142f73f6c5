// SPDX-License-Identifier: MIT
// The first part of a description: how an object is. It shows the state in a word, why something is
// wrong, the last warning, a pod's containers with their ends, and the conditions that are wrong.
// Plain functions on trees.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

#include <stdint.h>

// events: an array, oldest first; NULL: not known. Nothing is written of an object without a state.
void describe_state(buf *out, const cJSON *object, const cJSON *events, int64_t now_wall);
