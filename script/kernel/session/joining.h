// SPDX-License-Identifier: MIT
// Somebody joins a kernel that is alive: what they asked for beside what it was started with, and
// their terminal, whose agents and kubeconfig replace those of the one that has gone.
#pragma once
#include "script/kernel/session/state.h"

// What of hello's `wants` the kernel does not have: texts for people, new; NULL for no `wants`.
cJSON *joining_differs(const kernel *k, const cJSON *wants);
// Keeps hello's `terminal` until no cell runs. NULL is fine.
void joining_keep_terminal(kernel *k, const cJSON *terminal);
// While no cell runs: uses the terminal that was kept.
void joining_take_terminal(kernel *k);
