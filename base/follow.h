// SPDX-License-Identifier: MIT
// The end of processes without SIGCHLD, which belongs to the whole program. Linux has descriptors
// of processes since 5.3; before, the same is done in another way.
#pragma once
#include <stdbool.h>
#include <sys/types.h>

// A descriptor that can be read from when this child of ours has ended, and not before; the child
// is still to be waited for. The caller closes it. -1 with errno.
int follow(pid_t child);
// Has the process ended? A zombie has, whoever's child it is. Where the system does not tell, none
// has.
bool process_has_ended(pid_t pid);
