// SPDX-License-Identifier: MIT
// `firesteel check`, in the kernel's program, which has Lua: what keeps notebooks from being run.
#pragma once

// Prints a line for each mistake; returns the exit code, 2 when there are any.
int checking_run(char *const *notebooks);
