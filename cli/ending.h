// SPDX-License-Identifier: MIT
// Ends a running kernel, with everything that it has started.
#pragma once
#include "cli/kernels.h"

// Ends it in order, as `:stop` does, or kills it with `force`. A kernel with another version of the
// protocol gets a signal instead. Returns when its process is gone; ERR_TIMEOUT says what else can
// be done. *unsaved: some text was not saved; it is in the journal.
int ending_stop(const struct kernel *k, bool force, bool *unsaved, err *e);
