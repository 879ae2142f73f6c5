// SPDX-License-Identifier: MIT
// `firesteel check`, in the kernel's program, which has Lua: what keeps notebooks from being run.
#pragma once

#include "script/kernel/session/kernel.h"

// Prints a line for each mistake; returns the exit code, 2 when there are any. options: for what
// they say of kernels of other languages; `notebook` is set.
int checking_run(char *const *notebooks, struct kernel_options *options);
