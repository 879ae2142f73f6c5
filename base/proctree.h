// SPDX-License-Identifier: MIT
// What the processes of this machine use, read once from /proc: all numbers are of that moment.
// The table owns them.
#pragma once
#include "base/buf.h"

#include <stdint.h>
#include <sys/types.h>

typedef struct proctree proctree;

proctree *proctree_read(void);
void proctree_free(proctree *t); // NULL is fine
// The memory of a process and of all below it that is theirs alone, in bytes: what they have
// resident without what they share with others. 0: it is not there.
int64_t proctree_memory(const proctree *t, pid_t pid);
pid_t proctree_parent(const proctree *t, pid_t pid); // 0: it is not there

// Of one process: the fields of /proc/PID/stat behind its name, "S 1 …" (proc_pid_stat(5), from the
// third on). They point into `text`, which gets the whole. NULL: it is not there.
const char *process_fields(pid_t pid, buf *text);
