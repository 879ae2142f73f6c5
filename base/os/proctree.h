// SPDX-License-Identifier: MIT
// The resource use of this machine's processes, read once from /proc: all numbers are from that
// moment. The table owns them.
#pragma once
#include "base/buf.h"

#include <stdint.h>
#include <sys/types.h>

typedef struct proctree proctree;

proctree *proctree_read(void);
void proctree_free(proctree *t); // NULL is fine
// The private memory of a process and its descendants in bytes: resident memory minus what they
// share with others. 0: no such process.
int64_t proctree_memory(const proctree *t, pid_t pid);
pid_t proctree_parent(const proctree *t, pid_t pid); // 0: no such process

// The fields of /proc/PID/stat after the process's name, "S 1 …" (proc_pid_stat(5), from the third
// on). They point into `text`, which gets the whole. NULL: no such process.
const char *process_fields(pid_t pid, buf *text);
