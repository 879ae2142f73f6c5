// SPDX-License-Identifier: MIT
// The forms of a secret that no reading of a text leads back to it: base64 of it, alone and as a
// part of more, and hexadecimal digits. What is passed on belongs to the caller.
#pragma once
#include <stddef.h>

typedef void mask_spelling(void *arg, const char *digits, size_t n);
// Calls fn with each form, some of them more than once.
void mask_spellings(const char *secret, size_t n, mask_spelling *fn, void *arg);
