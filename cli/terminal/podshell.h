// SPDX-License-Identifier: MIT
// Opens a shell in a container on this terminal, by `firesteel exec` in a process of its own.
#pragma once
#include "base/json/json.h"
#include "cli/cli.h"

// where: {"pod", "namespace", "container", "context", "kubeconfig"}. The person has agreed already,
// so a protected context does not refuse. Errors: it could not be opened, or was cut off.
int podshell_run(struct cli *cli, const cJSON *where, err *e);
