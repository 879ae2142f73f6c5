// SPDX-License-Identifier: MIT
// A person's own command on this terminal, and their browser.
#pragma once
#include "base/json/json.h"
#include "cli/cli.h"

// what: {"command": [words], "kubeconfig"}. Runs the command, says how it ended, and waits for
// Enter, so that a person can read its output. An error means that the command did not start.
int owncommand_run(struct cli *cli, const cJSON *what, err *e);
// The command that opens a web page: $BROWSER, or xdg-open if there is a display. New; NULL: this
// machine has no browser.
char *owncommand_browser(const struct cli *cli);
