// SPDX-License-Identifier: MIT
// An object of any kind as `kubectl describe` shows it: names first, then all of its fields under
// readable headings, then its events. For Secrets only the sizes of values are shown. Plain
// functions on trees.
#pragma once
#include "base/buf.h"
#include "base/json.h"

#include <stdint.h>

void describe(buf *out, const cJSON *object, const cJSON *events, int64_t now_wall);
