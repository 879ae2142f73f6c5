// SPDX-License-Identifier: MIT
// The log of one run of a container: its output, line by line with its time, in a bounded file that
// logs.h reads. The container that writes it owns it.
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum { PODLOG_SIZE = 32 << 20, PODLOG_LINE = 16 << 10 };

typedef struct podlog podlog;
// limit 0: PODLOG_SIZE.
podlog *podlog_open(const char *path, size_t limit, err *e);
// fd 2 is stderr. On a full disk lines are lost, but the container goes on.
void podlog_write(podlog *l, int fd, const char *bytes, size_t n, int64_t wall);
// Writes unfinished lines as parts; keeps the files. NULL is fine.
void podlog_close(podlog *l, int64_t wall);
