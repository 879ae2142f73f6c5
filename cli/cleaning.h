// SPDX-License-Identifier: MIT
// `firesteel clean`, the part that runs in firesteel-kernel, where the bindings are: lists what a
// run has left, asks, removes. Prints; owns nothing.
#pragma once
#include "script/kernel/session/kernel.h"

struct cleaning {
    const char *run;
    bool dry_run; // only list
    bool yes;     // do not ask
};
// The exit code: 0 also when there is nothing; 3 when it is refused or nobody said yes.
int cleaning_run(const struct kernel_options *options, const struct cleaning *what);
