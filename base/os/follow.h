// SPDX-License-Identifier: MIT
// Tells when processes end. It does not use SIGCHLD, which has one handler for a whole program, but
// process descriptors (pidfd_open, Linux 5.3); on older systems a thread waits for the process
// instead.
#pragma once
#include <stdbool.h>
#include <sys/types.h>

// Returns a descriptor that becomes readable when this child of ours has ended; the child must
// still be waited for. The caller closes it. -1 with errno.
int follow(pid_t child);
// Has the process ended? A zombie counts as ended, whoever its parent is. Where the system does not
// say, returns false.
bool process_has_ended(pid_t pid);
