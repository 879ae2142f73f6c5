// SPDX-License-Identifier: MIT
// Which pod, or container of one, a line of many pods' logs is from: "NAME | words". Plain
// functions.
#pragma once
#include "base/text/style.h"

#include <stddef.h>

// Bytes of the name at the line's start, 0: it has none; *look gets the style of this name, which
// is the same wherever the name stands.
size_t logprefix(const char *line, size_t n, style *look);
