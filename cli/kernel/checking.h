// SPDX-License-Identifier: MIT
// `firesteel check`, in the kernel's program, which has Lua: finds the mistakes that keep notebooks
// from running.
#pragma once

#include "script/kernel/session/kernel.h"

// Prints a line for each mistake (json: as an object); returns the exit code, 2 if there are any, 1
// if the cluster whose schemas count cannot be asked. options: for what they say about kernels of
// other languages and the cluster; `notebook` is set.
int checking_run(char *const *notebooks, struct kernel_options *options, bool json);
