// SPDX-License-Identifier: MIT
// Runs a program that has this process's terminal until it ends: an editor, a shell.
#pragma once
#include "cli/cli.h"

// Runs it on the terminal as it is, and waits for its end. complaints: where its stderr goes.
// Returns its exit code, 128 + N after signal N, or -1: it did not start.
int foreground_run(struct cli *cli, const char *const *argv, int complaints, err *e);
// The same for firesteel itself. -1: it did not start, or it ended with an error message, which is
// in e.
int foreground_ours(struct cli *cli, const char *const *argv, err *e);
