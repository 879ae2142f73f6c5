// SPDX-License-Identifier: MIT
// `firesteel bundle`, in the kernel's program, which can write archives: packs the installed tree
// that this program belongs to.
#pragma once
#include "cli/cli.h"

// level: of compression, 1 to 22; 0: the default. Prints the archives' digests; returns the exit
// code.
int bundling_run(struct cli *cli, const char *folder, int level);
