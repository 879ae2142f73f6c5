// SPDX-License-Identifier: MIT
// The function of a fuzz target: with any bytes it must neither crash nor leak. Returns 0.
#pragma once
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
