// SPDX-License-Identifier: MIT
// What the workbench's list of runs has done to one of them.
#pragma once
#include "cli/cli.h"
#include "tui/bench/bench.h"

// The terminal is free while a run is attached to. said: what was done, for people.
int rundeeds_do(
    struct cli *cli, enum run_deed deed, const char *folder, const char *run, buf *said, err *e);
