// SPDX-License-Identifier: MIT
// The log of one run of a container: what it wrote, line by line with its time, in a bounded file
// that logs.h reads. Owned by the container that writes it.
//
//   PATH     2026-01-02T03:04:05.000000006Z stdout F a whole line           the CRI's form
//            2026-01-02T03:04:05.000000007Z stderr P the start of a line that
//            2026-01-02T03:04:05.000000008Z stderr F goes on
//   PATH.1   what PATH was before it reached PODLOG_SIZE; older lines are gone, as with a kubelet
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum { PODLOG_SIZE = 32 << 20, PODLOG_LINE = 16 << 10 };

typedef struct podlog podlog;
// limit 0: PODLOG_SIZE.
podlog *podlog_open(const char *path, size_t limit, err *e);
// fd 2 is stderr. A full disk loses lines, never the container.
void podlog_write(podlog *l, int fd, const char *bytes, size_t n, int64_t wall);
// Writes unfinished lines out as parts; keeps the files. NULL is fine.
void podlog_close(podlog *l, int64_t wall);
