// SPDX-License-Identifier: MIT
// The kinds that firesteel knows by itself. Private to kinds/.
#pragma once
#include "k8s/client/kinds/known.h"

extern const struct known known_builtin[];
extern const size_t known_builtin_count;
