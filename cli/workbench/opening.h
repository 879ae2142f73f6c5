// SPDX-License-Identifier: MIT
// What opens notebooks in the workbench, for verbs that open one of their own.
#pragma once
#include "cli/cli.h"

struct tour_options {
    const char *cwd, *processes; // processes: as --sandbox=processes
    bool anew, sandbox;
};
// Opens the tour (cli/workbench/tour.h) in a private sandbox; the exit code.
int open_tour(struct cli *cli, const struct tour_options *o);
