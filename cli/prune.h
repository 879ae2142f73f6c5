// SPDX-License-Identifier: MIT
// Removes runs: what `firesteel prune` does, for one.
#pragma once
#include "cli/cli.h"

// Removes the run's journal and spools. ERR_CONFLICT says why it stays: it goes on, is pinned, left
// something on a cluster, or cannot be read.
int prune_run(struct cli *cli, const char *folder, const char *run, err *e);
