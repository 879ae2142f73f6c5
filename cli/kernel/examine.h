// SPDX-License-Identifier: MIT
// The part of `firesteel doctor` that needs firesteel-kernel, which has a client: cluster, rights,
// registry.
#pragma once
#include "script/kernel/session/kernel.h"

// Prints a finding a line as JSON, each as soon as it is known: {"name", "state": "ok", "warn" or
// "fail", "text", "remedy"?}. Waits `ms` at most for servers. Returns the exit code: 0, whatever
// was found.
int examine_run(const struct kernel_options *options, int64_t ms);
