// SPDX-License-Identifier: MIT
// The first part of a description: how an object is. It shows the state in a word, why something is
// wrong, and tables of containers and conditions, the worst first. Plain functions on trees.
#pragma once
#include "base/buf.h"
#include "base/json.h"

#include <stdint.h>

void describe_state(buf *out, const cJSON *object, int64_t now_wall);
