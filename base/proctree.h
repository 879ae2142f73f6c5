// SPDX-License-Identifier: MIT
// What the processes of this machine use, read once from /proc: all numbers are of that moment.
// The table owns them.
#pragma once
#include <stdint.h>
#include <sys/types.h>

typedef struct proctree proctree;

proctree *proctree_read(void);
void proctree_free(proctree *t); // NULL is fine
// The memory of a process and of all below it that is theirs alone, in bytes: what they have
// resident without what they share with others. 0: it is not there.
int64_t proctree_memory(const proctree *t, pid_t pid);
pid_t proctree_parent(const proctree *t, pid_t pid); // 0: it is not there
// What this process could have at most: the machine's memory, or less where its control group (1
// or 2) says so; in bytes.
int64_t proctree_limit(void);
