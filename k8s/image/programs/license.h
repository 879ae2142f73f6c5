// SPDX-License-Identifier: MIT
// Finds the licence of a file of this system: the text in Debian's packages.
#pragma once
#include "base/buf.h"

#include <stddef.h>

// packages[i]: the package that has files[i] ("libc6"), new; NULL: unknown.
void license_packages(const char *const *files, size_t n, char **packages);
// Appends the package's copyright file; -1: there is none.
int license_text(const char *package, buf *out);
