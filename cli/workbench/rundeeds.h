// SPDX-License-Identifier: MIT
// Carries out the actions of the workbench's list of runs.
#pragma once
#include "cli/cli.h"
#include "tui/bench/bench.h"

// Call it while the terminal is free, since attaching to a run needs it. said: the result, for
// people.
int rundeeds_do(
    struct cli *cli, enum run_deed deed, const char *folder, const char *run, buf *said, err *e);
// Writes a plot (doc/displays.md) as SVG to a new file. Errors: ERR_CONFLICT: it is there already.
int rundeeds_picture(struct cli *cli, const char *path, const cJSON *plot, err *e);
