// SPDX-License-Identifier: MIT
// The part of `firesteel clean` that runs in firesteel-kernel, where the bindings are: lists what a
// run has left, asks, and removes it. It prints; it owns nothing.
#pragma once
#include "cli/cli.h"
#include "script/kernel/session/kernel.h"

struct cleaning {
    const char *run;
    bool dry_run; // only list
    bool yes;     // do not ask
};
// Returns the exit code: 0, also if there is nothing to remove; 3 if it is refused or nobody said
// yes.
int cleaning_run(
    struct cli *cli, const struct kernel_options *options, const struct cleaning *what);
