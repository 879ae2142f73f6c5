// SPDX-License-Identifier: MIT
// A file as bytes in memory: the system reads a page of it when it is looked at, so it may be
// larger than the memory. What is written into it stays in this process. A file that somebody makes
// shorter meanwhile ends the process (SIGBUS), as with every mapping.
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
