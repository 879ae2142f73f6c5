// SPDX-License-Identifier: MIT
// A shell in a row's pod on the whole terminal: the kernel asks and says where it goes, then the
// program opens it, as `firesteel exec -it` does.
#pragma once
#include "tui/bench/view.h"

// The row of this display, by its uid. A reply that names no pod is a table of its containers:
// `choose` shows that.
void object_shell(
    bench *b, int64_t display, const char *row, void (*choose)(bench *b, const cJSON *reply));
