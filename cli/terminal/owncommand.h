// SPDX-License-Identifier: MIT
// A person's own command on this terminal, and their browser.
#pragma once
#include "base/json/json.h"
#include "cli/cli.h"

// what: {"command": [words], "kubeconfig"}. Runs it, says how it ended, and waits for Enter, so
// that what it has printed can be read. Errors: it did not start.
int owncommand_run(struct cli *cli, const cJSON *what, err *e);
// $BROWSER, or xdg-open where there is a display; new; NULL: there is none.
char *owncommand_browser(const struct cli *cli);
