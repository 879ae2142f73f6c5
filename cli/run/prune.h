// SPDX-License-Identifier: MIT
// Removes one run, as `firesteel prune` does.
#pragma once
#include "cli/cli.h"

// Removes the run's journal and spools. ERR_CONFLICT says why it stays: it is still going on, is
// pinned, left something on a cluster, or cannot be read.
int prune_run(struct cli *cli, const char *folder, const char *run, err *e);
