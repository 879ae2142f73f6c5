// SPDX-License-Identifier: MIT
// An object as `kubectl describe` tells it, of any kind: names first, then the whole of it with
// words for keys, then its events. Values of Secrets are sizes. Plain functions on trees.
#pragma once
#include "base/buf.h"
#include "base/json.h"

#include <stdint.h>

void describe(buf *out, const cJSON *object, const cJSON *events, int64_t now_wall);
