// SPDX-License-Identifier: MIT
// What the workbench's list of runs has done to one of them.
#pragma once
#include "cli/cli.h"
#include "tui/bench/bench.h"

// Call it while the terminal is free, since attaching to a run needs it. said: what was done, for
// people.
int rundeeds_do(
    struct cli *cli, enum run_deed deed, const char *folder, const char *run, buf *said, err *e);
