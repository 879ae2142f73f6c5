// SPDX-License-Identifier: MIT
// The parts of `firesteel exec` and `attach-pod` in firesteel-kernel: a command in a container, or
// its running process, on this terminal.
#pragma once
#include "script/kernel/session/kernel.h"

#include <stdbool.h>

struct remoting {
    const char *pod;       // "web-0", "deploy/web"
    const char *container; // NULL: the pod's default
    char **command;        // NULL: attach to the running process
    bool input, tty;
};
// Returns the exit code: the command's, or that of an error, which was printed.
int remoting_run(const struct kernel_options *options, const struct remoting *what);
