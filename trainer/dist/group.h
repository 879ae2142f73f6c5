// SPDX-License-Identifier: MIT
// Process groups of children: how they are left, and how they are ended with all that they started.
#pragma once
#include <stdbool.h>
#include <sys/types.h>

// A shell's view of a wait status: the exit code, or 128 + signal.
int group_exit_code(int status);
// Reaps the leader *pid when it has ended: *pid becomes 0, *code its exit code. True: it has ended.
bool group_reap(pid_t *pid, int *code);
// Ends the group: TERM, then KILL. Returns when its leader is reaped and nothing of it is left;
// that needs a process that is a subreaper (prctl), else it may wait for zombies that nobody reaps.
void group_stop(pid_t group, pid_t *pid, int *code);
