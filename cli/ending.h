// SPDX-License-Identifier: MIT
// Ends a kernel that is alive, with all that it has started.
#pragma once
#include "cli/kernels.h"

// In order, as `:stop` does; or with `force` by killing it. A kernel that speaks another version of
// the protocol gets the signal that is to end it. Returns when its process is gone; ERR_TIMEOUT
// says what else can be done. *unsaved: text was not saved, and is in its journal.
int ending_stop(const struct kernel *k, bool force, bool *unsaved, err *e);
