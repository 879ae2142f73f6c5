// SPDX-License-Identifier: MIT
// The forms of a secret that cannot be read back byte by byte: base64 of it, alone and as a part of
// a longer text, and hexadecimal digits. The caller owns the text that fn gets.
#pragma once
#include <stddef.h>

typedef void mask_spelling(void *arg, const char *digits, size_t n);
// Calls fn with each form; some forms come more than once.
void mask_spellings(const char *secret, size_t n, mask_spelling *fn, void *arg);
