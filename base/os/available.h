// SPDX-License-Identifier: MIT
// How much memory this process can still get. Callers refuse what is too large before they allocate
// it: Linux promises more memory than it has, and kills the process that uses it. Nothing is owned.
#pragma once
#include "base/err.h"

#include <stddef.h>

// Returns the free bytes: MemAvailable of the machine, or what the memory limits of this process's
// cgroup and its parents (versions 1 and 2) still allow, if that is less. Page cache that can be
// given back counts as free. SIZE_MAX: the system does not say. `root` is the folder that has proc
// and sys: "/".
size_t memory_available(const char *root);
// Returns the bytes in all, free or not: the machine's memory, or the least of those limits.
// SIZE_MAX as above.
size_t memory_most(const char *root);
// Checks that so many bytes fit. ERR_LIMIT: "WHAT need 37.3 GiB of memory, but only 19.4 GiB are
// free here". A few MiB are not checked: looking takes longer than filling them.
int memory_check(size_t bytes, const char *what, err *e);
