// SPDX-License-Identifier: MIT
// A client joins a kernel that already runs: compares what the client asked for with what the
// kernel was started with, and lets the client's terminal (its agents and kubeconfig) replace the
// earlier one's.
#pragma once
#include "script/kernel/session/state.h"

// What of hello's `wants` the kernel does not have: texts for people, new; NULL for no `wants`.
cJSON *joining_differs(const kernel *k, const cJSON *wants);
// Stores hello's `terminal` until no cell runs. NULL is fine.
void joining_keep_terminal(kernel *k, const cJSON *terminal);
// Call it when no cell runs: uses the stored terminal.
void joining_take_terminal(kernel *k);
