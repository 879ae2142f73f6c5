// SPDX-License-Identifier: MIT
// How much memory this process can still have, so that what is too large is refused before it is
// made: the kernel promises more than there is, and kills whoever uses it. Nothing is owned.
#pragma once
#include "base/err.h"

#include <stddef.h>

// Bytes: MemAvailable of the machine, or what the limits of this process's cgroup and of those
// above it (versions 1 and 2) still allow, if that is less. What the page cache holds and can give
// back counts as available. SIZE_MAX when the system does not say. `root` is the folder that has
// proc and sys: "/".
size_t memory_available(const char *root);
// Bytes: all that the machine has, or the least of those limits. SIZE_MAX as above.
size_t memory_most(const char *root);
// Do so many bytes fit? ERR_LIMIT: "WHAT need 37.3 GiB of memory, but only 19.4 GiB are free here".
// A few MiB always fit: nobody looks.
int memory_check(size_t bytes, const char *what, err *e);
