// SPDX-License-Identifier: MIT
// The workbench as lines, for screen readers and pipes: commands are typed as lines, and what
// happens is told in whole sentences. Nothing is drawn, and no cursor moves. The kernel, its
// protocol and how it is left are those of the workbench.
#pragma once
#include "cli/cli.h"
#include "script/protocol/launch.h"

typedef struct linear linear;

linear *linear_open(struct cli *cli, const char *path, err *e);
void linear_close(linear *l); // NULL is fine
// One of these two, then linear_run.
int linear_join(linear *l, const char *socket, const char *words, err *e);
int linear_launch(linear *l, const struct launch *kernel, err *e);
// Returns the exit code when the person leaves, the commands are over or the kernel is gone: 1 when
// a command of a script failed.
int linear_run(linear *l, err *e);
// Is it asked for: by the option, FIRESTEEL_LINEAR=1 or the setting `linear`?
bool linear_wanted(struct cli *cli);
