// SPDX-License-Identifier: MIT
// Opens a file in the person's own editor.
#pragma once
#include "cli/cli.h"

// Runs $VISUAL, $EDITOR or vi on the file, on the terminal as it is, and waits for its end. A
// command with arguments ("code --wait") works as in a shell. Errors: the editor failed.
int editor_run(struct cli *cli, const char *path, err *e);
