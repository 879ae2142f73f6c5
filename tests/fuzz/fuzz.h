// SPDX-License-Identifier: MIT
// What a fuzz target defines: it must neither crash nor leak, whatever the bytes. Returns 0.
#pragma once
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
