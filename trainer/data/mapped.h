// SPDX-License-Identifier: MIT
// A file mapped into memory: the system reads a page when it is first used, so the file may be
// larger than the memory. Writes stay in this process. If somebody truncates the file meanwhile,
// the process ends (SIGBUS), as with every mapping.
#pragma once
#include "base/err.h"

#include <stddef.h>

typedef struct mapped {
    void *bytes; // NULL for an empty file
    size_t n;
} mapped;

int mapped_open(mapped *m, const char *path, err *e);
void mapped_close(mapped *m);
#define AUTO_MAPPED __attribute__((cleanup(mapped_close))) mapped
