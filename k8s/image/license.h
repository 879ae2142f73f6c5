// SPDX-License-Identifier: MIT
// Under which licence a file of this system is: the text that Debian's packages bring.
#pragma once
#include "base/buf.h"

#include <stddef.h>

// packages[i]: the package that has files[i] ("libc6"), new; NULL: none is known to have it.
void license_packages(const char *const *files, size_t n, char **packages);
// Appends the package's copyright file; -1: there is none.
int license_text(const char *package, buf *out);
